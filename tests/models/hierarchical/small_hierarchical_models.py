"""Small random hierarchical models, and the naive enumeration of everything a decoder may output for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.models.grammar.enumeration import matches
from tests.models.hierarchical.definition import RuleDerivation, score_rules_of
from tests.models.phrase.small_phrase_models import random_classes, random_weights
from tests.models.small_models import SOURCE, TARGET, random_arpa, swapped
from xlate.features.structure import FAMILIES, StructureFeatures, StructureTemplates
from xlate.features.word_values import every_word
from xlate.formats.scfg import Gap
from xlate.lm.model import NgramModel
from xlate.models.derivation import COPIED, Span, own_spans
from xlate.models.hierarchical.model import SIZE, UNKNOWN, HierarchicalModel
from xlate.models.hierarchical.moves import RuleStep
from xlate.phrases.table import GAP, RuleTable
from xlate.search.settings import BlockSearch
from xlate.text.vocabulary import EncodedText

# A source side with X for gaps, a target phrase, and whether the gaps come in reverse.
Rule = tuple[str, str, bool]


def rule_table(rng: np.random.Generator, rules: set[Rule]) -> RuleTable:
    """A table of some rules with random scores; each links its first word to the first of its target."""
    rows = sorted(
        (tuple(side_ids(side)), tuple(TARGET.ids(phrase.split()).tolist()), swap) for side, phrase, swap in rules
    )
    sides, phrases = sorted({row[0] for row in rows}), sorted({row[1] for row in rows})
    own = [next(place for place, symbol in enumerate(row[0]) if symbol != GAP) for row in rows]
    return RuleTable(
        source_sides=EncodedText.from_ids(np.array(side, np.int32) for side in sides),
        target_phrases=EncodedText.from_ids(np.array(phrase, np.int32) for phrase in phrases),
        source_B=np.array([sides.index(row[0]) for row in rows], np.int32),
        target_B=np.array([phrases.index(row[1]) for row in rows], np.int32),
        swapped_B=np.array([row[2] for row in rows], np.bool_),
        count_B=np.ones(len(rows)),
        scores_B4=rng.random((len(rows), 4)) * (rng.random((len(rows), 4)) < 0.95),
        link_offsets_B1=np.arange(len(rows) + 1, dtype=np.int64),
        link_source_K=np.array(own, np.int16),
        link_target_K=np.zeros(len(rows), np.int16),
        insertion_B=rng.integers(0, 3, len(rows)).astype(np.int16),
        deletion_B=rng.integers(0, 3, len(rows)).astype(np.int16),
    )


def side_ids(side: str) -> list[int]:
    """The numbers of a source side."""
    return [GAP if word == "X" else int(SOURCE.ids([word])[0]) for word in side.split()]


def random_rules(rng: np.random.Generator, most: int = 3) -> HierarchicalModel:
    """Random rules of at most three words; word d has none of its own."""
    sides = ["a", "b", "c", "a b", "b c", "a X", "X b", "b X a", "X c X", "X a X b", "c X a X", "d X"]
    rules: set[Rule] = set()
    for side in sides:
        for _ in range(int(rng.integers(1, most + 1))):
            phrase = " ".join(rng.choice(list("uvwxy"), size=rng.integers(1, 4)))
            rules.add((side, phrase, bool(side.count("X") == 2 and rng.random() < 0.5)))
    return HierarchicalModel(rule_table(rng, rules), SOURCE, TARGET, NgramModel.from_arpa(random_arpa(rng)))


def with_structure(rng: np.random.Generator, model: HierarchicalModel) -> tuple[HierarchicalModel, np.ndarray]:
    """The model with structure features over words and random classes, and random weights of many of them."""
    source, target = ((every_word(side.words), random_classes(rng, side.words)) for side in (SOURCE, TARGET))
    features = StructureFeatures(StructureTemplates(FAMILIES, source, target))
    for family, name in enumerate(FAMILIES):
        sides = {"target_bigram": (TARGET, TARGET), "parent_child": (SOURCE, SOURCE)}.get(name, (SOURCE, TARGET))
        sides = (*sides, *sides) if name == "pair_bigram" else sides
        words = itertools.product(*(range(1, len(side)) for side in sides))
        facts = [(family, *row, *[0] * (4 - len(row))) for row in words]
        features.of_units(np.array(facts, np.int32))
    return replace(model, sparse=features), rng.normal(0, 0.2, len(features)) * (rng.random(len(features)) < 0.5)


def random_rule_weights(rng: np.random.Generator, size: int = SIZE) -> np.ndarray:
    """Weights of both signs, unknown words cheap enough to matter."""
    return random_weights(rng, size, UNKNOWN)


def enumerate_rules(
    model: HierarchicalModel,
    weights_D: np.ndarray,
    max_span: int,
    words: list[str],
    sparse_F: np.ndarray | None = None,
) -> list[RuleDerivation]:
    """Every derivation of a sentence, best first: by the definition of the grammar and of the features."""
    found = []
    for cuts in swapped(0, len(words), BlockSearch(mode="mon", max_phrase=max_span)):
        parts = [list(_derived(model, words, span, glued=True)) for span in cuts]
        found += [
            score_rules_of(model, weights_D, words, [step for part in steps for step in part], sparse_F)
            for steps in itertools.product(*parts)
        ]
    return sorted(found, key=lambda derivation: -derivation.score)


def _derived(model: HierarchicalModel, words: list[str], span: Span, *, glued: bool) -> Iterator[list[RuleStep]]:
    """Every way to translate a span by rules, in the order of the target."""
    table = model.table
    for rule in range(len(table)):
        symbols = table.source_sides[int(table.source_B[rule])].tolist()
        side = [Gap("X", 1) if symbol == GAP else SOURCE.word(symbol) for symbol in symbols]
        for gaps in matches(side, words, *span):
            order = tuple(reversed(gaps) if table.swapped_B[rule] else gaps)
            own, target = own_spans(span, order), model.target_words(rule)
            step = RuleStep(rule, own, target, span=span, gaps=order, glued=glued)
            inner = [list(_derived(model, words, gap, glued=False)) for gap in order]
            for parts in itertools.product(*inner):
                yield [step, *(one for part in parts for one in part)]
    alone, sides = SOURCE.ids(words[span[0] : span[1]]).tolist(), table.source_sides
    if len(alone) == 1 and alone not in [sides[row].tolist() for row in range(len(sides))]:
        yield [RuleStep(COPIED, (span,), (words[span[0]],), span=span, gaps=(), glued=glued)]
