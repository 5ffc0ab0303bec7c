"""Translates several sentences at a time, in forked processes that share one copy of a model."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, Protocol, TypeVar, cast

from xlate.arrays.ranges import pieces
from xlate.errors import InputError, refuse_if
from xlate.machine import LOOK, end_with
from xlate.text.batches import Batches

# Sentences per chunk.
CHUNK = 8
# Waiting or active chunks per process: enough that none is idle, few enough to keep memory small.
AHEAD = 4
Chunk = Sequence[Any]
Result = TypeVar("Result")
_work: Callable[[int, Chunk], list[Any]] | None = None


class Prepared(Protocol):
    """A decoder that does its one-time work before processes are forked, so that they share the results."""

    def prepare(self, sentences: Sequence[Any], /) -> None:
        """For all of these sentences together."""


Decoder = TypeVar("Decoder", bound=Prepared)
Translate = Callable[[Decoder, Any], Result]


def each_sentence(
    decoder: Decoder, translate: Translate[Decoder, Result], sentences: Sequence[Any], processes: int
) -> Iterator[Result]:
    """The results of `translate` for the sentences, in order, with `processes` forked processes; 1 forks none.

    Raises:
        InputError: fewer than one process, or one that died; what `translate` raises, naming the sentence.
    """
    return each_arriving(decoder, translate, Batches([sentences]), processes)


def each_arriving(
    decoder: Decoder, translate: Translate[Decoder, Result], batches: Batches[Any], processes: int = 1
) -> Iterator[Result]:
    """`each_sentence` for sentences in batches: reads few ahead, and waits for none while a result is due."""
    with contextlib.closing(HeldProcesses(decoder, translate, processes)) as held:
        yield from held.each_arriving(batches)


class HeldProcesses(Generic[Decoder, Result]):
    """Forked processes that are kept from one text to the next, until they are closed.

    They are forked with the first text of more than one sentence, and again after an error.

    Args:
        decoder, translate: as for `each_sentence`.
        processes: how many; 1 forks none.

    Raises:
        InputError: fewer than one process.
    """

    def __init__(self, decoder: Decoder, translate: Translate[Decoder, Result], processes: int) -> None:
        refuse_if(processes < 1, "too few processes", processes, "1 or more")
        self.decoder = decoder
        self.translate = translate
        self.processes = processes
        self._workers: Workers[Result] | None = None

    def each(self, sentences: Sequence[Any]) -> list[Result]:
        """The results of `translate` for the sentences.

        Raises:
            InputError: as `each_sentence`.
        """
        try:
            return list(self.each_arriving(Batches([sentences])))
        except BaseException:
            self.close()
            raise

    def each_arriving(self, batches: Batches[Any]) -> Iterator[Result]:
        """`each` for sentences that come in batches."""
        coming, number = iter(batches), 0
        if self.processes == 1:
            for sentences in coming:
                self.decoder.prepare(sentences)
                for words in sentences:
                    number += 1
                    yield self._translated(number, words)
            return
        workers, chunks, ended = self._workers, _chunks(0, (), prepared=True), False
        if workers is None:
            first = next((batch for batch in coming if batch), ())
            # Prepared here for all processes. The first sentence is also translated here, so that code compiled on
            # first use is compiled only once.
            self.decoder.prepare(first)
            for words in first[:1]:
                yield self._translated(1, words)
            workers, number = Workers(self._work, self.processes), len(first)
            chunks = _chunks(1, first[1:], prepared=True)
        while True:
            while not workers.full and not ended:
                if chunks:
                    self._workers = workers
                    workers.give(*chunks.popleft())
                elif len(workers) and not batches.ready():
                    break
                else:
                    batch = next(coming, None)
                    ended = batch is None
                    chunks = _chunks(number, batch or (), prepared=False)
                    number += len(batch or ())
            if not len(workers):
                return
            yield from workers.take()

    def _work(self, start: int, chunk: Chunk) -> list[Result]:
        prepared, sentences = chunk
        if not prepared:
            self.decoder.prepare(sentences)
        return [self._translated(number, words) for number, words in enumerate(sentences, start + 1)]

    def _translated(self, number: int, words: Any) -> Result:
        try:
            return self.translate(self.decoder, words)
        except InputError as error:
            raise InputError(**vars(error) | {"message": f"sentence {number}: {error.message}"}) from error

    def close(self) -> None:
        """Ends the processes; the next text forks others."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.__exit__()


def _chunks(start: int, sentences: Chunk, *, prepared: bool) -> deque[tuple[int, Chunk]]:
    """Pieces of a batch by the number of their first sentence, each with whether the decoder is prepared for it."""
    return deque((start + at.start, (prepared, sentences[at])) for at in pieces(len(sentences), CHUNK))


class Workers(Generic[Result]):
    """`processes` processes, forked when the first chunk is given; a context manager that ends them.

    Args:
        work: what to do with a chunk, given the number of its first sentence.
        processes: how many.
        doing: what they do, for the message if one dies.
    """

    def __init__(self, work: Callable[[int, Chunk], list[Result]], processes: int, doing: str = "translated") -> None:
        self._work = work
        self._doing = doing
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None
        self._children: list[Any] = []
        self._waiting: deque[Future[list[Result]]] = deque()

    def __len__(self) -> int:
        """How many chunks have been given whose results have not been taken."""
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Whether enough chunks wait."""
        return len(self) >= AHEAD * self._processes

    def give(self, start: int, chunk: Chunk) -> None:
        """Hands over a chunk.

        Raises:
            InputError: a process died.
        """
        with self._deaths_told():
            before = multiprocessing.active_children() if self._pool is None else None
            if self._pool is None:
                # Forked processes already have their work; only sentences are sent to them.
                start_with = (os.getpid(), self._work)
                fork = multiprocessing.get_context("fork")
                self._pool = ProcessPoolExecutor(self._processes, fork, _live_with, start_with)
            self._waiting.append(self._pool.submit(cast(Any, _worked), start, chunk))
            if before is not None:
                self._children = [child for child in multiprocessing.active_children() if child not in before]

    def take(self) -> list[Result]:
        """The results of the oldest chunk.

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

    def each(self, chunks: Iterable[tuple[int, Chunk]]) -> Iterator[list[Result]]:
        """The results of several chunks, one after the other; raises what `give` and `take` raise."""
        for chunk in chunks:
            if self.full:
                yield self.take()
            self.give(*chunk)
        while len(self):
            yield self.take()

    def end(self) -> None:
        """Ends all processes at once: after one has died, or when nobody waits for their current work.

        If one died while writing a result, the reader waits for the rest until no process could still write it.
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
                f"one of {self._processes}",
                remedy="free some memory, or use a single process",
            ) from error

    def __enter__(self) -> Workers[Result]:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _worked(start: int, chunk: Chunk) -> list[Any]:
    assert _work is not None
    return _work(start, chunk)


def _live_with(parent: int, work: Callable[[int, Chunk], list[Any]]) -> None:
    global _work
    _work = work
    # Signals are the parent's business: it finishes its current work, and then ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with(parent)
