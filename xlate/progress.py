"""Progress bars for work that lasts longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

T = TypeVar("T")
PATIENCE_SECONDS = 2.0


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yields the items, with a bar on standard error once two seconds have passed.

    Nothing is drawn when standard error is no terminal, so logs and pipes stay clean.

    Args:
        items: the items to go through.
        description: the text beside the bar.
        total: the number of items, where `len(items)` does not tell it.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    start = time.monotonic()
    bar: Progress | None = None
    task = None
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - start > PATIENCE_SECONDS:
                bar = _bar()
                bar.start()
                task = bar.add_task(description, total=total, completed=done)
            elif bar is not None and task is not None:
                bar.update(task, completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
