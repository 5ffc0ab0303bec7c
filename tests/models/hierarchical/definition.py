"""What a derivation of the hierarchical model scores, from the definitions: the oracle of all compiled code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import Floats
from xlate.features.structure import FAMILIES
from xlate.models.derivation import COPIED, Derivation
from xlate.models.hierarchical.model import BACKTRACK, GLUE, LM, HierarchicalModel
from xlate.models.hierarchical.moves import RuleStep
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID

RuleDerivation = Derivation[RuleStep]
Fact = tuple[str, int, int, int, int]


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
        at = step.source_spans[-1][1]
        for begin, end in step.gaps:
            if begin < at:
                features_D[BACKTRACK] -= (1, at - begin)
            at = end
        logprob, lm_state = model.lm.score_words(lm_state, model.lm.vocabulary.ids(step.target_words))
        features_D[LM] += logprob
    features_D[LM] += model.lm.score(lm_state, END_ID)[0]
    if model.sparse is not None and sparse_F is not None:
        facts = [(FAMILIES.index(family), *words) for family, *words in facts_of(model, source, steps)]
        _, ids = model.sparse.of_units(np.array(facts, np.int32).reshape(-1, 5), add=False)
        features_D[-1] = float(model.sparse.padded(sparse_F)[ids].sum())
    return Derivation(tuple(source), tuple(steps), features_D, float(weights_D @ features_D))


def facts_of(model: HierarchicalModel, source: Sequence[str], steps: Sequence[RuleStep]) -> list[Fact]:
    """The facts of a derivation, each by family and up to four words; see `features.structure`."""
    source_n, facts = model.source_vocabulary.ids(source).tolist(), list[Fact]()
    last_word, last_pair = BEGIN_ID, None
    parents: list[list[int]] = []
    for step in steps:
        parent = [] if step.glued else parents.pop()
        copied, places = step.unit == COPIED, step.places
        links = [] if copied else model.table.links(step.unit)
        words = [UNKNOWN_ID] if copied else model.target_vocabulary.ids(step.target_words).tolist()
        own = [source_n[places[s]] for s in dict.fromkeys(s for s, _ in links)]
        parents += [own] * len(step.gaps)
        for place, word in enumerate(words):
            facts.append(("target_bigram", last_word, word, 0, 0))
            last_word = word
            if not copied and place not in {t for _, t in links}:
                facts += [("insertion", other, word, 0, 0) for other in source_n]
        last_pair = last_pair if links else None
        for pair in ((source_n[places[s]], words[t]) for s, t in links):
            facts.append(("word_pair", *pair, 0, 0))
            if last_pair is not None:
                facts.append(("pair_bigram", *last_pair, *pair))
            last_pair = pair
        facts += [("parent_child", above, below, 0, 0) for above in parent for below in own]
    return facts
