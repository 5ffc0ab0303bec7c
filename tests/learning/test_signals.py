"""The stop flag; interruptions are not lost where Python drops what is raised, as in what compiled code calls."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from xlate import machine
from xlate.errors import Interrupted
from xlate.machine import STOPPING, StopFlag, termination_raised


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def drop(action: Callable[[], object]) -> None:
    """Does something in a function that C calls, where what it raises ends."""
    ctypes.CFUNCTYPE(None)(lambda: action() and None)()


def fails_behind(action: Callable[[], object]) -> None:
    drop(action)
    raise RuntimeError("no compiled object yet")


def fails_instead(action: Callable[[], object]) -> None:
    try:
        action()
    except KeyboardInterrupt:
        raise AttributeError("half-way") from None


def goes_on(action: Callable[[], object]) -> None:
    drop(action)
    time.sleep(60)


class HalfMade:
    """Cannot be removed before it is complete."""

    def __init__(self, action: Callable[[], object]) -> None:
        action()
        self.whole = True

    def __del__(self) -> None:
        print(self.whole)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("body", [fails_behind, fails_instead, goes_on, HalfMade])
def test_no_signal_is_lost(monkeypatch: pytest.MonkeyPatch, number: int, body: Callable[..., object]) -> None:
    monkeypatch.setattr(machine, "LOOK", 0.01)
    with pytest.raises(Interrupted, match="stopped by a signal") as found, termination_raised():
        body(lambda: signal.raise_signal(number))
    assert found.value.status == 128 + number


def test_a_second_ctrl_c_counts_too() -> None:
    with pytest.raises(Interrupted) as found, termination_raised():
        raise KeyboardInterrupt
    assert found.value.status == 128 + signal.SIGINT


def raise_it(error: BaseException) -> None:
    raise error


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("action", [lambda: None, lambda: raise_it(ValueError("shown"))])
def test_without_a_signal_errors_are_as_ever(action: Callable[[], object]) -> None:
    with pytest.raises(RuntimeError, match="no compiled"), termination_raised():
        fails_behind(action)


def test_ctrl_c_while_python_ends_shows_no_traceback() -> None:
    program = (
        "import atexit, signal, sys; from xlate.cli.main import start; sys.argv = ['xlate', '--version'];"
        "atexit.register(signal.raise_signal, signal.SIGINT); sys.exit(start())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")


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
