"""The stop flag; interruptions are not lost where Python drops what is raised, as in what compiled code calls."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable

import pytest

from xlate.errors import Interrupted
from xlate.machine import STOPPING, StopFlag, dropped_interruptions_raised, termination_raised


def fails_behind(action: Callable[[], object]) -> None:
    """Does something in a function that C calls, where what it raises ends, and then fails."""
    ctypes.CFUNCTYPE(None)(lambda: action() and None)()
    raise RuntimeError("no compiled object yet")


def raise_it(error: BaseException) -> None:
    raise error


def test_a_dropped_interruption_takes_the_place_of_what_follows_from_it() -> None:
    with pytest.raises(KeyboardInterrupt), dropped_interruptions_raised():
        fails_behind(lambda: raise_it(KeyboardInterrupt()))
    with pytest.raises(RuntimeError, match="no compiled"), dropped_interruptions_raised():
        fails_behind(lambda: None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_other_errors_are_dropped_as_ever() -> None:
    with pytest.raises(RuntimeError, match="no compiled"), dropped_interruptions_raised():
        fails_behind(lambda: raise_it(ValueError("shown")))


def test_a_termination_that_was_dropped() -> None:
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(Interrupted, match="stopped by a signal"), termination_raised():
            fails_behind(lambda: os.kill(os.getpid(), signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_first_signal_is_answered_and_the_second_ends(capfd: pytest.CaptureFixture[str]) -> None:
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    with StopFlag() as stop:
        assert not stop
        signal.raise_signal(signal.SIGINT)
        assert stop.signal == signal.SIGINT
        assert capfd.readouterr().err == f"\n{STOPPING}"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert capfd.readouterr().err == ""
    assert {one: signal.getsignal(one) for one in before} == before


def test_outside_the_main_thread_the_flag_is_simply_never_set() -> None:
    seen: list[bool] = []

    def enter() -> None:
        with StopFlag() as stop:
            seen.append(bool(stop))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False]
