"""Parts of a preparation side by side, on the cores that the process is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xlate.progress import speak_in_fork
from xlate.search.workers import Workers

T = TypeVar("T")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What each of some tasks returns; they run in forked processes, as far as there are cores.

    What comes out is the same as if they ran one after the other; tasks must not depend on each other. None runs here:
    threads that a task starts for its loops are not there in processes forked later, which would wait for them.

    Raises:
        InputError: a process died; what a task raises.
    """
    if cores() < 2 or len(tasks) < 2:
        return [task() for task in tasks]

    def work(start: int, chunk: Sequence[Any]) -> list[T]:
        del start
        speak_in_fork()
        return [tasks[number]() for number in chunk]

    with Workers(work, min(cores(), len(tasks)), "prepared") as workers:
        try:
            for number in range(len(tasks)):
                workers.give(number, [number])
            return [workers.take()[0] for _ in tasks]
        except BaseException:
            # A signal, or an error: nobody waits for what the others are at.
            workers.end()
            raise
