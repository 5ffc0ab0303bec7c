"""The edits of TER: the fewest insertions, deletions, substitutions and shifts of word groups that a search finds.

Finding the fewest shifts takes too long (Snover et al. 2006, 2.2), so the figure depends on the search. This is the one
of sacrebleu, with its limits, order and ties: as long as a shift leaves fewer edits, the best one is made. An edit
distance is that of a band around the diagonal. Legend: N words of a hypothesis, M of a reference.
"""

from __future__ import annotations

import math

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.compiled import inner, loop
from xlate.kernels.memory import bounds, places, row_values

_SHIFTED_WORDS, _SHIFT_DISTANCE, _SHIFTS_TRIED = 10, 50, 1000
_BAND = 25
# More edits than any two sentences need.
_FAR = 1 << 29


@loop
def edit_statistics(
    ids_T: Ints32,
    offsets_C1: Ints,
    candidate_offsets_I1: Ints,
    reference_ids_U: Ints32,
    reference_offsets_R1: Ints,
    reference_rows_I1: Ints,
) -> Floats:
    """The fewest edits of C hypotheses to one of their references, and the mean reference length, (C, 2).

    Args:
        ids_T, offsets_C1: words of the hypotheses.
        candidate_offsets_I1: hypotheses of instance i.
        reference_ids_U, reference_offsets_R1: words of the references.
        reference_rows_I1: references of instance i, at least one.
    """
    statistics_C2 = np.empty((len(offsets_C1) - 1, 2))
    for i in range(len(candidate_offsets_I1) - 1):
        first, last = bounds(reference_rows_I1, i)
        mean = (reference_offsets_R1[last] - reference_offsets_R1[first]) / (last - first)
        for c in places(candidate_offsets_I1, i):
            words_N = row_values(ids_T, offsets_C1, c)
            fewest = _FAR
            for row in range(first, last):
                reference_M = row_values(reference_ids_U, reference_offsets_R1, row)
                fewest = min(fewest, _edits(words_N, reference_M))
            statistics_C2[c, 0], statistics_C2[c, 1] = fewest, mean
    return statistics_C2


@loop
def _edits(words_N: Ints32, reference_M: Ints32) -> int:
    """Shifts and the edit distance that they leave."""
    n, m = len(words_N), len(reference_M)
    cost_NM = np.full((n + 1, m + 1), _FAR, np.int32)
    for j in range(m + 1):
        cost_NM[0, j] = j
    shifts = tried = 0
    while True:
        distance = _distance(words_N, reference_M, 0, _FAR, cost_NM)
        saved, tried, shifted_N = _best_shift(words_N, reference_M, cost_NM, tried)
        if saved == 0:
            return shifts + distance
        words_N = shifted_N
        shifts += 1


@inner
def _distance(words_N: Ints32, reference_M: Ints32, row: int, most: int, cost_NM: Ints32) -> int:
    """The edit distance, or a large number if it is above `most`; the rows of `cost_NM` up to `row` are known.

    Cells outside the band stay as they are. For sentences of very different lengths the band is wider.
    """
    n, m = len(words_N), len(reference_M)
    slope = m / max(1, n)
    width = _BAND if slope / 2 <= _BAND else math.ceil(slope / 2 + _BAND)
    for i in range(row + 1, n + 1):
        diagonal = math.floor(i * slope)
        last = m + 1 if i == n else min(m + 1, diagonal + width)
        least = _FAR
        for j in range(max(0, diagonal - width), last):
            cost = cost_NM[i - 1, j] + 1
            if j > 0:
                replaced = cost_NM[i - 1, j - 1] + (words_N[i - 1] != reference_M[j - 1])
                cost = min(cost, replaced, cost_NM[i, j - 1] + 1)
            cost_NM[i, j] = cost
            least = min(least, cost + abs((m - j) - (n - i)))
        if least > most:
            return _FAR
    return int(cost_NM[n, m])


@inner
def _best_shift(words_N: Ints32, reference_M: Ints32, cost_NM: Ints32, tried: int) -> tuple[int, int, Ints32]:
    """The edits that the best shift saves, how many shifts have been tried, and the words after it.

    Nothing is saved once too many have been tried. Of equally good shifts it is the one of the most words, then the
    first, then the one with the first target. Only words that are also in the reference are shifted, where neither they
    nor the words there are right.
    """
    n, m, distance = len(words_N), len(reference_M), cost_NM[-1, -1]
    before_M1, wrong_N, wrong_M = _aligned(words_N, reference_M, cost_NM)
    best, best_N, shifted_NM = (0, n), words_N, cost_NM.copy()
    for start in range(n):
        for place in range(max(0, start - _SHIFT_DISTANCE), min(m, start + _SHIFT_DISTANCE + 1)):
            wrong_here = wrong_there = False
            for end, j in zip(range(start + 1, min(n, start + _SHIFTED_WORDS) + 1), range(place, m)):
                if words_N[end - 1] != reference_M[j]:
                    break
                wrong_here |= wrong_N[end - 1]
                wrong_there |= wrong_M[j]
                if not (wrong_here and wrong_there) or start < before_M1[place + 1] <= end:
                    continue
                before = -1
                for target in before_M1[place : j + 2]:
                    if target == before:
                        continue
                    before = target
                    tried += 1
                    # Words a to b change places with those from b to c; a target inside a shift counts from its end.
                    a, b, c = start, end, target if target > end else target + end - start
                    if target < start:
                        a, b, c = target, start, end
                    shifted_N = np.concatenate((words_N[:a], words_N[b:c], words_N[a:b], words_N[c:]))
                    shifted_NM[a] = cost_NM[a]
                    saved = distance - _distance(shifted_N, reference_M, a, distance - max(1, best[0]), shifted_NM)
                    # Shifts of as many words come in the order of their start and target.
                    if (saved, end - start) > best:
                        best, best_N = (saved, end - start), shifted_N
                if tried >= _SHIFTS_TRIED:
                    return 0, tried, words_N
    return best[0], tried, best_N


@inner
def _aligned(words_N: Ints32, reference_M: Ints32, cost_NM: Ints32) -> tuple[Ints, Bools, Bools]:
    """How many words of the hypothesis belong to the first 0…M of the reference, and the wrong words of both."""
    n, m = len(words_N), len(reference_M)
    before_M1 = np.zeros(m + 1, np.int64)
    wrong_N, wrong_M = np.ones(n, np.bool_), np.ones(m, np.bool_)
    i, j = n, m
    while i > 0 or j > 0:
        differ = i == 0 or j == 0 or words_N[i - 1] != reference_M[j - 1]
        if i > 0 and j > 0 and cost_NM[i, j] == cost_NM[i - 1, j - 1] + differ:
            wrong_N[i - 1] = wrong_M[j - 1] = differ
            before_M1[j] = i
            i, j = i - 1, j - 1
        elif i > 0 and cost_NM[i, j] == cost_NM[i - 1, j] + 1:
            i -= 1
        else:
            before_M1[j] = i
            j -= 1
    return before_M1, wrong_N, wrong_M
