"""Lines of n-best lists, as Moses writes them, of the block models' derivations."""

from __future__ import annotations

from collections.abc import Iterator

from xlate.formats.bars import escape_bars
from xlate.models.block.derivation import Derivation


def format_nbest(sentence: int, derivation: Derivation) -> str:
    """One line of a Moses n-best list: `id ||| words ||| features ||| total ||| segmentation`.

    Features are those of `Derivation.features`; the total is their sum weighted with the model's weights, `binary` and
    `partition` counting 1. The segmentation lists `source=target` spans, inclusive, from 0, in target order. A `|` in a
    word is written `&#124;`.

    Example: `0 ||| the house ||| linked_unigram= 0 … binary= 0.5 ||| -3.2 ||| 0-1=0-1`
    """
    values = derivation.features()
    fields = (
        str(sentence),
        " ".join(escape_bars(word) for word in derivation.words),
        " ".join(f"{name}= {value:.9g}" for name, value in values),
        f"{derivation.score:.9g}",
        " ".join(_segments(derivation)),
    )
    return " ||| ".join(fields)


def _segments(derivation: Derivation) -> Iterator[str]:
    at = 0
    for step in derivation.blocks:
        behind = at + len(step.target_words)
        yield f"{_inclusive(*step.source_span)}={_inclusive(at, behind)}"
        at = behind


def _inclusive(start: int, end: int) -> str:
    return str(start) if end - start == 1 else f"{start}-{end - 1}"
