"""Phrase derivations explained, and the words that they link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xlate.array_types import Floats
from xlate.models.derivation import COPIED, Derivation, Step
from xlate.models.explained import explained, unit_scores
from xlate.models.phrase.model import FIVE_WAY, PhraseModel

# Moses counts it in the total, and leaves it out of n-best lists.
UNPRINTED = "UnknownWordPenalty0"


def shown_features(derivation: Derivation[Step], model: PhraseModel) -> Iterator[tuple[str, Sequence[float]]]:
    """The features of a derivation by Moses's names, natural logs, without a reordering model that is not used."""
    unused = model.reordering is None or FIVE_WAY in model.slots
    for name, part in model.slots.items():
        if name != UNPRINTED and not (name == "LexicalReordering0" and unused):
            yield name, derivation.features_D[part].tolist()


def word_links(derivation: Derivation[Step], model: PhraseModel) -> list[tuple[int, int]]:
    """(source, target) positions that the phrase pairs align, in target order of phrases; a copied word is linked."""
    links = []
    for step, (target_start, _) in zip(derivation.steps, derivation.target_spans, strict=True):
        inside = [(0, 0)] if step.unit == COPIED else model.table.links(step.unit)
        links += [(step.source_span[0] + s, target_start + t) for s, t in inside]
    return links


def explain_phrases(model: PhraseModel, weights_D: Floats, source: Sequence[str], derivation: Derivation[Step]) -> str:
    """A derivation phrase by phrase, then weight × value of every feature, strongest first, then the sum.

    Example:
        [0,2)  das haus -> the house  p(f|e) 0.6, lex 0.4, p(e|f) 0.8, lex 0.5  (N=12)
    """
    shown = [_explained(model, source, step) for step in derivation.steps]
    return explained(shown, model.columns, weights_D, derivation)


def _explained(model: PhraseModel, source: Sequence[str], step: Step) -> str:
    start, end = step.source_span
    words = f"[{start},{end})  {' '.join(source[start:end])} -> {' '.join(step.target_words)}"
    return f"{words}  {unit_scores(model.table, step.unit)}"
