"""Several sentences at a time, over processes that share one copy of a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from xlate.errors import InputError
from xlate.search.workers import Chunk, Workers
from xlate.text.arriving import Batches, KnownBatches

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
    return each_arriving(decoder, translate, KnownBatches([sentences]), processes)


def each_arriving(
    decoder: Decoder, translate: Translate[Decoder, Result], batches: Batches[Any], processes: int = 1
) -> Iterator[Result]:
    """The same for sentences that come in batches; few are read ahead, and none is waited for while a result is due."""
    if processes < 1:
        raise InputError("too few processes", seen=processes, expected="1 or more")
    if processes > 1:
        yield from _side_by_side(decoder, translate, batches, processes)
        return
    number = 0
    for batch in batches:
        decoder.prepare(batch)
        for words in batch:
            yield _translated(decoder, translate, number, words)
            number += 1


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
