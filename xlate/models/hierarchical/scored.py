"""Derivations of rules with their float features, from the definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import Floats
from xlate.models.derivation import COPIED, Derivation
from xlate.models.hierarchical.model import BACKTRACK, GLUE, LM, HierarchicalModel
from xlate.models.hierarchical.steps import RuleStep
from xlate.models.hierarchical.structure import facts_of, structure_score
from xlate.text.vocabulary import END_ID

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
        features_D[-1] = structure_score(model.structure, sparse_F, facts_of(model, source, steps))
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
