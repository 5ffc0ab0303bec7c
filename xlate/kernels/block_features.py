"""The float costs of successor blocks, and candidate arrays filled from orientation bigrams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.bigram_features import BigramFamilies, put_bigrams
from xlate.kernels.hashing import HashTable, find, pack
from xlate.kernels.ngram import NgramArrays, step

FLOATS = 5
NO_SPARSE = -1


class BlockArrays(NamedTuple):
    """What the features of B blocks are computed from; costs are negative natural logs.

    Blocks of source phrase p, most frequent first, are `option_O[options_P1[p]:options_P1[p + 1]]`. Target words are
    numbered as the language model does. `bigrams` finds the ids of the sparse features of (b', b).
    """

    unigram_B: NDArray[np.float32]
    orientation_B2: NDArray[np.float32]
    lexical_B: NDArray[np.float32]
    source_B: NDArray[np.int32]
    options_P1: NDArray[np.int64]
    option_O: NDArray[np.int32]
    target_B: NDArray[np.int32]
    target_words_T: NDArray[np.int32]
    target_offsets_Q1: NDArray[np.int64]
    bigrams: BigramFamilies


@njit(cache=True, nogil=True)
def block_costs(
    blocks: BlockArrays, lm: NgramArrays, block: int, orientation: int, state: int, out_5: NDArray[np.float32]
) -> int:
    """Writes the five float costs (a)-(e) of a block after a language-model state; returns the state behind it.

    Orientation 2 (neutral) has no orientation cost.
    """
    first = blocks.target_offsets_Q1[blocks.target_B[block]]
    last = blocks.target_offsets_Q1[blocks.target_B[block] + 1]
    logprob, state = step(lm, state, blocks.target_words_T[first])
    rest = 0.0
    for t in range(first + 1, last):
        more, state = step(lm, state, blocks.target_words_T[t])
        rest -= more
    out_5[0] = blocks.unigram_B[block]
    out_5[1] = blocks.orientation_B2[block, orientation] if orientation < 2 else 0.0
    out_5[2] = -logprob
    out_5[3] = rest
    out_5[4] = blocks.lexical_B[block]
    return state


@njit(cache=True, nogil=True)
def lm_states(lm: NgramArrays, begin: int, words_T: NDArray[np.int32]) -> NDArray[np.int32]:
    """The state before each word of a sentence and behind the last; shape (T + 1,)."""
    states = np.empty(len(words_T) + 1, dtype=np.int32)
    states[0] = begin
    for t in range(len(words_T)):
        _, states[t + 1] = step(lm, states[t], words_T[t])
    return states


class Filled(NamedTuple):
    """Arrays of a plain ragged batch, longer than what is used."""

    candidate_offsets_I1: NDArray[np.int64]
    dense_CD: NDArray[np.float32]
    gain_C: NDArray[np.float32]
    id_offsets_C1: NDArray[np.int64]
    ids_N: NDArray[np.int32]


@njit(cache=True)
def _room(instances: int, candidates: int, families: int) -> Filled:
    return Filled(
        np.zeros(instances + 1, dtype=np.int64),
        np.empty((candidates, FLOATS), dtype=np.float32),
        np.empty(candidates, dtype=np.float32),
        np.zeros(candidates + 1, dtype=np.int64),
        np.empty(candidates * families, dtype=np.int32),
    )


@njit(cache=True)
def _is_new(block: int, orientation: int, taken_X: NDArray[np.int64], size: int) -> bool:
    key = block * 3 + orientation
    return not (taken_X[:size] == key).any()


@njit(cache=True)
def _put(
    filled: Filled,
    c: int,
    blocks: BlockArrays,
    lm: NgramArrays,
    predecessor: int,
    block: int,
    orientation: int,
    state: int,
    gain: float,
) -> None:
    """Writes candidate c; `predecessor` below 0 means that there are no sparse features."""
    block_costs(blocks, lm, block, orientation, state, filled.dense_CD[c])
    filled.gain_C[c] = gain
    n = filled.id_offsets_C1[c]
    if predecessor >= 0:
        n = put_bigrams(blocks.bigrams, predecessor, block, filled.ids_N, n)
    filled.id_offsets_C1[c + 1] = n


@njit(cache=True)
def _add_alternatives(
    filled: Filled,
    c: int,
    blocks: BlockArrays,
    lm: NgramArrays,
    predecessor: int,
    like: int,
    orientation: int,
    state: int,
    top: int,
    taken_X: NDArray[np.int64],
    taken: int,
) -> tuple[int, int]:
    """Adds the `top` most frequent blocks with the source phrase of `like` that are not taken yet."""
    phrase = blocks.source_B[like]
    first = blocks.options_P1[phrase]
    for o in range(first, min(first + top, blocks.options_P1[phrase + 1])):
        block = blocks.option_O[o]
        if _is_new(block, orientation, taken_X, taken):
            taken_X[taken] = block * 3 + orientation
            taken += 1
            _put(filled, c, blocks, lm, predecessor, block, orientation, state, -1.0)
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
    predecessor: int,
    orientation: int,
    state: int,
    rows_M5: NDArray[np.int32],
    first: int,
    last: int,
    target_end: int,
    taken_X: NDArray[np.int64],
    taken: int,
) -> tuple[int, int]:
    """Adds the blocks of the matches from `first` to `last` with the same target words that are not taken yet."""
    for m in range(first, last):
        block = rows_M5[m, 0]
        if rows_M5[m, 4] == target_end and _is_new(block, orientation, taken_X, taken):
            taken_X[taken] = block * 3 + orientation
            taken += 1
            _put(filled, c, blocks, lm, predecessor, block, orientation, state, -1.0)
            c += 1
    return c, taken


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
    filled = _room(len(groups), most, len(blocks.bigrams.tag_A))
    c, sentence = 0, -1
    states = np.zeros(1, dtype=np.int32)
    taken_X = np.empty(widest, dtype=np.int64)
    for i in range(len(groups)):
        g = groups[i]
        match = group_G[g]
        if sentence_M[match] != sentence:
            sentence = sentence_M[match]
            words = target_T[target_offsets_S1[sentence] : target_offsets_S1[sentence + 1]]
            states = lm_states(lm, begin, words)
        predecessor, state = rows_M5[match, 0], states[rows_M5[match, 4]]
        low, high = group_offsets_G1[g], group_offsets_G1[g + 1]
        taken = 0
        for e in range(low, high):
            block, orientation = rows_M5[successor_E[e], 0], int(orientation_E[e])
            if _is_new(block, orientation, taken_X, taken):
                taken_X[taken] = block * 3 + orientation
                taken += 1
                _put(filled, c, blocks, lm, predecessor, block, orientation, state, 1.0)
                c += 1
        for e in range(low, high):
            block, orientation = rows_M5[successor_E[e], 0], int(orientation_E[e])
            c, taken = _add_alternatives(
                filled, c, blocks, lm, predecessor, block, orientation, state, top, taken_X, taken
            )
        if by_target:
            for e in range(low, high):
                first, last = target_matches(rows_M5, match_offsets_S1, sentence, successor_E[e])
                end = rows_M5[successor_E[e], 4]
                c, taken = _add_target_alternatives(
                    filled, c, blocks, lm, predecessor, int(orientation_E[e]), state,
                    rows_M5, first, last, end, taken_X, taken,
                )  # fmt: skip
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
    filled = _room(len(matches), len(matches) * (1 + top), 0)
    c, sentence = 0, -1
    states = np.zeros(1, dtype=np.int32)
    taken_X = np.empty(1 + top, dtype=np.int64)
    for i in range(len(matches)):
        match = matches[i]
        if sentence_M[match] != sentence:
            sentence = sentence_M[match]
            words = target_T[target_offsets_S1[sentence] : target_offsets_S1[sentence + 1]]
            states = lm_states(lm, begin, words)
        block, state = rows_M5[match, 0], states[rows_M5[match, 3]]
        taken_X[0] = block * 3 + 2
        _put(filled, c, blocks, lm, NO_SPARSE, block, 2, state, 1.0)
        c, _ = _add_alternatives(filled, c + 1, blocks, lm, NO_SPARSE, block, 2, state, top, taken_X, 1)
        filled.candidate_offsets_I1[i + 1] = c
    return filled


@njit(cache=True, nogil=True)
def lexical_costs(
    source_B: NDArray[np.int32],
    target_B: NDArray[np.int32],
    source_words_T: NDArray[np.int32],
    source_offsets_P1: NDArray[np.int64],
    target_words_T: NDArray[np.int32],
    target_offsets_Q1: NDArray[np.int64],
    pairs: HashTable,
    probability_K: NDArray[np.float64],
    floor: float,
) -> NDArray[np.float32]:
    """-ln p(S|T) of TZ07 section 3.1 for B blocks: each source word's mean p(s|t) over the t that support it."""
    costs_B = np.empty(len(source_B), dtype=np.float32)
    for b in range(len(source_B)):
        cost = 0.0
        for j in range(source_offsets_P1[source_B[b]], source_offsets_P1[source_B[b] + 1]):
            total, support = 0.0, 0
            for i in range(target_offsets_Q1[target_B[b]], target_offsets_Q1[target_B[b] + 1]):
                row = find(pairs, pack(source_words_T[j], target_words_T[i]))
                if row >= 0 and probability_K[row] > 0.0:
                    total += probability_K[row]
                    support += 1
            cost -= np.log(max(total / support, floor) if support > 0 else floor)
        costs_B[b] = cost
    return costs_B
