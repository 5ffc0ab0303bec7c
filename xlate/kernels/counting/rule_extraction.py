"""Extracts and counts hierarchical rules of aligned sentence pairs; those without gaps are the phrase pairs.

Letters: X phrase pairs of a sentence pair, G of them that may become gaps, E target ends, N distinct rules with
links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.compiled import compiled, inlined, inner
from xlate.kernels.counting.extraction import SentencePair, consistent_spans, no_nodes, sentence_pair, span_node
from xlate.kernels.memory import (
    ROOT,
    NumberedKeys,
    Trie,
    child,
    grown,
    new_keys,
    new_trie,
    number_of,
    pack,
    room,
    room_for,
)
from xlate.kernels.pairs import SentenceLinks, Sides

NO_SPAN = -1
# Start, end and number of a missing gap.
NOTHING = (-1, -1, -1)
# Tables get room for this many more rules at a time, or for those of a phrase pair if it has more.
STEP = 64


class RuleLimits(NamedTuple):
    """Which rules are extracted; by default all phrase pairs. The first ten fields are those of `RuleSettings`.

    A phrase pair weighs `unit`, divided equally among its rules if `shared_counts`; otherwise each of its rules does.
    `anywhere` lifts the target normal form: gaps may be anywhere in the target. In target sides, the numbers `first`
    and `second` stand for the first and the second non-terminal of the source; in source sides, `first` stands for
    both.
    """

    source_span: int
    target_span: int
    symbols: int
    most_gaps: int = 0
    least_gap: int = 1
    least_links: int = 1
    adjacent: bool = False
    loose_phrases: bool = True
    loose_gaps: bool = False
    shared_counts: bool = False
    unit: int = 1
    anywhere: bool = False
    first: int = 0
    second: int = 0


class PairStore(NamedTuple):
    """Tries of source sides, target sides and shapes, and how much each pair of sides weighs.

    The keys of `pairs` are `pack(source node, target node)`, those of `shaped` `pack(number of the pair, shape node)`;
    number n of `shaped` weighs `weight_N[n]`. A shape is the sequence of links inside a pair, where places count gaps
    too. Its "words" are `(target_span - 1 - target) * symbols + source`, so that the trie sorts shapes in the order in
    which Moses breaks ties between them.
    """

    sources: Trie
    targets: Trie
    shapes: Trie
    pairs: NumberedKeys
    shaped: NumberedKeys
    weight_N: Ints


@compiled
def new_pair_store() -> PairStore:
    """A store without pairs."""
    shaped = new_keys(1024)
    weight_N = np.zeros(len(shaped.keys_K), np.int64)
    return PairStore(new_trie(1024), new_trie(1024), new_trie(1024), new_keys(1024), shaped, weight_N)


@compiled
def count_pairs(
    text: Sides, links: SentenceLinks, sentences: tuple[int, int], limits: RuleLimits, store: PairStore
) -> PairStore:
    """Counts the rules in a range of sentence pairs; returns the store, or a larger copy."""
    sources, targets, shapes, pairs, shaped, weight_N = store
    chosen_C2 = np.empty((64, 2), np.int32)
    for s in range(sentences[0], sentences[1]):
        pair = sentence_pair(text, links, s)
        source, target, link_source, link_target, before_U1 = pair
        if len(link_source) == 0:
            continue
        initial_X4, gap_G4, begin_E = _spans(pair, limits)
        source_nodes, target_nodes = no_nodes(len(source), limits.symbols), no_nodes(len(target), limits.target_span)
        spare = 0
        for x in range(len(initial_X4)):
            start, end, target_start, target_end = initial_X4[x]
            first, last = before_U1[target_start], before_U1[target_end]
            plain = end - start <= limits.symbols and last - first >= limits.least_links
            found = 0
            if limits.most_gaps > 0:
                chosen_C2, found = _choose_gaps(initial_X4[x], gap_G4, begin_E, pair, limits, chosen_C2)
            rules = found + plain
            if rules == 0:
                continue
            weight = (limits.unit + rules // 2) // rules if limits.shared_counts else limits.unit
            if spare < rules:
                spare = max(rules, STEP)
                held = PairStore(sources, targets, shapes, pairs, shaped, weight_N)
                sources, targets, shapes, pairs, shaped, weight_N = _with_room(held, spare, len(link_source), limits)
            spare -= rules
            for c in range(rules):
                if c < found:
                    nodes = _rule_nodes(sources, targets, shapes, initial_X4[x], gap_G4, chosen_C2[c], pair, limits)
                    source_node, target_node, shape = nodes
                else:
                    source_node = span_node(sources, source, source_nodes, start, end)
                    target_node = span_node(targets, target, target_nodes, target_start, target_end)
                    shape = ROOT
                    for k in range(first, last):
                        column = limits.target_span - 1 - (link_target[k] - target_start)
                        shape = child(shapes, shape, column * limits.symbols + link_source[k] - start)
                number = number_of(pairs, pack(source_node, target_node))
                weight_N[number_of(shaped, pack(number, shape))] += weight
    return PairStore(sources, targets, shapes, pairs, shaped, weight_N)


@compiled
def _spans(pair: SentencePair, limits: RuleLimits) -> tuple[Ints32, Ints32, Ints]:
    """The phrase pairs that rules come from; those that may become gaps, by target end; and the first of these that
    ends at or after each target place.
    """
    spans_X4 = consistent_spans(pair, limits.source_span, limits.target_span)
    linked = np.zeros(len(pair.source), np.bool_)
    linked[pair.link_source] = True
    initial_X, gap_X = np.ones(len(spans_X4), np.bool_), np.ones(len(spans_X4), np.bool_)
    for x in range(len(spans_X4)):
        start, end, target_start, target_end = spans_X4[x]
        tight = linked[start] and linked[end - 1]
        tight = tight and pair.before_U1[target_start + 1] > pair.before_U1[target_start]
        tight = tight and pair.before_U1[target_end] > pair.before_U1[target_end - 1]
        initial_X[x] = tight or limits.loose_phrases
        gap_X[x] = limits.most_gaps > 0 and (tight or limits.loose_gaps) and end - start >= limits.least_gap
    gap_G4 = spans_X4[gap_X]
    gap_G4 = gap_G4[np.argsort(gap_G4[:, 3], kind="mergesort")]
    return spans_X4[initial_X], gap_G4, np.searchsorted(gap_G4[:, 3], np.arange(len(pair.target) + 2))


@inner
def _choose_gaps(
    initial: Ints32, gap_G4: Ints32, begin_E: Ints, pair: SentencePair, limits: RuleLimits, chosen_C2: Ints32
) -> tuple[Ints32, int]:
    """What may be cut out of a phrase pair: rows (last gap of the target, gap before it or `NO_SPAN`), and a count."""
    found = 0
    end = initial[3]
    for q in range(begin_E[initial[2] + 1 if limits.anywhere else end], begin_E[end + 1]):
        if not _within(gap_G4[q], initial, limits):
            continue
        if _leaves_rule(initial, gap_G4, q, NO_SPAN, pair, limits):
            chosen_C2, found = _keep(chosen_C2, found, q, NO_SPAN)
        start = gap_G4[q, 2]
        for r in range(begin_E[initial[2] + 1 if limits.anywhere else start], begin_E[start + 1]):
            if limits.most_gaps == 1 or not _within(gap_G4[r], initial, limits):
                continue
            if _leaves_rule(initial, gap_G4, q, r, pair, limits):
                chosen_C2, found = _keep(chosen_C2, found, q, r)
    return chosen_C2, found


@inner
def _keep(chosen_C2: Ints32, found: int, q: int, r: int) -> tuple[Ints32, int]:
    if found == len(chosen_C2):
        chosen_C2 = grown(chosen_C2, found, 1)
    chosen_C2[found, 0], chosen_C2[found, 1] = q, r
    return chosen_C2, found + 1


@inlined
def _within(gap: Ints32, initial: Ints32, limits: RuleLimits) -> bool:
    """Whether a gap lies inside a phrase pair, in normal form after its first target word."""
    inside = gap[0] >= initial[0] and gap[1] <= initial[1]
    return inside and (gap[2] > initial[2] or (limits.anywhere and gap[2] == initial[2]))


@inner
def _leaves_rule(initial: Ints32, gap_G4: Ints32, q: int, r: int, pair: SentencePair, limits: RuleLimits) -> bool:
    """Whether a rule remains after cutting out gap q and, if it is one, gap r before it on the target."""
    before = pair.before_U1
    gaps, words, targets = 1, _words(initial, 0) - _words(gap_G4[q], 0), _words(initial, 2) - _words(gap_G4[q], 2)
    inside = _links(before, initial) - _links(before, gap_G4[q])
    if r != NO_SPAN:
        gaps = 2
        words -= _words(gap_G4[r], 0)
        targets -= _words(gap_G4[r], 2)
        inside -= _links(before, gap_G4[r])
        between = max(gap_G4[q, 0] - gap_G4[r, 1], gap_G4[r, 0] - gap_G4[q, 1])
        if between < 0 or (between == 0 and not limits.adjacent):
            return False
    return words > 0 and targets > 0 and inside >= limits.least_links and words + gaps <= limits.symbols


@inlined
def _words(span: Ints32, side: int) -> int:
    """The words of a phrase pair on the source (side 0) or on the target (side 2)."""
    return int(span[side + 1] - span[side])


@inlined
def _links(before_U1: Ints, span: Ints32) -> int:
    """The links inside a phrase pair."""
    return int(before_U1[span[3]] - before_U1[span[2]])


@inner
def _rule_nodes(
    sources: Trie,
    targets: Trie,
    shapes: Trie,
    initial: Ints32,
    gap_G4: Ints32,
    gaps_2: Ints32,
    pair: SentencePair,
    limits: RuleLimits,
) -> tuple[int, int, int]:
    """The nodes of both sides and of the links of what is left of a phrase pair without its gaps (q, r).

    Of these, r comes first on the target, if there is one.
    """
    q = gap_G4[gaps_2[0]]
    r_source = r_target = NOTHING
    q_source, q_target = (q[0], q[1], limits.first), (q[2], q[3], limits.first)
    if gaps_2[1] != NO_SPAN:
        r = gap_G4[gaps_2[1]]
        swapped = q_source[0] < r[0]
        r_source = (r[0], r[1], limits.first)
        r_target = (r[2], r[3], limits.second if swapped else limits.first)
        q_target = (q_target[0], q_target[1], limits.first if swapped else limits.second)
    source_node = _side_node(sources, pair.source, (initial[0], initial[1]), q_source, r_source)
    target_node = _side_node(targets, pair.target, (initial[2], initial[3]), q_target, r_target)
    shape = ROOT
    for k in range(pair.before_U1[initial[2]], pair.before_U1[initial[3]]):
        i, j = pair.link_source[k], pair.link_target[k]
        if not (q_target[0] <= j < q_target[1] or r_target[0] <= j < r_target[1]):
            column = limits.target_span - 1 - _place(j, initial[2], q_target, r_target)
            shape = child(shapes, shape, column * limits.symbols + _place(i, initial[0], q_source, r_source))
    return source_node, target_node, shape


@inner
def _side_node(
    trie: Trie, words: Ints32, span: tuple[int, int], one: tuple[int, int, int], other: tuple[int, int, int]
) -> int:
    """The node of a span's words, with the numbers of two gaps (start, end, number) in their places."""
    node, i = ROOT, span[0]
    while i < span[1]:
        if i == one[0]:
            node, i = child(trie, node, one[2]), one[1]
        elif i == other[0]:
            node, i = child(trie, node, other[2]), other[1]
        else:
            node, i = child(trie, node, words[i]), i + 1
    return node


@inlined
def _place(i: int, start: int, one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    """Where a word is in a side that begins at `start`, when each gap takes one place."""
    place = i - start
    if start <= one[0] < i:
        place -= one[1] - one[0] - 1
    if start <= other[0] < i:
        place -= other[1] - other[0] - 1
    return place


@inner
def _with_room(store: PairStore, rules: int, links: int, limits: RuleLimits) -> PairStore:
    """The store, or a larger copy if it lacks room for `rules` more rules with `links` links each."""
    sources = room(store.sources, rules * limits.symbols)
    targets = room(store.targets, rules * limits.target_span)
    shapes = room(store.shapes, rules * links)
    shaped = room_for(store.shaped, rules)
    weight_N = store.weight_N
    if len(weight_N) < len(shaped.keys_K):
        weight_N = np.zeros(len(shaped.keys_K), np.int64)
        weight_N[: len(store.weight_N)] = store.weight_N
    return PairStore(sources, targets, shapes, room_for(store.pairs, rules), shaped, weight_N)
