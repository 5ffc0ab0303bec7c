"""The union of two alignments, growing their intersection within it, lexical weights of phrase pairs, and IBM Model 1
(Brown et al. 1993) with the costs of phrase pairs under it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Bytes, Floats, Floats32, Ints, Ints16, Ints32, Uints
from xlate.compiled import compiled, inner, loop
from xlate.kernels.memory import (
    HashTable,
    NumberedKeys,
    bounds,
    find,
    new_keys,
    number_of,
    pack,
    places,
    room_for,
    row_values,
)
from xlate.kernels.pairs import PhrasePairs, Sides

FORWARD, BACKWARD, BOTH = 1, 2, 3
NO_FINAL, FINAL_OR, FINAL_AND = 0, 1, 2


@compiled
def merge(
    first_source: Ints32,
    first_target: Ints32,
    first_offsets_S1: Ints,
    second_source: Ints32,
    second_target: Ints32,
    second_offsets_S1: Ints,
) -> tuple[Ints32, Ints32, Ints, Bytes]:
    """The sorted union of two sorted alignments: source_U, target_U, offsets_S1, and origin_U (1 the first, 2 the
    second, 3 both).
    """
    most = len(first_source) + len(second_source)
    source_U, target_U = np.empty(most, np.int32), np.empty(most, np.int32)
    origin_U = np.empty(most, np.uint8)
    offsets_S1 = np.zeros(len(first_offsets_S1), np.int64)
    u = 0
    for s in range(len(first_offsets_S1) - 1):
        a, b = first_offsets_S1[s], second_offsets_S1[s]
        while a < first_offsets_S1[s + 1] or b < second_offsets_S1[s + 1]:
            if b == second_offsets_S1[s + 1]:
                order = -1
            elif a == first_offsets_S1[s + 1]:
                order = 1
            else:
                order = first_source[a] - second_source[b]
                if order == 0:
                    order = first_target[a] - second_target[b]
            if order <= 0:
                source_U[u], target_U[u] = first_source[a], first_target[a]
            else:
                source_U[u], target_U[u] = second_source[b], second_target[b]
            origin_U[u] = BOTH if order == 0 else FORWARD if order < 0 else BACKWARD
            a += order <= 0
            b += order >= 0
            u += 1
        offsets_S1[s + 1] = u
    return source_U[:u], target_U[:u], offsets_S1, origin_U[:u]


@compiled
def grow(
    source_U: Ints32,
    target_U: Ints32,
    offsets_S1: Ints,
    origin_U: Bytes,
    source_lengths_S: Ints,
    target_lengths_S: Ints,
    diagonal: bool,
    final: int,
) -> Bools:
    """Which links of the union to keep; see `xlate.align.aligner` for the rules."""
    kept_U: Bools = origin_U == BOTH
    for s in range(len(offsets_S1) - 1):
        start, end = bounds(offsets_S1, s)
        source, target, origin, kept = source_U[start:end], target_U[start:end], origin_U[start:end], kept_U[start:end]
        grid = np.zeros((source_lengths_S[s] + 2, target_lengths_S[s] + 2), np.bool_)
        has_source = np.zeros(source_lengths_S[s], np.bool_)
        has_target = np.zeros(target_lengths_S[s], np.bool_)
        for u in range(len(source)):
            if kept[u]:
                _take(u, source, target, kept, grid, has_source, has_target)
        grew = True
        while grew:
            grew = False
            for u in range(len(source)):
                i, j = source[u], target[u]
                free = not (has_source[i] and has_target[j])
                if not kept[u] and free and _has_neighbour(grid, i + 1, j + 1, diagonal):
                    _take(u, source, target, kept, grid, has_source, has_target)
                    grew = True
        if final == NO_FINAL:
            continue
        for direction in (FORWARD, BACKWARD):
            for u in range(len(source)):
                taken = np.int64(has_source[source[u]]) + np.int64(has_target[target[u]])
                if not kept[u] and origin[u] == direction and taken < (2 if final == FINAL_OR else 1):
                    _take(u, source, target, kept, grid, has_source, has_target)
    return kept_U


@compiled
def _take(
    u: int, source: Ints32, target: Ints32, kept: Bools, grid: Bools, has_source: Bools, has_target: Bools
) -> None:
    kept[u] = True
    grid[source[u] + 1, target[u] + 1] = True
    has_source[source[u]] = True
    has_target[target[u]] = True


@inner
def _has_neighbour(grid: Bools, row: int, column: int, diagonal: bool) -> bool:
    """Whether a place has a kept link as a neighbour; the grid has an empty margin of one."""
    straight = grid[row - 1, column] or grid[row + 1, column] or grid[row, column - 1] or grid[row, column + 1]
    if straight or not diagonal:
        return bool(straight)
    return bool(
        grid[row - 1, column - 1] or grid[row - 1, column + 1] or grid[row + 1, column - 1] or grid[row + 1, column + 1]
    )


# The gap of phrases without non-terminals.
NO_GAP = -1


class InnerLinks(NamedTuple):
    """Links inside phrase pairs: pair b has those of shape x = `shape_B[b]`, which start at `offsets_X1[x]`."""

    shape_B: Ints32
    offsets_X1: Ints
    source_K: Ints16
    target_K: Ints16


@compiled
def lexical_weights(pairs: PhrasePairs, links: InnerLinks, table: HashTable, probability_K: Floats, gap: int) -> Floats:
    """The lexical weight of B target phrases: the product over words of the mean probability given their linked source
    words, or NULL.

    The keys of the table are `pack(source + 1, target + 1)`, with 0 for NULL. If a word pair is not in the table, its
    phrase pair gets NaN. The word number `gap` marks a non-terminal, which has no weight. Shape (B,).
    """
    weight_B = np.ones(len(pairs.source_B))
    for b in range(len(weight_B)):
        p, q, x = pairs.source_B[b], pairs.target_B[b], links.shape_B[b]
        given = row_values(pairs.source_T, pairs.source_offsets_P1, p)
        words = row_values(pairs.target_U, pairs.target_offsets_Q1, q)
        total, linked = np.zeros(len(words)), np.zeros(len(words), np.int64)
        for k in places(links.offsets_X1, x):
            at = links.target_K[k]
            row = find(table, pack(given[links.source_K[k]] + 1, words[at] + 1))
            total[at] += probability_K[row] if row >= 0 else np.nan
            linked[at] += 1
        for at in range(len(words)):
            if words[at] == gap:
                continue
            if linked[at] == 0:
                row = find(table, pack(0, words[at] + 1))
                total[at] = probability_K[row] if row >= 0 else np.nan
                linked[at] = 1
            weight_B[b] *= total[at] / linked[at]
    return weight_B


@compiled
def unlikely_words(pairs: PhrasePairs, table: HashTable, probability_K: Floats, threshold: float, gap: int) -> Ints16:
    """How many target words of B pairs have a probability below a threshold given each source word and NULL; (B,).

    The table has the same keys as in `lexical_weights`; a word pair that is missing has probability 0. The word number
    `gap` marks non-terminals on both sides.
    """
    unlikely_B = np.zeros(len(pairs.source_B), np.int16)
    for b in range(len(unlikely_B)):
        p, q = pairs.source_B[b], pairs.target_B[b]
        given = row_values(pairs.source_T, pairs.source_offsets_P1, p)
        for u in places(pairs.target_offsets_Q1, q):
            word = pairs.target_U[u]
            if word == gap:
                continue
            row = find(table, pack(0, word + 1))
            likely = row >= 0 and probability_K[row] >= threshold
            at = 0
            while not likely and at < len(given):
                row = -1 if given[at] == gap else find(table, pack(given[at] + 1, word + 1))
                likely = row >= 0 and probability_K[row] >= threshold
                at += 1
            unlikely_B[b] += not likely
    return unlikely_B


NULL = 0


@loop
def cooccurrences(text: Sides) -> Uints:
    """The keys (t, s) of all words that occur in one sentence pair, and of (NULL, s), in order of first occurrence."""
    source_T, source_S1, target_U, target_S1 = text
    keys: NumberedKeys = new_keys(1 << 16)
    for sentence in range(len(source_S1) - 1):
        words = source_S1[sentence + 1] - source_S1[sentence]
        keys = room_for(keys, words * (1 + target_S1[sentence + 1] - target_S1[sentence]))
        for j in places(source_S1, sentence):
            number_of(keys, pack(NULL, source_T[j]))
            for i in places(target_S1, sentence):
                number_of(keys, pack(target_U[i], source_T[j]))
    return keys.keys_K[: keys.size_1[0]].copy()


@loop
def expectation_maximisation(
    table: HashTable, keys_K: Uints, text: Sides, target_words: int, iterations: int
) -> Floats:
    """p(s|t) of every pair after a number of iterations from the uniform distribution; shape (K,)."""
    source_T, source_S1, target_U, target_S1 = text
    probability_K = np.ones(len(keys_K))
    row_X = np.empty(1, np.int64)
    for _ in range(iterations):
        expected_K, total_V = np.zeros(len(keys_K)), np.zeros(target_words)
        for sentence in range(len(source_S1) - 1):
            first, last = bounds(target_S1, sentence)
            if last - first + 1 > len(row_X):
                row_X = np.empty(2 * (last - first + 1), np.int64)
            for j in places(source_S1, sentence):
                row_X[0] = find(table, pack(NULL, source_T[j]))
                total = probability_K[row_X[0]]
                for i in range(first, last):
                    row_X[i - first + 1] = find(table, pack(target_U[i], source_T[j]))
                    total += probability_K[row_X[i - first + 1]]
                expected_K[row_X[0]] += probability_K[row_X[0]] / total
                total_V[NULL] += probability_K[row_X[0]] / total
                for i in range(first, last):
                    share = probability_K[row_X[i - first + 1]] / total
                    expected_K[row_X[i - first + 1]] += share
                    total_V[target_U[i]] += share
        for k in range(len(keys_K)):
            probability_K[k] = expected_K[k] / total_V[np.int64(keys_K[k] >> np.uint64(32))]
    return probability_K


@loop
def model1_costs(pairs: PhrasePairs, table: HashTable, probability_K: Floats, floor: float) -> Floats32:
    """-ln Π_j 1/(l + 1) Σ_{i=0..l} p(s_j|t_i) of B phrase pairs, t_0 being NULL; a factor is at least `floor`."""
    costs_B = np.empty(len(pairs.source_B), np.float32)
    for b in range(len(costs_B)):
        p, q = pairs.source_B[b], pairs.target_B[b]
        first, last = bounds(pairs.target_offsets_Q1, q)
        cost = 0.0
        for j in places(pairs.source_offsets_P1, p):
            row = find(table, pack(NULL, pairs.source_T[j]))
            total = probability_K[row] if row >= 0 else 0.0
            for i in range(first, last):
                row = find(table, pack(pairs.target_U[i], pairs.source_T[j]))
                if row >= 0:
                    total += probability_K[row]
            cost -= np.log(max(total / (last - first + 1), floor))
        costs_B[b] = cost
    return costs_B
