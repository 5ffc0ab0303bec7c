"""Progress: a line a minute where no terminal is, nothing when quiet, and nothing from forked processes."""

from __future__ import annotations

import io
import logging
import math
import os
import sys
from collections.abc import Iterator

import pytest

from xlate import progress
from xlate.progress import Style, set_style, span, speak_in_fork, tell, track


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    monkeypatch.setattr(progress._DISPLAY, "last_end", -math.inf)
    caplog.set_level(logging.INFO)
    set_style(Style.LINES)
    yield made
    set_style(Style.FITTING)


def test_a_line_a_minute_says_how_far_it_is(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    for _ in track(range(10), "epoch"):
        clock.now += 31
        tell(loss=0.25, P=0.5)
    # After each second item, 62 seconds after the line before.
    assert caplog.messages == [
        "epoch 1/10 loss 0.25 P 0.5, about 9 min left",
        "epoch 3/10 loss 0.25 P 0.5, about 5 min left",
        "epoch 5/10 loss 0.25 P 0.5, about 3 min left",
        "epoch 7/10 loss 0.25 P 0.5, about 2 min left",
        "epoch 9/10 loss 0.25 P 0.5, about 34 s left",
    ]


def test_the_first_of_many_items_says_nothing_of_the_time_left(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Loops were compiled for it."""
    for number in track(range(100), "sentence"):
        clock.now += (180, 61, 61)[number] if number < 3 else 0
        tell()
    # 122 seconds for the second item and what is done of the third, 98 are left.
    assert caplog.messages == ["sentence 0/100", "sentence 1/100", "sentence 2/100, about 3.3 h left"]


def test_short_work_that_follows_at_once_says_a_line_a_minute(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("classes", "aligning", "phrases"):
        for _ in track(range(3), name):
            clock.now += 19
            tell(loss=1.0)
    assert caplog.messages == ["aligning 0/3 loss 1", "phrases 1/3 loss 1, about 76 s left"]


def test_work_within_work_stands_on_one_line(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    for fold in track(range(4), "fold"):
        for _ in track(iter("abc"), "sentence"):
            clock.now += 10
            tell(loss=fold + 0.5)
    assert caplog.messages == [
        "fold 1/4, sentence 2 loss 1.5, about 3 min left",
        "fold 3/4, sentence 2 loss 3.5, about 40 s left",
    ]


def test_the_time_left_of_inner_work_names_it(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    for _ in track(range(2), "epochs"):
        for _ in track(range(3), "steps"):
            clock.now += 31
            tell(loss=1.0)
    assert caplog.messages == [
        "epochs 0/2, steps 1/3 loss 1, about 2 min left for steps",
        # The first epoch took 93 seconds, and 31 and 93 seconds of the second one have passed.
        "epochs 1/2, steps 0/3 loss 1, about 2 min left",
        "epochs 1/2, steps 2/3 loss 1, about 37 s left",
    ]


def test_quiet_work_and_forked_processes_say_nothing(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    set_style(Style.SILENT)
    for _ in track(range(3), "quiet"):
        clock.now += 100
        tell(loss=1.0)
    set_style(Style.LINES)
    heard = _in_a_fork(clock, caplog, speak=False) + _in_a_fork(clock, caplog, speak=True)
    assert (caplog.messages, heard) == ([], [0, 1])


def _in_a_fork(clock: Clock, caplog: pytest.LogCaptureFixture, *, speak: bool) -> list[int]:
    """How many lines a forked process says."""
    child = os.fork()
    if child == 0:
        if speak:
            speak_in_fork()
        for _ in track(range(2), "forked"):
            clock.now += 100
        os._exit(len(caplog.messages))
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


def test_bars_on_a_terminal_stand_one_below_the_other(
    clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    set_style(Style.FITTING)
    for _ in track(range(3), "outer", from_zero=True):
        for _ in track(range(2), "inner"):
            clock.now += 70
            tell(loss=0.125)
            if progress._DISPLAY.bars is not None:
                progress._DISPLAY.bars.refresh()
    assert caplog.messages == []
    # Rounds behind the first are counted: of three the last is the second.
    assert all(word in screen.getvalue() for word in ("outer", "2/2", "inner", "1/2", "loss 0.125"))
    assert "/3" not in screen.getvalue()


def test_work_that_fails_or_is_left_is_over(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(track(items(), "failing"))
    half = iter(track(range(3), "left"))
    next(half)
    half.close()  # type: ignore[attr-defined]
    for _ in track(range(2), "next"):
        clock.now += 61
    assert caplog.messages == ["next 1/2, about 61 s left"]


@pytest.mark.parametrize(("seconds", "words"), [(89, "89 s"), (90, "2 min"), (5400, "1.5 h")])
def test_lengths_of_time(seconds: float, words: str) -> None:
    assert span(seconds) == words
