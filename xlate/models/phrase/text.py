"""Phrase derivations as text: lines of an n-best list as Moses writes them, and an explanation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from xlate.formats.bars import escape_bars
from xlate.models.phrase.forced import PhraseDerivation
from xlate.models.phrase.model import FIVE_WAY, PhraseModel
from xlate.models.phrase.parts import COPIED

UNPRINTED = "UnknownWordPenalty0"


def phrase_nbest_line(sentence: int, derivation: PhraseDerivation, model: PhraseModel) -> str:
    """One line of a Moses n-best list: `id ||| words ||| features ||| total ||| segmentation ||| word links`.

    Natural logs. As in Moses the penalty of unknown words is in the total but not among the features. Spans are
    inclusive, from 0, in target order; links are `source-target`. A `|` in a word is written `&#124;`.

    Example: `0 ||| the house ||| LexicalReordering0= -0.1 … ||| -3.2 ||| 0-1=0-1 ||| 0-0 1-1`
    """
    fields = (
        str(sentence),
        " ".join(escape_bars(word) for word in derivation.words),
        " ".join(_features(derivation.features_D, model)),
        f"{derivation.score:.9g}",
        " ".join(_segments(derivation)),
        " ".join(f"{s}-{t}" for s, t in word_links(derivation, model)),
    )
    return " ||| ".join(fields)


def word_links(derivation: PhraseDerivation, model: PhraseModel) -> list[tuple[int, int]]:
    """(source, target) positions that the phrase pairs align, in target order of phrases; a copied word is linked."""
    links = []
    for step, (target_start, _) in zip(derivation.steps, derivation.target_spans, strict=True):
        inside = [(0, 0)] if step.pair == COPIED else model.table.links(step.pair)
        links += [(step.source_span[0] + s, target_start + t) for s, t in inside]
    return links


def explain_phrases(
    model: PhraseModel, weights_D: NDArray[np.float64], source: Sequence[str], derivation: PhraseDerivation
) -> str:
    """A derivation phrase by phrase, then weight × value of every feature, strongest first, then the sum.

    Example:
        [0,2)  das haus -> the house  p(f|e) 0.6, lex 0.4, p(e|f) 0.8, lex 0.5  (N=12)
    """
    lines = [_explained(model, source, derivation, place) for place in range(len(derivation.steps))]
    parts = zip(model.columns, weights_D.tolist(), derivation.features_D.tolist(), strict=True)
    for name, weight, value in sorted(parts, key=lambda part: -abs(part[1] * part[2])):
        if weight * value:
            lines.append(f"  {name:<24} {weight:>9.4f} × {value:>10.4f} = {weight * value:>9.4f}")
    lines.append(f"sum {derivation.score:.4f}  {' '.join(derivation.words)}")
    return "\n".join(lines)


def _explained(model: PhraseModel, source: Sequence[str], derivation: PhraseDerivation, place: int) -> str:
    step = derivation.steps[place]
    start, end = step.source_span
    words = f"[{start},{end})  {' '.join(source[start:end])} -> {' '.join(step.target_words)}"
    if step.pair == COPIED:
        return f"{words}  (copied)"
    scores = (f"{name} {p:.3g}" for name, p in zip(_SCORES, model.table.scores_B4[step.pair], strict=True))
    return f"{words}  {', '.join(scores)}  (N={model.table.count_B[step.pair]:g})"


_SCORES = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")


def _features(features_D: NDArray[np.float64], model: PhraseModel) -> Iterator[str]:
    unused = model.reordering is None or FIVE_WAY in model.slots
    for name, part in model.slots.items():
        if name == UNPRINTED or (name == "LexicalReordering0" and unused):
            continue
        yield f"{name}= " + " ".join(f"{value:.9g}" for value in (features_D[part] + 0.0).tolist())


def _segments(derivation: PhraseDerivation) -> Iterator[str]:
    for step, target in zip(derivation.steps, derivation.target_spans, strict=True):
        yield f"{_inclusive(*step.source_span)}={_inclusive(*target)}"


def _inclusive(start: int, end: int) -> str:
    return str(start) if end - start == 1 else f"{start}-{end - 1}"
