"""Forked processes that share one copy of a model and translate chunks of sentences in their order."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any, Generic, TypeVar, cast

from xlate.errors import InputError

# Chunks that wait or are being worked on, for each process: enough that none is idle, few enough to keep memory small.
AHEAD = 4
# Seconds between two looks at whether parent or children are alive.
LOOK = 1.0
Chunk = Sequence[Any]
Result = TypeVar("Result")
_work: Callable[[int, Chunk], list[Any]] | None = None


class Workers(Generic[Result]):
    """So many processes, forked when the first chunk is given; a context manager that ends them.

    Args:
        work: what is done with a chunk, given the number of its first sentence.
        processes: how many.
        doing: what they do, for the message about one that died.
    """

    def __init__(self, work: Callable[[int, Chunk], list[Result]], processes: int, doing: str = "translated") -> None:
        self._given = work
        self._doing = doing
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None
        self._children: list[Any] = []
        self._waiting: deque[Future[list[Result]]] = deque()

    def __len__(self) -> int:
        """How many chunks were given whose results were not taken."""
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Whether enough chunks wait."""
        return len(self) >= AHEAD * self._processes

    def give(self, start: int, chunk: Chunk) -> None:
        """Gives a chunk.

        Raises:
            InputError: a process died.
        """
        global _work
        with self._deaths_told():
            if self._pool is not None:
                self._waiting.append(self._pool.submit(cast(Any, _worked), start, chunk))
                return
            fork = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(
                self._processes, mp_context=fork, initializer=_live_with, initargs=(os.getpid(),)
            )
            before = set(multiprocessing.active_children())
            # Forked processes find it here; nothing is sent to them but sentences.
            _work = self._given
            try:
                self._waiting.append(self._pool.submit(cast(Any, _worked), start, chunk))
            finally:
                _work = None
            self._children = [child for child in multiprocessing.active_children() if child not in before]

    def take(self) -> list[Result]:
        """The results of the chunk that was given first.

        Raises:
            InputError: a process died; what `work` raises.
        """
        future = self._waiting.popleft()
        with self._deaths_told():
            while True:
                try:
                    return future.result(timeout=LOOK)
                except TimeoutError:
                    if future.done():
                        raise
                    if not all(child.is_alive() for child in self._children):
                        self.end()

    def end(self) -> None:
        """Ends all processes at once: behind one that died, or when nobody waits for what they are at.

        One that died while it wrote a result leaves the reader waiting for the rest of it, until nobody could write.
        """
        for child in self._children:
            child.kill()
        for child in self._children:
            child.join()
        writer = getattr(getattr(self._pool, "_result_queue", None), "_writer", None)
        if writer is not None:
            with contextlib.suppress(OSError):
                writer.close()

    @contextlib.contextmanager
    def _deaths_told(self) -> Any:
        try:
            yield
        except BrokenProcessPool as error:
            raise InputError(
                f"a process that {self._doing} died",
                seen=f"one of {self._processes}",
                remedy="give it more memory, or let one process do it",
            ) from error

    def __enter__(self) -> Workers[Result]:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _worked(start: int, chunk: Chunk) -> list[Any]:
    assert _work is not None
    return _work(start, chunk)


def _live_with(parent: int) -> None:
    # Signals are the parent's business: it finishes what it is at, and then ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with(parent)


@cache
def end_with(parent: int) -> None:
    """Ends this process when its parent is gone: one that was killed could not say so, and this one would work on."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
