"""Features of a block behind another: families of bigrams over what each of the two shows (A5), and costs (A3, A4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Floats32, Ints, Ints32
from xlate.compiled import inlined, loop
from xlate.kernels.counting.sides import PhrasePairs
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.memory.hashing import HashTable, find, pack

SIDE_BITS = 31


class BigramFamilies(NamedTuple):
    """A families of features over B blocks: family a sees b' before b as `left_AB[a, b']` and `right_AB[a, b]`.

    `bigrams` finds the row of a feature by its key, which tells the family by its number `tag_A[a]`, below 4.
    """

    tag_A: Ints
    left_AB: Ints32
    right_AB: Ints32
    bigrams: HashTable


@inlined
def feature_key(tag: int, left: int, right: int) -> np.uint64:
    """One key of a family's number below 4 and two numbers below 2^31."""
    both = (np.uint64(left) << np.uint64(SIDE_BITS)) | np.uint64(right)
    return (np.uint64(tag) << np.uint64(2 * SIDE_BITS)) | both


@loop
def bigram_row(families: BigramFamilies, family: int, predecessor: int, block: int) -> int:
    """The row of one family's feature of two blocks, -1 when it is none."""
    key = feature_key(families.tag_A[family], families.left_AB[family, predecessor], families.right_AB[family, block])
    return find(families.bigrams, key)


@loop
def put_bigrams(families: BigramFamilies, predecessor: int, block: int, ids_N: Ints32, n: int) -> int:
    """Writes the rows of all features of two blocks from place n on; returns the place behind them."""
    for family in range(len(families.tag_A)):
        row = bigram_row(families, family, predecessor, block)
        if row >= 0:
            ids_N[n] = row
            n += 1
    return n


@loop
def bigrams_weight(families: BigramFamilies, weights_F: Floats, predecessor: int, block: int) -> float:
    """The summed weights of all features of two blocks."""
    total = 0.0
    for family in range(len(families.tag_A)):
        row = bigram_row(families, family, predecessor, block)
        if row >= 0:
            total += weights_F[row]
    return total


NOBODY = -1
BEGIN_WORD = 1


class DistortionArrays(NamedTuple):
    """What the phrase-distortion model knows of B blocks and V source words; costs are negative natural logs.

    `first_B` and `last_B` are the first and last source word of a block. The cost of jump d on landing on word v is
    `inbound_VK[v, d + K // 2]`, on leaving it `outbound_VK[v, d + K // 2]`; longer jumps count as the longest.
    """

    direct_B: Floats32
    model1_B: Floats32
    first_B: Ints32
    last_B: Ints32
    inbound_VK: Floats32
    outbound_VK: Floats32


class BlockArrays(NamedTuple):
    """What the features of B blocks are computed from; costs are negative natural logs.

    Blocks of source phrase p, most frequent first, are `option_O[options_P1[p]:options_P1[p + 1]]`. Target words are
    numbered as the language model does. `bigrams` finds the ids of the sparse features of (b', b). The dense features
    are those of the orientation model where `oriented`, else those of the phrase-distortion model, for which alone
    `distortion` is filled; X optional ones of `more_BX` stand behind them. `dense` counts all.
    """

    unigram_B: Floats32
    orientation_B2: Floats32
    lexical_B: Floats32
    source_B: Ints32
    options_P1: Ints
    option_O: Ints32
    target_B: Ints32
    target_words_T: Ints32
    target_offsets_Q1: Ints
    bigrams: BigramFamilies
    distortion: DistortionArrays
    more_BX: Floats32
    oriented: bool
    dense: int


class Before(NamedTuple):
    """What stands before a candidate.

    Attributes:
        block: the predecessor, `NOBODY` at the beginning of the sentence.
        source_end: the source position behind it, 0 at the beginning.
        lm_state: the state of the language model behind the target words so far.
    """

    block: int
    source_end: int
    lm_state: int


class Placed(NamedTuple):
    """A block that begins at source position `start`, and its orientation towards the block before."""

    block: int
    start: int
    orientation: int


@loop
def block_costs(blocks: BlockArrays, lm: NgramArrays, before: Before, placed: Placed, out_D: Floats32) -> int:
    """Writes the costs of a block behind another; returns the language model's state behind it.

    A neutral block has no orientation cost.
    """
    block = placed.block
    first = blocks.target_offsets_Q1[blocks.target_B[block]]
    last = blocks.target_offsets_Q1[blocks.target_B[block] + 1]
    logprob, state = step(lm, before.lm_state, blocks.target_words_T[first])
    rest = 0.0
    for t in range(first + 1, last):
        more, state = step(lm, state, blocks.target_words_T[t])
        rest -= more
    out_D[2] = -logprob
    out_D[3] = rest
    if blocks.oriented:
        out_D[0] = blocks.unigram_B[block]
        out_D[1] = blocks.orientation_B2[block, placed.orientation] if placed.orientation < 2 else 0.0
        out_D[4] = blocks.lexical_B[block]
    else:
        out_D[0] = blocks.distortion.direct_B[block]
        out_D[1] = blocks.distortion.model1_B[block]
        out_D[4], out_D[5] = jump_costs(blocks.distortion, before.block, before.source_end, block, placed.start)
        out_D[6] = first - last
    own = blocks.dense - blocks.more_BX.shape[1]
    for x in range(blocks.more_BX.shape[1]):
        out_D[own + x] = blocks.more_BX[block, x]
    return state


@loop
def jump_costs(
    distortion: DistortionArrays, before: int, before_end: int, block: int, start: int
) -> tuple[float, float]:
    """Inbound and outbound cost of going on at source position `start`; blocks below 0 are unknown words."""
    reach = distortion.inbound_VK.shape[1] // 2
    column = min(max(start - before_end + 1, -reach), reach) + reach
    landed = distortion.first_B[block] if block >= 0 else 0
    left = distortion.last_B[before] if before >= 0 else (BEGIN_WORD if before_end == 0 else 0)
    return float(distortion.inbound_VK[landed, column]), float(distortion.outbound_VK[left, column])


@loop
def lm_states(lm: NgramArrays, begin: int, words_T: Ints32) -> Ints32:
    """The state before each word of a sentence and behind the last; shape (T + 1,)."""
    states = np.empty(len(words_T) + 1, dtype=np.int32)
    states[0] = begin
    for t in range(len(words_T)):
        _, states[t + 1] = step(lm, states[t], words_T[t])
    return states


@loop
def lexical_costs(pairs: PhrasePairs, table: HashTable, probability_K: Floats, floor: float) -> Floats32:
    """-ln p(S|T) of TZ07 section 3.1 for B blocks: each source word's mean p(s|t) over the t that support it.

    `table` finds the row of p(s|t) in `probability_K`; a mean below `floor`, or of no t, counts as `floor`.
    """
    costs_B = np.empty(len(pairs.source_B), dtype=np.float32)
    for b in range(len(costs_B)):
        cost, p, q = 0.0, pairs.source_B[b], pairs.target_B[b]
        for j in range(pairs.source_offsets_P1[p], pairs.source_offsets_P1[p + 1]):
            total, support = 0.0, 0
            for i in range(pairs.target_offsets_Q1[q], pairs.target_offsets_Q1[q + 1]):
                row = find(table, pack(pairs.source_T[j], pairs.target_U[i]))
                if row >= 0 and probability_K[row] > 0.0:
                    total += probability_K[row]
                    support += 1
            cost -= np.log(max(total / support, floor) if support > 0 else floor)
        costs_B[b] = cost
    return costs_B
