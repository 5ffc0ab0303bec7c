"""Several sentences at a time, over processes that share one copy of a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from xlate.errors import InputError
from xlate.search.workers import Chunk, Workers
from xlate.text.batches import Batches

CHUNK = 8
Result = TypeVar("Result")


class Prepared(Protocol):
    """A decoder that makes what it makes once before processes are forked, so that they share it."""

    def prepare(self, sentences: Sequence[Any], /) -> None:
        """For all of these sentences together."""


Decoder = TypeVar("Decoder", bound=Prepared)
Translate = Callable[[Decoder, Any], Result]


def each_sentence(
    decoder: Decoder, translate: Translate[Decoder, Result], sentences: Sequence[Any], processes: int = 1
) -> Iterator[Result]:
    """What `translate` gives for each of the sentences, in their order, with so many forked processes; 1 forks none.

    Raises:
        InputError: fewer than one process, or one that died; what `translate` raises, naming the sentence.
    """
    return each_arriving(decoder, translate, Batches([sentences]), processes)


def each_arriving(
    decoder: Decoder, translate: Translate[Decoder, Result], batches: Batches[Any], processes: int = 1
) -> Iterator[Result]:
    """The same for sentences that come in batches; few are read ahead, and none is waited for while a result is due."""
    check_processes(processes)
    if processes > 1:
        yield from _side_by_side(decoder, translate, batches, processes)
        return
    number = 0
    for batch in batches:
        decoder.prepare(batch)
        for words in batch:
            yield _translated(decoder, translate, number, words)
            number += 1


def check_processes(processes: int) -> None:
    """Looks whether there is one process or more.

    Raises:
        InputError: there is none.
    """
    if processes < 1:
        raise InputError("too few processes", seen=processes, expected="1 or more")


class HeldProcesses(Generic[Decoder, Result]):
    """Forked processes that stay for one text after the other; a context manager that ends them.

    They are forked with the first text of more than one sentence, and again after an error.

    Args:
        decoder, translate: as `each_sentence` is given them.
        processes: how many; 1 forks none.

    Raises:
        InputError: fewer than one process.
    """

    def __init__(self, decoder: Decoder, translate: Translate[Decoder, Result], processes: int) -> None:
        check_processes(processes)
        self.decoder = decoder
        self.translate = translate
        self.processes = processes
        self._workers: Workers[Result] | None = None

    def each(self, sentences: Sequence[Any]) -> list[Result]:
        """What `translate` gives for each of the sentences.

        Raises:
            InputError: as `each_sentence`.
        """
        if self.processes == 1 or (self._workers is None and len(sentences) < 2):
            return list(each_sentence(self.decoder, self.translate, sentences))
        found: list[Result] = []
        if self._workers is None:
            # As above: what is compiled when it is needed is compiled before there are several processes.
            found += each_sentence(self.decoder, self.translate, sentences[:1])
            self._workers = Workers(self._work, self.processes)
        chunks = _chunks(len(found), sentences[len(found) :])
        try:
            while chunks or len(self._workers):
                while chunks and not self._workers.full:
                    self._workers.give(*chunks.popleft())
                found += self._workers.take()
        except BaseException:
            self.close()
            raise
        return found

    def _work(self, start: int, chunk: Chunk) -> list[Result]:
        self.decoder.prepare(chunk)
        return [_translated(self.decoder, self.translate, start + at, words) for at, words in enumerate(chunk)]

    def close(self) -> None:
        """Ends the processes; the next text forks others."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.__exit__()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the processes."""
        self.close()


def _side_by_side(
    decoder: Decoder, translate: Translate[Decoder, Result], batches: Batches[Any], processes: int
) -> Iterator[Result]:
    coming = iter(batches)
    first = next((batch for batch in coming if batch), None)
    if first is None:
        return
    # Prepared here for all processes, and the first sentence is translated here, so that what is compiled when it is
    # needed is compiled once.
    decoder.prepare(first)
    yield _translated(decoder, translate, 0, first[0])

    def work(start: int, chunk: Chunk) -> list[Result]:
        if start >= len(first):
            decoder.prepare(chunk)
        return [_translated(decoder, translate, start + at, words) for at, words in enumerate(chunk)]

    chunks = _chunks(1, first[1:])
    number, ended = len(first), False
    with Workers(work, processes) as workers:
        while True:
            while not workers.full and not ended:
                if chunks:
                    workers.give(*chunks.popleft())
                elif len(workers) and not batches.ready():
                    break
                else:
                    batch = next(coming, None)
                    ended = batch is None
                    chunks = _chunks(number, batch or ())
                    number += len(batch or ())
            if not len(workers):
                return
            yield from workers.take()


def _chunks(start: int, sentences: Chunk) -> deque[tuple[int, Chunk]]:
    return deque((start + at, sentences[at : at + CHUNK]) for at in range(0, len(sentences), CHUNK))


def _translated(decoder: Decoder, translate: Translate[Decoder, Result], number: int, words: Any) -> Result:
    try:
        return translate(decoder, words)
    except InputError as error:
        raise InputError(
            f"sentence {number + 1}: {error.message}",
            file=error.file,
            line=error.line,
            seen=error.seen,
            expected=error.expected,
            remedy=error.remedy,
        ) from error
