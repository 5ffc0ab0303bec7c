"""Several sentences at a time, over processes that share one copy of the model."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence

from xlate.decode.phrase import PhraseDecoder, PhraseDerivation
from xlate.errors import InputError

CHUNK = 8
_decoder: PhraseDecoder | None = None


def translate_many(
    decoder: PhraseDecoder, sentences: Sequence[Sequence[str]], processes: int = 1
) -> Iterator[list[PhraseDerivation]]:
    """Translates tokenised sentences, in their order, with so many forked processes; 1 forks none.

    Raises:
        InputError: fewer than one process; what the decoder raises, naming the sentence.
    """
    if processes < 1:
        raise InputError("too few processes", seen=processes, expected="1 or more")
    if processes == 1:
        for number, words in enumerate(sentences):
            yield _translated(decoder, number, words)
        return
    decoder.prepare()
    global _decoder
    # Forked processes find it here; nothing is sent to them but sentences.
    _decoder = decoder
    try:
        with multiprocessing.get_context("fork").Pool(processes) as workers:
            yield from workers.imap(_translate, enumerate(sentences), chunksize=CHUNK)
    finally:
        _decoder = None


def _translate(numbered: tuple[int, Sequence[str]]) -> list[PhraseDerivation]:
    assert _decoder is not None
    return _translated(_decoder, *numbered)


def _translated(decoder: PhraseDecoder, number: int, words: Sequence[str]) -> list[PhraseDerivation]:
    try:
        return decoder.translate(words)
    except InputError as error:
        raise InputError(
            f"sentence {number + 1}: {error.message}",
            file=error.file,
            line=error.line,
            seen=error.seen,
            expected=error.expected,
            remedy=error.remedy,
        ) from error
