"""Facts of rules in a sentence for structure features: within translations, and between two rules.

A rule has pairs of linked words in target order, target words without a link, and pairs of neighbouring target words.
Between a rule and the one before it in the target there are one pair of words and one pair of pairs; between a rule and
the one whose gap it fills, all pairs of their linked source words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints16, Ints32
from xlate.compiled import embedded, inlined, inner, lent, loop
from xlate.kernels.features.structure import (
    FACT,
    INSERTION,
    PAIR_BIGRAM,
    PARENT_CHILD,
    TARGET_BIGRAM,
    WORD_PAIR,
    StructureWeights,
    fact_score,
)
from xlate.kernels.memory import grown

NO_PAIR = -1


class RuleWords(NamedTuple):
    """The words of T translations by number: target words, and pairs of linked words in target order.

    Words of translation t are `words_W[word_offsets_T1[t]:word_offsets_T1[t + 1]]`, and `linked_W` says which have a
    link. Its pairs `source_K`, `target_K` are at `pair_offsets_T1`; its linked source words, each place once, are in
    `own_V` at `own_offsets_T1`. `source_n` are the words of the sentence.
    """

    word_offsets_T1: Ints
    words_W: Ints32
    linked_W: Bools
    pair_offsets_T1: Ints
    source_K: Ints32
    target_K: Ints32
    own_offsets_T1: Ints
    own_V: Ints32
    source_n: Ints32


class Structure(NamedTuple):
    """Structure features of a sentence, used only when `active`.

    Two translations with the same `ending_T` make no difference to what follows: they have the same last word and last
    pair. `endings_E3` has word, source and target word of each ending, -1 for no pair; ending 0 is the beginning of the
    sentence. Two with the same `parent_T` make no difference to rules in their gaps; parent 0 has no linked words, and
    `parent_rule_P` is a translation of each. `parents` is their number.
    """

    active: bool
    words: RuleWords
    known: StructureWeights
    ending_T: Ints32
    endings_E3: Ints32
    parent_T: Ints32
    parent_rule_P: Ints
    parents: int


@loop
def own_words(pair_offsets_T1: Ints, place_K: Ints16, source_K: Ints32) -> tuple[Ints, Ints32]:
    """The linked source words of each translation, each place of the source side once, in the order of first links."""
    offsets_T1, own_V, count = np.zeros(len(pair_offsets_T1), dtype=np.int64), np.empty(len(place_K), dtype=np.int32), 0
    for t in range(len(pair_offsets_T1) - 1):
        for k in range(pair_offsets_T1[t], pair_offsets_T1[t + 1]):
            new = True
            for other in range(pair_offsets_T1[t], k):
                new = new and place_K[other] != place_K[k]
            if new:
                own_V[count] = source_K[k]
                count += 1
        offsets_T1[t + 1] = count
    return offsets_T1, own_V[:count].copy()


@loop
def local_scores(words: RuleWords, known: StructureWeights) -> Floats:
    """The score of the facts inside each translation, shape (T,)."""
    words, known = lent(words), lent(known)
    score_T = np.zeros(len(words.word_offsets_T1) - 1)
    for t in range(len(score_T)):
        total, first, last = 0.0, words.pair_offsets_T1[t], words.pair_offsets_T1[t + 1]
        for k in range(first, last):
            source, target = words.source_K[k], words.target_K[k]
            total += fact_score(known, WORD_PAIR, (source, target, 0, 0))
            if k > first:
                before = words.source_K[k - 1], words.target_K[k - 1]
                total += fact_score(known, PAIR_BIGRAM, (before[0], before[1], source, target))
        begin, end = words.word_offsets_T1[t], words.word_offsets_T1[t + 1]
        for w in range(begin, end):
            if w > begin:
                total += fact_score(known, TARGET_BIGRAM, (words.words_W[w - 1], words.words_W[w], 0, 0))
            if not words.linked_W[w]:
                for i in range(len(words.source_n)):
                    total += fact_score(known, INSERTION, (words.source_n[i], words.words_W[w], 0, 0))
        score_T[t] = total
    return score_T


@embedded
def between_score(structure: Structure, ending: int, parent: int, at: int) -> float:
    """The score of a translation after an ending and in a gap of a parent, without the facts inside it."""
    words, known = structure.words, structure.known
    last, source, target = structure.endings_E3[ending]
    total = fact_score(known, TARGET_BIGRAM, (last, words.words_W[words.word_offsets_T1[at]], 0, 0))
    first = words.pair_offsets_T1[at]
    if source != NO_PAIR and first < words.pair_offsets_T1[at + 1]:
        total += fact_score(known, PAIR_BIGRAM, (source, target, words.source_K[first], words.target_K[first]))
    if parent > 0:
        rule = structure.parent_rule_P[parent]
        for p in range(words.own_offsets_T1[rule], words.own_offsets_T1[rule + 1]):
            for c in range(words.own_offsets_T1[at], words.own_offsets_T1[at + 1]):
                total += fact_score(known, PARENT_CHILD, (words.own_V[p], words.own_V[c], 0, 0))
    return total


@loop
def path_facts(words: RuleWords, offsets_N1: Ints, at_L: Ints, gaps_L: Ints32, begin_word: int) -> tuple[Ints, Ints32]:
    """The facts of the L steps of N paths, translations `at_L` that leave `gaps_L` gaps open: offsets (L + 1), facts.

    A fact between two steps belongs to the later one.
    """
    facts_A5, count = np.empty((1024, FACT), dtype=np.int32), 0
    fact_offsets_L1 = np.zeros(len(at_L) + 1, dtype=np.int64)
    waiting = np.empty(len(at_L) * 2 + 2, dtype=np.int64)
    for i in range(len(offsets_N1) - 1):
        before, depth = -1, 0
        for place in range(offsets_N1[i], offsets_N1[i + 1]):
            at, parent = at_L[place], -1
            if depth > 0:
                depth -= 1
                parent = waiting[depth]
            for _ in range(gaps_L[place]):
                waiting[depth] = at
                depth += 1
            facts_A5, count = _step_facts(words, (facts_A5, count), at, before, parent, begin_word)
            before = at
            fact_offsets_L1[place + 1] = count
    return fact_offsets_L1, facts_A5[:count].copy()


@inner
def _step_facts(
    words: RuleWords, held: tuple[Ints32, int], at: int, before: int, parent: int, begin_word: int
) -> tuple[Ints32, int]:
    """Appends the facts of a translation, those between it and the previous one, and between it and its parent."""
    facts_A5, count = held
    begin, end = words.word_offsets_T1[at], words.word_offsets_T1[at + 1]
    first, last = words.pair_offsets_T1[at], words.pair_offsets_T1[at + 1]
    own = words.own_offsets_T1[at + 1] - words.own_offsets_T1[at]
    above = words.own_offsets_T1[parent + 1] - words.own_offsets_T1[parent] if parent >= 0 else 0
    more = 2 * (last - first) + (end - begin) * (1 + len(words.source_n)) + own * above
    facts_A5 = grown(facts_A5, count, more)
    word_before, pair_before = begin_word, NO_PAIR
    if before >= 0:
        word_before = words.words_W[words.word_offsets_T1[before + 1] - 1]
        if words.pair_offsets_T1[before] < words.pair_offsets_T1[before + 1]:
            pair_before = words.pair_offsets_T1[before + 1] - 1
    for w in range(begin, end):
        count = _put(facts_A5, count, TARGET_BIGRAM, (word_before, words.words_W[w], 0, 0))
        word_before = words.words_W[w]
        if not words.linked_W[w]:
            for i in range(len(words.source_n)):
                count = _put(facts_A5, count, INSERTION, (words.source_n[i], words.words_W[w], 0, 0))
    for k in range(first, last):
        source, target = words.source_K[k], words.target_K[k]
        count = _put(facts_A5, count, WORD_PAIR, (source, target, 0, 0))
        if pair_before != NO_PAIR:
            other = words.source_K[pair_before], words.target_K[pair_before]
            count = _put(facts_A5, count, PAIR_BIGRAM, (other[0], other[1], source, target))
        pair_before = k
    for p in range(above):
        for c in range(own):
            pair = words.own_V[words.own_offsets_T1[parent] + p], words.own_V[words.own_offsets_T1[at] + c]
            count = _put(facts_A5, count, PARENT_CHILD, (pair[0], pair[1], 0, 0))
    return facts_A5, count


@inlined
def _put(facts_A5: Ints32, count: int, family: int, words: tuple[int, int, int, int]) -> int:
    line = facts_A5[count]
    line[0], line[1], line[2], line[3], line[4] = family, words[0], words[1], words[2], words[3]
    return count + 1


@loop
def glued_steps(offsets_N1: Ints, gaps_L: Ints32) -> Bools:
    """Whether each of L steps was glued on, that is, no gap of an earlier rule was open; shape (L,).

    Step l leaves `gaps_L[l]` gaps open; path i has steps `offsets_N1[i]` to `offsets_N1[i + 1]`.
    """
    glued_L = np.zeros(len(gaps_L), dtype=np.bool_)
    for i in range(len(offsets_N1) - 1):
        waiting = 0
        for at in range(offsets_N1[i], offsets_N1[i + 1]):
            glued_L[at] = waiting == 0
            waiting = max(waiting - 1, 0) + gaps_L[at]
    return glued_L
