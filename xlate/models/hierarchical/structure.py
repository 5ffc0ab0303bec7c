"""Structure features of a sentence's rules: what compiled searches look at, and the facts of derivations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.arrays.ragged import lengths_of, offsets_of, places_of
from xlate.features.structure import StructureFeatures
from xlate.kernels.features.structure import (
    FACT,
    INSERTION,
    PAIR_BIGRAM,
    PARENT_CHILD,
    TARGET_BIGRAM,
    WORD_PAIR,
    Kinds,
    StructureWeights,
    new_memory,
)
from xlate.kernels.memory.hashing import build_table
from xlate.kernels.memory.rows import distinct_rows
from xlate.kernels.search.hierarchical.facts import NO_PAIR, RuleWords, Structure, own_words
from xlate.models.derivation import COPIED
from xlate.models.hierarchical.model import HierarchicalModel
from xlate.text.vocabulary import BEGIN_ID, UNKNOWN_ID

if TYPE_CHECKING:
    from xlate.models.hierarchical.derivations import RuleStep

Facts = list[tuple[int, int, int, int, int]]


def rule_words(model: HierarchicalModel, unit_T: Ints, source_n: Ints32) -> RuleWords:
    """The words and links of translations; a word that stands for itself is an unknown word without links."""
    table, known = model.table, np.flatnonzero(unit_T != COPIED)
    rules = unit_T[known]
    targets = table.target_phrases
    lengths_T = np.ones(len(unit_T), dtype=np.int64)
    lengths_T[known] = lengths_of(targets.offsets_S1, table.target_B[rules])
    word_offsets_T1 = offsets_of(lengths_T)
    words_W = np.full(int(word_offsets_T1[-1]), UNKNOWN_ID, dtype=np.int32)
    words_W[places_of(word_offsets_T1, known)] = targets.ids_T[places_of(targets.offsets_S1, table.target_B[rules])]
    counts_T = np.zeros(len(unit_T), dtype=np.int64)
    counts_T[known] = table.link_offsets_B1[rules + 1] - table.link_offsets_B1[rules]
    pair_offsets_T1 = offsets_of(counts_T)
    links = places_of(table.link_offsets_B1, rules)
    of_K = np.repeat(np.arange(len(unit_T)), counts_T)
    place_K, target_K = np.asarray(table.link_source_K[links]), np.asarray(table.link_target_K[links])
    sides = table.source_sides
    source_K = sides.ids_T[sides.offsets_S1[table.source_B[unit_T[of_K]]] + place_K]
    at_K = word_offsets_T1[of_K] + target_K
    linked_W = np.zeros(len(words_W), dtype=np.bool_)
    linked_W[at_K] = True
    # A word that stands for itself is no inserted word.
    linked_W[word_offsets_T1[:-1][unit_T == COPIED]] = True
    source_K = np.ascontiguousarray(source_K, dtype=np.int32)
    own = own_words(pair_offsets_T1, place_K, source_K)
    return RuleWords(
        word_offsets_T1,
        words_W,
        linked_W,
        pair_offsets_T1,
        source_K,
        words_W[at_K],
        *own,
        np.ascontiguousarray(source_n),
    )


def structure_of(words: RuleWords, known: StructureWeights) -> Structure:
    """What a search needs to know of a sentence's translations."""
    ending_T, endings_E3 = _endings(words)
    parent_T, parent_rule_P = _parents(words)
    return Structure(True, words, known, ending_T, endings_E3, parent_T, parent_rule_P, len(parent_rule_P))


def _endings(words: RuleWords) -> tuple[Ints32, Ints32]:
    """The ending of each translation, and what the endings are; ending 0 is the beginning of the sentence."""
    last_pair = words.pair_offsets_T1[1:] - 1
    some = np.diff(words.pair_offsets_T1) > 0
    rows_T3 = np.full((len(some) + 1, 3), NO_PAIR, dtype=np.int32)
    rows_T3[1:, 0] = words.words_W[words.word_offsets_T1[1:] - 1]
    rows_T3[1:, 1][some] = words.source_K[last_pair[some]]
    rows_T3[1:, 2][some] = words.target_K[last_pair[some]]
    rows_T3[0, 0] = BEGIN_ID
    # No row is all zeros, which would not be told apart from none; the beginning comes first, and has number 0.
    number_T, first_E = distinct_rows((rows_T3 - NO_PAIR + 1).astype(np.uint64))
    return number_T[1:] - np.int32(1), rows_T3[first_E]


