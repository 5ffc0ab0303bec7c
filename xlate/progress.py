"""Progress of long work: bars on a terminal, otherwise one line per minute."""

from __future__ import annotations

import enum
import logging
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
PATIENCE_SECONDS = 2.0
LINE_SECONDS = 60.0
# With more items than this, the time of the first is ignored: it may include compiling loops. So is anything before the
# first round or epoch.
MANY = 20
log = logging.getLogger(__name__)


class Style(enum.Enum):
    """How progress is shown: as suits standard error, in lines even on a terminal, or not at all.

    Relayed progress is for the process that started this one: on standard output, one line per item of the work, with
    total and description, and an empty line at its end.
    """

    FITTING = "fitting"
    LINES = "lines"
    RELAYED = "relayed"
    SILENT = "silent"


@dataclass(eq=False)
class _Work:
    """Work in progress: how far it is, since when, and its bar once it has one.

    If items are numbered from 0, the number of the last one is one less than their count.
    """

    description: str
    total: int | None
    start: float
    from_zero: bool = False
    done: int = 0
    first_done: float | None = None
    task: TaskID | None = None
    figures: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.description, self.count, *_shown(self.figures)])

    @property
    def count(self) -> str:
        """How many are done, and the total."""
        return f"{self.done:,}" + ("" if self.total is None else f"/{self.total - self.from_zero:,}")

    def seconds_left(self, now: float, part: float) -> float | None:
        """The seconds left at the pace so far, when `part` of the next item is done; None if unknown."""
        if self.total is None or not self.done:
            return None
        start, done = self.start, self.done
        if (self.from_zero or self.total > MANY) and self.first_done is not None:
            start, done = self.first_done, done - 1
        return (now - start) / (done + part) * max(0, self.total - self.done - part) if done else None


class _Display:
    """All work of this process, outermost first."""

    def __init__(self) -> None:
        self.style = Style.FITTING
        self.silenced = Style.SILENT
        self.works: list[_Work] = []
        self.bars: Progress | None = None
        self.last_line = 0.0
        self.last_end = -math.inf

    def begin(self, work: _Work) -> None:
        """Begins work inside the work in progress; if it directly follows other work, the current minute continues."""
        if not self.works and work.start - self.last_end > PATIENCE_SECONDS:
            self.last_line = work.start
        self.works.append(work)

    def look(self) -> None:
        """Shows the progress of the work, if it is time."""
        if self.style is Style.SILENT or not self.works:
            return
        if self.style is Style.RELAYED:
            print(self.works[-1].total, self.works[-1].description, sep="\t", flush=True)
            return
        now = time.monotonic()
        if self.style is Style.FITTING and sys.stderr.isatty():
            self._draw(now)
        elif now - self.last_line >= LINE_SECONDS:
            self.last_line = now
            log.info("%s%s", ", ".join(map(str, self.works)), self._time_left(now))

    def end(self, work: _Work) -> None:
        """Ends work, finished or not."""
        if self.style is Style.RELAYED:
            print(flush=True)
        if self.bars is not None and work.task is not None:
            self.bars.remove_task(work.task)
        if work in self.works:
            self.works.remove(work)
        if not self.works:
            self.last_end = time.monotonic()
        if not self.works and self.bars is not None:
            self.bars.stop()
            self.bars = None

    def forked(self) -> None:
        """Forgets the work of the parent process, which shows it itself."""
        self.silenced = Style.SILENT if self.style is Style.SILENT else Style.LINES
        self.style, self.works, self.bars, self.last_end = Style.SILENT, [], None, -math.inf

    def _time_left(self, now: float) -> str:
        """The time left for the outermost work for which it is known, with its name if that is inner work."""
        for work, inner in zip_longest(self.works, self.works[1:]):
            part = inner.done / inner.total if inner is not None and inner.total else 0.0
            if (left := work.seconds_left(now, part)) is not None:
                return f", about {span(left)} left" + ("" if work is self.works[0] else f" for {work.description}")
        return ""

    def _draw(self, now: float) -> None:
        for work in self.works:
            if work.task is None and now - work.start <= PATIENCE_SECONDS:
                continue
            if self.bars is None:
                self.bars = _bars()
                self.bars.start()
            if work.task is None:
                work.task = self.bars.add_task(work.description, total=work.total, count=work.count, figures="")
            figures = " ".join(_shown(work.figures))
            self.bars.update(work.task, completed=work.done, count=work.count, figures=figures)


_DISPLAY = _Display()
os.register_at_fork(after_in_child=_DISPLAY.forked)


def set_style(style: Style) -> None:
    """Sets how this process shows progress."""
    _DISPLAY.style = style


def speak_in_fork() -> None:
    """Lets a forked process show its own progress in lines, unless nothing is to be shown."""
    _DISPLAY.style = _DISPLAY.silenced


def track(items: Iterable[T], description: str, total: int | None = None, *, from_zero: bool = False) -> Iterator[T]:
    """Yields the items, and shows progress on standard error.

    On a terminal there is a bar once two seconds have passed; bars of nested work are below each other. Otherwise there
    is one log line per minute, with all work in progress and the time left.

    Args:
        items: the items to go through.
        description: the text next to the bar.
        total: the number of items, if `len(items)` is not available.
        from_zero: items are numbered from 0: the first is the state before the first round or epoch, and the number of
            the last is the number of rounds or epochs requested.
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    work = _Work(description, total, time.monotonic(), from_zero)
    _DISPLAY.begin(work)
    try:
        for done, item in enumerate(items):
            work.done = done
            if done == 1:
                work.first_done = time.monotonic()
            _DISPLAY.look()
            yield item
    finally:
        _DISPLAY.end(work)


def tell(**figures: float) -> None:
    """Shows figures, such as a loss, next to the innermost tracked work."""
    if _DISPLAY.works:
        _DISPLAY.works[-1].figures.update(figures)
        _DISPLAY.look()


def _shown(figures: dict[str, float]) -> list[str]:
    return [f"{name} {value:.4g}" for name, value in figures.items()]


def span(seconds: float) -> str:
    """A length of time in words.

    Example: `3 min`
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
