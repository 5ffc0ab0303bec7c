"""Rules put into a derivation: their features from the definitions, and the derivation in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from xlate.array_types import Floats
from xlate.models.derivation import COPIED, Derivation, Span, Step, explained, spans_moved, unit_scores
from xlate.models.hierarchical.model import BACKTRACK, GLUE, LM, HierarchicalModel
from xlate.models.hierarchical.structure import facts_of
from xlate.text.vocabulary import END_ID


@dataclass(frozen=True)
class RuleStep(Step):
    """A rule put into a derivation.

    Attributes:
        span: the source words from the first of the rule to behind the last, gaps among them.
        gaps: the spans left open, in the order of the target.
        glued: whether the rule was glued on to what is before, and not put into a gap.
        swapped: whether its gaps come in reverse in the target.
    """

    span: Span = (0, 0)
    gaps: tuple[Span, ...] = ()
    glued: bool = False
    swapped: bool = False

    def moved(self, by: int) -> Self:
        """The same rule so many source words further on, its gaps too."""
        (span,) = spans_moved([self.span], by)
        return replace(super().moved(by), span=span, gaps=spans_moved(self.gaps, by))

    @property
    def runs(self) -> list[tuple[int, int, bool]]:
        """The source side from left to right: runs of own words, and gaps, which say so; begin and end of each."""
        return sorted([*((a, b, False) for a, b in self.source_spans), *((a, b, True) for a, b in self.gaps)])

    @property
    def places(self) -> list[int]:
        """The source position of each symbol of the source side, that of its first word for a gap."""
        return [place for a, b, gap in self.runs for place in ([a] if gap else range(a, b))]


RuleDerivation = Derivation[RuleStep]


def score_rules_of(
    model: HierarchicalModel,
    weights_D: Floats,
    source: Sequence[str],
    steps: Sequence[RuleStep],
    sparse_F: Floats | None = None,
) -> RuleDerivation:
    """Adds up the features of a derivation from their definitions; see `HierarchicalModel`."""
    features_D = np.zeros(model.size)
    lm_state = int(model.lm.begin_state)
    for step in steps:
        features_D += model.rule_features(np.array([step.unit]))[0]
        features_D[GLUE] += step.glued
        features_D[BACKTRACK] -= steps_back(step)
        words = model.lm.vocabulary.ids(list(step.target_words))
        logprob, lm_state = model.lm.score_words(lm_state, words)
        features_D[LM] += logprob
    if source:
        features_D[LM] += model.lm.score(lm_state, END_ID)[0]
    if model.structure is not None and sparse_F is not None:
        _, ids = model.structure.of_facts(facts_of(model, source, steps))
        features_D[-1] = float(model.structure.padded(sparse_F)[ids].sum())
    return Derivation(tuple(source), tuple(steps), features_D, float(weights_D @ features_D))


def steps_back(step: RuleStep) -> Floats:
    """How often a rule goes back in the source, and by how many words; see `options.backtracks`."""
    at, found_2 = step.source_spans[-1][1], np.zeros(2)
    for begin, end in step.gaps:
        if begin < at:
            found_2 += (1, at - begin)
        at = end
    return found_2


def word_links(model: HierarchicalModel, derivation: RuleDerivation) -> list[tuple[int, int]]:
    """(source, target) positions that the rules align, in target order of rules; a copied word is linked."""
    links = []
    for step, (target_start, _) in zip(derivation.steps, derivation.target_spans, strict=True):
        places = step.places
        inside = [(0, 0)] if step.unit == COPIED else model.table.links(step.unit)
        links += [(places[s], target_start + t) for s, t in inside]
    return links


def explain_rules(
    model: HierarchicalModel, weights_D: Floats, source: Sequence[str], derivation: RuleDerivation
) -> str:
    """A derivation as a tree, then weight × value of every feature, strongest first, then the sum.

    Example:
        [0,4)  ne [1,2) pas X -> not X1  p(f|e) 0.6, …
          [1,2)  go -> go
    """
    shown = []
    for depth, step in tree(derivation.steps):
        start, end = step.span
        line = f"{'  ' * depth}[{start},{end})  {source_side(source, step)} -> {target_side(step)}"
        shown.append(f"{line}  {unit_scores(model.table, step.unit)}")
    return explained(shown, model.columns, weights_D, derivation)


def tree(steps: Sequence[RuleStep]) -> Iterator[tuple[int, RuleStep]]:
    """The rules of a derivation, in its order, each with how deep it lies below a glued one."""
    waiting: list[int] = []
    for step in steps:
        depth = 0 if step.glued else waiting.pop()
        waiting += [depth + 1] * len(step.gaps)
        yield depth, step


def source_side(source: Sequence[str], step: RuleStep) -> str:
    """The source side of a rule, its gaps numbered from left to right."""
    number, shown = 0, []
    for begin, end, gap in step.runs:
        number += gap
        shown.append(f"X{number}" if gap else " ".join(source[begin:end]))
    return " ".join(shown)


def target_side(step: RuleStep) -> str:
    """The target side of a rule, its gaps with their numbers in the source."""
    order = sorted(step.gaps)
    return " ".join([*step.target_words, *(f"X{order.index(gap) + 1}" for gap in step.gaps)])
