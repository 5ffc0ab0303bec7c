"""Extracts and counts hierarchical rules of aligned sentence pairs.

Letters: X phrase pairs of a sentence pair, G of them that may become gaps, E target ends, N distinct rules with
links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.compiled import compiled, inlined, inner
from xlate.kernels.counting.extraction import SentencePair, consistent_spans, sentence_pair
from xlate.kernels.memory import ROOT, Tally, Trie, child, count, grown, new_tally, new_trie, pack, room, room_for
from xlate.kernels.pairs import SentenceLinks, Sides

# The weight of one rule in whole numbers, so that sums do not depend on their order.
ONE = 1 << 32
NO_SPAN = -1
# Start, end and number of a missing gap.
NOTHING = (-1, -1, -1)


class RuleLimits(NamedTuple):
    """Which rules are extracted; the first ten fields are those of `RuleSettings`.

    `anywhere` lifts the target normal form: gaps may be anywhere in the target. In target sides, the numbers `first`
    and `second` stand for the first and the second non-terminal of the source; in source sides, `first` stands for
    both.
    """

    source_span: int
    target_span: int
    symbols: int
    most_gaps: int
    least_gap: int
    least_links: int
    adjacent: bool
    loose_phrases: bool
    loose_gaps: bool
    shared_counts: bool
    anywhere: bool
    first: int
    second: int


class RuleStore(NamedTuple):
    """Tries of source sides, target sides and shapes, and how much each rule weighs.

    The keys of `rules` are `pack(source node, target node)`, those of `shaped` `pack(row of the rule, shape node)`;
    row n of `shaped` weighs `weight_N[n]`, in units of `ONE`. A shape is the sequence of links inside a rule, as in
    `extraction.extract`: `(target_span - 1 - target) * symbols + source`, where places count gaps too.
    """

    sources: Trie
    targets: Trie
    shapes: Trie
    rules: Tally
    shaped: Tally
    weight_N: Ints


@compiled
def new_rule_store() -> RuleStore:
    """A store without rules."""
    shaped = new_tally(1024)
    weight_N = np.zeros(len(shaped.keys_K), np.int64)
    return RuleStore(new_trie(1024), new_trie(1024), new_trie(1024), new_tally(1024), shaped, weight_N)


@compiled
def count_rules(
    text: Sides, links: SentenceLinks, sentences: tuple[int, int], limits: RuleLimits, store: RuleStore
) -> RuleStore:
    """Counts the rules in a range of sentence pairs; returns the store, or a larger copy."""
    chosen_C2 = np.empty((64, 2), np.int32)
    for s in range(sentences[0], sentences[1]):
        pair = sentence_pair(text, links, s)
        if len(pair.link_source) == 0:
            continue
        initial_X4, gap_G4, begin_E = _spans(pair, limits)
        for x in range(len(initial_X4)):
            links_inside = _links(pair.before_U1, initial_X4[x])
            plain = _words(initial_X4[x], 0) <= limits.symbols and links_inside >= limits.least_links
            chosen_C2, found = _choose_gaps(initial_X4[x], gap_G4, begin_E, pair, limits, chosen_C2)
            rules = found + plain
            if rules == 0:
                continue
            weight = (ONE + rules // 2) // rules if limits.shared_counts else ONE
            store = _with_room(store, rules, links_inside, limits)
            if plain:
                _count_rule(store, initial_X4[x], gap_G4, (NO_SPAN, NO_SPAN), pair, limits, weight)
            for c in range(found):
                gaps = (chosen_C2[c, 0], chosen_C2[c, 1])
                _count_rule(store, initial_X4[x], gap_G4, gaps, pair, limits, weight)
    return store


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
        gap_X[x] = (tight or limits.loose_gaps) and end - start >= limits.least_gap
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
        if limits.most_gaps == 0 or not _within(gap_G4[q], initial, limits):
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
def _count_rule(
    store: RuleStore,
    initial: Ints32,
    gap_G4: Ints32,
    gaps: tuple[int, int],
    pair: SentencePair,
    limits: RuleLimits,
    weight: int,
) -> None:
    """Counts what is left of a phrase pair without its gaps (q, r), of which r comes first on the target."""
    q_source = q_target = r_source = r_target = NOTHING
    if gaps[0] != NO_SPAN:
        q = gap_G4[gaps[0]]
        q_source, q_target = (q[0], q[1], limits.first), (q[2], q[3], limits.first)
    if gaps[1] != NO_SPAN:
        r = gap_G4[gaps[1]]
        swapped = q_source[0] < r[0]
        r_source = (r[0], r[1], limits.first)
        r_target = (r[2], r[3], limits.second if swapped else limits.first)
        q_target = (q_target[0], q_target[1], limits.first if swapped else limits.second)
    source_node = _side_node(store.sources, pair.source, (initial[0], initial[1]), q_source, r_source)
    target_node = _side_node(store.targets, pair.target, (initial[2], initial[3]), q_target, r_target)
    shape = ROOT
    for k in range(pair.before_U1[initial[2]], pair.before_U1[initial[3]]):
        i, j = pair.link_source[k], pair.link_target[k]
        if not (q_target[0] <= j < q_target[1] or r_target[0] <= j < r_target[1]):
            column = limits.target_span - 1 - _place(j, initial[2], q_target, r_target)
            shape = child(store.shapes, shape, column * limits.symbols + _place(i, initial[0], q_source, r_source))
    rule = count(store.rules, pack(source_node, target_node))
    store.weight_N[count(store.shaped, pack(rule, shape))] += weight


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
def _with_room(store: RuleStore, rules: int, links: int, limits: RuleLimits) -> RuleStore:
    """The store, or a larger copy if it lacks room for `rules` more rules with `links` links each."""
    sources = room(store.sources, rules * limits.symbols)
    targets = room(store.targets, rules * limits.target_span)
    shapes = room(store.shapes, rules * links)
    shaped = room_for(store.shaped, rules)
    weight_N = store.weight_N
    if len(weight_N) < len(shaped.keys_K):
        weight_N = np.zeros(len(shaped.keys_K), np.int64)
        weight_N[: len(store.weight_N)] = store.weight_N
    return RuleStore(sources, targets, shapes, room_for(store.rules, rules), shaped, weight_N)
