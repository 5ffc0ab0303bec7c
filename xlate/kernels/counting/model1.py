"""Expectation maximisation of IBM Model 1 (Brown et al. 1993), and the costs of phrase pairs under it."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Floats32, Uints
from xlate.compiled import loop
from xlate.kernels.counting.sides import PhrasePairs, Sides
from xlate.kernels.memory.hashing import HashTable, find, pack
from xlate.kernels.memory.tally import Tally, count, new_tally, room_for

NULL = 0


@loop
def cooccurrences(text: Sides) -> Uints:
    """The keys (t, s) of all words that stand in one sentence pair, and of (NULL, s), in the order in which they are
    seen.
    """
    source_T, source_S1, target_U, target_S1 = text
    tally: Tally = new_tally(1 << 16)
    for sentence in range(len(source_S1) - 1):
        words = source_S1[sentence + 1] - source_S1[sentence]
        tally = room_for(tally, words * (1 + target_S1[sentence + 1] - target_S1[sentence]))
        for j in range(source_S1[sentence], source_S1[sentence + 1]):
            count(tally, pack(NULL, source_T[j]))
            for i in range(target_S1[sentence], target_S1[sentence + 1]):
                count(tally, pack(target_U[i], source_T[j]))
    return tally.keys_K[: tally.size_1[0]].copy()


@loop
def expectation_maximisation(
    table: HashTable, keys_K: Uints, text: Sides, target_words: int, iterations: int
) -> Floats:
    """p(s|t) of every pair after some iterations from the uniform distribution; shape (K,)."""
    source_T, source_S1, target_U, target_S1 = text
    probability_K = np.ones(len(keys_K))
    row_X = np.empty(1, dtype=np.int64)
    for _ in range(iterations):
        expected_K, total_V = np.zeros(len(keys_K)), np.zeros(target_words)
        for sentence in range(len(source_S1) - 1):
            first, last = target_S1[sentence], target_S1[sentence + 1]
            if last - first + 1 > len(row_X):
                row_X = np.empty(2 * (last - first + 1), dtype=np.int64)
            for j in range(source_S1[sentence], source_S1[sentence + 1]):
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
    costs_B = np.empty(len(pairs.source_B), dtype=np.float32)
    for b in range(len(costs_B)):
        p, q = pairs.source_B[b], pairs.target_B[b]
        first, last = pairs.target_offsets_Q1[q], pairs.target_offsets_Q1[q + 1]
        cost = 0.0
        for j in range(pairs.source_offsets_P1[p], pairs.source_offsets_P1[p + 1]):
            row = find(table, pack(NULL, pairs.source_T[j]))
            total = probability_K[row] if row >= 0 else 0.0
            for i in range(first, last):
                row = find(table, pack(pairs.target_U[i], pairs.source_T[j]))
                if row >= 0:
                    total += probability_K[row]
            cost -= np.log(max(total / (last - first + 1), floor))
        costs_B[b] = cost
    return costs_B