def _parents(words: RuleWords) -> tuple[Ints32, Ints]:
    """The parent class of each translation, and a translation of each class; class 0 is for those without links."""
    sizes = np.diff(words.own_offsets_T1)
    # A row without links is all zeros, which is number 0.
    rows = np.zeros((len(sizes), max(int(sizes.max(initial=0)), 1)), dtype=np.uint64)
    rows[
        np.repeat(np.arange(len(sizes)), sizes),
        np.arange(len(words.own_V)) - np.repeat(words.own_offsets_T1[:-1], sizes),
    ] = words.own_V + 1
    parent_T, first_P = distinct_rows(rows)
    return parent_T, np.append(0, first_P)


def no_structure(translations: int) -> Structure:
    """A sentence of a model without structure features."""
    nothing, none = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
    words = RuleWords(none, nothing, np.zeros(0, dtype=np.bool_), none, nothing, nothing, none, nothing, nothing)
    kinds = Kinds(
        np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32), np.zeros((0, 2), np.int32), np.zeros(6, np.int64)
    )
    no_keys = np.zeros(0, dtype=np.uint64)
    known = StructureWeights(kinds, build_table(no_keys), np.zeros(1), new_memory(), no_keys)
    zeros_T, row = np.zeros(translations, dtype=np.int32), np.zeros((1, 3), dtype=np.int32)
    return Structure(False, words, known, zeros_T, row, zeros_T, none, 1)


def facts_of(model: HierarchicalModel, source: Sequence[str], steps: Sequence[RuleStep]) -> Ints32:
    """The facts of a derivation from their definitions, shape (A, 5); see `features.structure`."""
    facts = [fact for step in facts_by_step(model, source, steps) for fact in step]
    return np.array(facts, dtype=np.int32).reshape(-1, FACT)


def facts_by_step(model: HierarchicalModel, source: Sequence[str], steps: Sequence[RuleStep]) -> Iterator[Facts]:
    """The facts that each rule of a derivation brings."""
    source_n = model.source_vocabulary.ids(source).tolist()
    last_word, last_pair = BEGIN_ID, None
    waiting: list[list[int]] = []
    for step in steps:
        facts = Facts()
        parent = waiting.pop() if not step.glued else []
        words, pairs, own = _words_of(model, source_n, step)
        waiting += [own] * len(step.gaps)
        linked = {place for place, _, _ in pairs} if step.unit != COPIED else {0}
        for place, word in enumerate(words):
            facts.append((TARGET_BIGRAM, last_word, word, 0, 0))
            last_word = word
            if place not in linked:
                facts += [(INSERTION, other, word, 0, 0) for other in source_n]
        if step.unit == COPIED or not pairs:
            last_pair = None
        for _, source_word, target_word in pairs:
            facts.append((WORD_PAIR, source_word, target_word, 0, 0))
            if last_pair is not None:
                facts.append((PAIR_BIGRAM, *last_pair, source_word, target_word))
            last_pair = source_word, target_word
        facts += [(PARENT_CHILD, above, below, 0, 0) for above in parent for below in own]
        yield facts


def _words_of(
    model: HierarchicalModel, source_n: list[int], step: RuleStep
) -> tuple[list[int], list[tuple[int, int, int]], list[int]]:
    """A rule's target words, its links as (target place, source word, target word), and its linked source words."""
    if step.unit == COPIED:
        return [UNKNOWN_ID], [], []
    places = step.places
    words = model.target_vocabulary.ids(step.target_words).tolist()
    links = model.table.links(step.unit)
    pairs = [(t, source_n[places[s]], words[t]) for s, t in links]
    return words, pairs, [source_n[places[s]] for s in dict.fromkeys(s for s, _ in links)]


def step_features(
    model: HierarchicalModel, features: StructureFeatures, source: Sequence[str], steps: Sequence[RuleStep]
) -> tuple[Ints, Ints32]:
    """The known features of the facts that each of N rules brings: offsets (N + 1) and ids."""
    facts_N = list(facts_by_step(model, source, steps))
    facts_A5 = np.array([fact for facts in facts_N for fact in facts], dtype=np.int32).reshape(-1, FACT)
    id_offsets_A1, ids = features.of_facts(facts_A5)
    return id_offsets_A1[offsets_of(np.array([len(facts) for facts in facts_N], dtype=np.int64))], ids
