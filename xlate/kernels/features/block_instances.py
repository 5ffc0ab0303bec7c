"""Candidate arrays filled from orientation bigrams: true successors of a block, and their alternatives (A2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.features.bigram_features import put_bigrams
from xlate.kernels.features.block_features import NOBODY, ORIENTATION_FLOATS, BlockArrays, block_costs, lm_states
from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.orientation import NEUTRAL


class Filled(NamedTuple):
    """Arrays of a plain ragged batch, longer than what is used."""

    candidate_offsets_I1: NDArray[np.int64]
    dense_CD: NDArray[np.float32]
    gain_C: NDArray[np.float32]
    id_offsets_C1: NDArray[np.int64]
    ids_N: NDArray[np.int32]


@njit(cache=True)
def _room(instances: int, candidates: int, floats: int, families: int) -> Filled:
    return Filled(
        np.zeros(instances + 1, dtype=np.int64),
        np.empty((candidates, floats), dtype=np.float32),
        np.empty(candidates, dtype=np.float32),
        np.zeros(candidates + 1, dtype=np.int64),
        np.empty(candidates * families, dtype=np.int32),
    )


class Before(NamedTuple):
    """What stands before a candidate: block and its source end (`NOBODY` and 0: nothing), language-model state."""

    block: int
    source_end: int
    lm_state: int


@njit(cache=True)
def _is_new(blocks: BlockArrays, block: int, start: int, orientation: int, taken_X: NDArray[np.int64], n: int) -> bool:
    """Whether a candidate is none of the first n; if so, takes it down as number n.

    A block is told apart from itself by its orientation, or by its position under the phrase-distortion model.
    """
    key = block * 3 + orientation if blocks.floats == ORIENTATION_FLOATS else (block << 16) | start
    for x in range(n):
        if taken_X[x] == key:
            return False
    taken_X[n] = key
    return True


@njit(cache=True)
def _put(
    filled: Filled,
    c: int,
    blocks: BlockArrays,
    lm: NgramArrays,
    before: Before,
    block: int,
    start: int,
    orientation: int,
    gain: float,
) -> None:
    """Writes candidate c; without a block before there are no sparse features."""
    floats_D = filled.dense_CD[c]
    block_costs(blocks, lm, before.block, before.source_end, block, start, orientation, before.lm_state, floats_D)
    filled.gain_C[c] = gain
    n = filled.id_offsets_C1[c]
    if before.block >= 0:
        n = put_bigrams(blocks.bigrams, before.block, block, filled.ids_N, n)
    filled.id_offsets_C1[c + 1] = n


@njit(cache=True)
def _add_alternatives(
    filled: Filled,
    c: int,
    blocks: BlockArrays,
    lm: NgramArrays,
    before: Before,
    like: int,
    start: int,
    orientation: int,
    top: int,
    taken_X: NDArray[np.int64],
    taken: int,
) -> tuple[int, int]:
    """Adds the `top` most frequent blocks with the source phrase of `like` that are not taken yet."""
    phrase = blocks.source_B[like]
    first = blocks.options_P1[phrase]
    for o in range(first, min(first + top, blocks.options_P1[phrase + 1])):
        block = blocks.option_O[o]
        if _is_new(blocks, block, start, orientation, taken_X, taken):
            taken += 1
            _put(filled, c, blocks, lm, before, block, start, orientation, -1.0)
            c += 1
    return c, taken


@njit(cache=True)
def target_matches(
    rows_M5: NDArray[np.int32], offsets_S1: NDArray[np.int64], sentence: int, match: int
) -> tuple[int, int]:
    """From where to where the (sorted) matches of a sentence begin at the same target word as `match`."""
    start = rows_M5[match, 3]
    first, last = match, match + 1
    while first > offsets_S1[sentence] and rows_M5[first - 1, 3] == start:
        first -= 1
    while last < offsets_S1[sentence + 1] and rows_M5[last, 3] == start:
        last += 1
    return first, last


@njit(cache=True)
def _add_target_alternatives(
    filled: Filled,
    c: int,
    blocks: BlockArrays,
    lm: NgramArrays,
    before: Before,
    orientation: int,
    rows_M5: NDArray[np.int32],
    first: int,
    last: int,
    target_end: int,
    taken_X: NDArray[np.int64],
    taken: int,
) -> tuple[int, int]:
    """Adds the blocks of the matches from `first` to `last` with the same target words that are not taken yet."""
    for m in range(first, last):
        block, start = rows_M5[m, 0], rows_M5[m, 1]
        if rows_M5[m, 4] == target_end and _is_new(blocks, block, start, orientation, taken_X, taken):
            taken += 1
            _put(filled, c, blocks, lm, before, block, start, orientation, -1.0)
            c += 1
    return c, taken


@njit(cache=True, inline="always")
def _event(rows_M5: NDArray[np.int32], match: int, orientation: int) -> tuple[int, int, int]:
    """Block, source start and orientation of a true successor."""
    return int(rows_M5[match, 0]), int(rows_M5[match, 1]), int(orientation)


@njit(cache=True, nogil=True)
def linked_instances(
    blocks: BlockArrays,
    lm: NgramArrays,
    begin: int,
    top: int,
    groups: NDArray[np.int64],
    group_G: NDArray[np.int32],
    group_offsets_G1: NDArray[np.int64],
    successor_E: NDArray[np.int32],
    orientation_E: NDArray[np.int8],
    rows_M5: NDArray[np.int32],
    sentence_M: NDArray[np.int32],
    match_offsets_S1: NDArray[np.int64],
    by_target: bool,
    target_T: NDArray[np.int32],
    target_offsets_S1: NDArray[np.int64],
) -> Filled:
    """One instance for each of the `groups`: true successors of a match first, then their alternatives.

    Those are the `top` most frequent blocks with the source phrase of a true successor, and with `by_target` also the
    blocks that match its target words elsewhere in the sentence; an alternative has the orientation of the successor
    that it is one to.
    """
    most, widest = 0, 0
    for g in groups:
        size = (group_offsets_G1[g + 1] - group_offsets_G1[g]) * (1 + top)
        if by_target:
            for e in range(group_offsets_G1[g], group_offsets_G1[g + 1]):
                match = successor_E[e]
                first, last = target_matches(rows_M5, match_offsets_S1, sentence_M[match], match)
                size += last - first
        most += size
        widest = max(widest, size)
    filled = _room(len(groups), most, blocks.floats, len(blocks.bigrams.tag_A))
    c, sentence = 0, -1
    states = np.zeros(1, dtype=np.int32)
    taken_X = np.empty(widest + 1, dtype=np.int64)
    for i in range(len(groups)):
        g = groups[i]
        match = group_G[g]
        if sentence_M[match] != sentence:
            sentence = sentence_M[match]
            words = target_T[target_offsets_S1[sentence] : target_offsets_S1[sentence + 1]]
            states = lm_states(lm, begin, words)
        before = Before(rows_M5[match, 0], rows_M5[match, 2], states[rows_M5[match, 4]])
        low, high = group_offsets_G1[g], group_offsets_G1[g + 1]
        taken = 0
        for e in range(low, high):
            block, start, orientation = _event(rows_M5, successor_E[e], orientation_E[e])
            if _is_new(blocks, block, start, orientation, taken_X, taken):
                taken += 1
                _put(filled, c, blocks, lm, before, block, start, orientation, 1.0)
                c += 1
        for e in range(low, high):
            block, start, orientation = _event(rows_M5, successor_E[e], orientation_E[e])
            c, taken = _add_alternatives(filled, c, blocks, lm, before, block, start, orientation, top, taken_X, taken)
        if by_target:
            for e in range(low, high):
                first, last = target_matches(rows_M5, match_offsets_S1, sentence, successor_E[e])
                end = rows_M5[successor_E[e], 4]
                c, taken = _add_target_alternatives(
                    filled, c, blocks, lm, before, int(orientation_E[e]), rows_M5, first, last, end, taken_X, taken
                )
        filled.candidate_offsets_I1[i + 1] = c
    return filled


@njit(cache=True, nogil=True)
def neutral_instances(
    blocks: BlockArrays,
    lm: NgramArrays,
    begin: int,
    top: int,
    matches: NDArray[np.int64],
    rows_M5: NDArray[np.int32],
    sentence_M: NDArray[np.int32],
    target_T: NDArray[np.int32],
    target_offsets_S1: NDArray[np.int64],
) -> Filled:
    """One instance for each of the `matches` without predecessor: itself, then its source alternatives."""
    filled = _room(len(matches), len(matches) * (1 + top), blocks.floats, 0)
    c, sentence = 0, -1
    states = np.zeros(1, dtype=np.int32)
    taken_X = np.empty(2 + top, dtype=np.int64)
    for i in range(len(matches)):
        match = matches[i]
        if sentence_M[match] != sentence:
            sentence = sentence_M[match]
            words = target_T[target_offsets_S1[sentence] : target_offsets_S1[sentence + 1]]
            states = lm_states(lm, begin, words)
        block, start = rows_M5[match, 0], rows_M5[match, 1]
        before = Before(NOBODY, 0, states[rows_M5[match, 3]])
        _is_new(blocks, block, start, NEUTRAL, taken_X, 0)
        _put(filled, c, blocks, lm, before, block, start, NEUTRAL, 1.0)
        c, _ = _add_alternatives(filled, c + 1, blocks, lm, before, block, start, NEUTRAL, top, taken_X, 1)
        filled.candidate_offsets_I1[i + 1] = c
    return filled
