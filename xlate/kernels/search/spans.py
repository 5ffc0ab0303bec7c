"""Source spans of a sentence: their phrases, the language model costs of their options, estimates of their scores.

A span from `start` of `length` words (1 to `longest`) is cell start · longest + length - 1.
"""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.counting.matching import PhraseFinder, row_of
from xlate.kernels.learning.slopes import log_sum_exp
from xlate.kernels.lm import NgramArrays, step
from xlate.kernels.memory import find, pack


@loop
def span_rows(finder: PhraseFinder, ids_n: Ints32, longest: int) -> Ints32:
    """The source phrase of each cell (start · longest + length - 1) of a sentence, -1 where there is none.

    Word number 0 stands for unknown words and is in no phrase.
    """
    row_C = np.full(len(ids_n) * longest, -1, dtype=np.int32)
    for start in range(len(ids_n)):
        node = 0
        for end in range(start, min(len(ids_n), start + longest)):
            node = find(finder.table, pack(node, ids_n[end])) if ids_n[end] != 0 else -1
            if node < 0:
                break
            row_C[start * longest + end - start] = finder.row_N[node]
    return row_C


@loop
def find_rows(finder: PhraseFinder, ids_T: Ints32, offsets_S1: Ints) -> Ints:
    """The row of each of S phrases among those of the finder, -1 where there is none; shape (S,)."""
    row_S = np.empty(len(offsets_S1) - 1, dtype=np.int64)
    for s in range(len(row_S)):
        row_S[s] = row_of(finder, ids_T, offsets_S1[s], offsets_S1[s + 1])
    return row_S


@loop
def phrase_costs(
    lm: NgramArrays, words_W: Ints32, offsets_O1: Ints, option: int, lm_state: int
) -> tuple[float, float, int]:
    """Language model costs (natural logs) of the first word and of the rest of a phrase, and the state behind it."""
    place = offsets_O1[option]
    logprob, lm_state = step(lm, lm_state, words_W[place])
    rest = 0.0
    for at in range(place + 1, offsets_O1[option + 1]):
        more, lm_state = step(lm, lm_state, words_W[at])
        rest -= more
    return -logprob, rest, lm_state


@loop
def span_futures(n: int, longest: int, cell_offsets_C1: Ints, alone_O: Floats, local: bool) -> Floats:
    """The best sum of `alone_O` over any cutting of each span into cells, shape (n + 1, n + 1), 0 for empty spans.

    With `local` the options of a cell count as the logs of their shares in it.
    """
    best_nn = np.full((n + 1, n + 1), -np.inf)
    for length in range(n + 1):
        for start in range(n - length + 1):
            end = start + length
            best = 0.0 if length == 0 else -np.inf
            if 0 < length <= longest:
                cell = start * longest + length - 1
                first, last = cell_offsets_C1[cell], cell_offsets_C1[cell + 1]
                if first < last:
                    best = alone_O[first:last].max() - (log_sum_exp(alone_O, first, last) if local else 0.0)
            for middle in range(start + 1, end):
                best = max(best, best_nn[start, middle] + best_nn[middle, end])
            best_nn[start, end] = best
    return best_nn
