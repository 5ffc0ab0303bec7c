"""Features of a block after another: families of bigrams over properties of the two blocks (A5), and costs (A3, A4).

From orientation bigrams, these fill candidate arrays: true successors of a block, and their alternatives (A2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Floats32, Ints, Ints8, Ints32
from xlate.compiled import embedded, inlined, inner, loop
from xlate.kernels.lm import NgramArrays, step
from xlate.kernels.memory import HashTable, bounds, find, pack, places, row_values
from xlate.kernels.pairs import NEUTRAL, PhrasePairs

SIDE_BITS = 31


class BigramFamilies(NamedTuple):
    """A families of features over B blocks: family a sees `left_AB[a, b']` and `right_AB[a, b]` when b' precedes b.

    `bigrams` finds the row of a feature by its key, which includes the family's number `tag_A[a]`, below 4.
    """

    tag_A: Ints
    left_AB: Ints32
    right_AB: Ints32
    bigrams: HashTable


@inlined
def feature_key(tag: int, left: int, right: int) -> np.uint64:
    """One key made of a family's number below 4 and two numbers below 2^31."""
    both = (np.uint64(left) << np.uint64(SIDE_BITS)) | np.uint64(right)
    return (np.uint64(tag) << np.uint64(2 * SIDE_BITS)) | both


@inner
def bigram_row(families: BigramFamilies, family: int, predecessor: int, block: int) -> int:
    """The row of one family's feature of two blocks, -1 when there is none."""
    key = feature_key(families.tag_A[family], families.left_AB[family, predecessor], families.right_AB[family, block])
    return find(families.bigrams, key)


@loop
def put_bigrams(families: BigramFamilies, predecessor: int, block: int, ids_N: Ints32, n: int) -> int:
    """Writes the rows of all features of two blocks from place n on; returns the next free place."""
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

    Blocks of source phrase p, most frequent first, are `option_O[options_P1[p]:options_P1[p + 1]]`. Target words have
    the language model's numbers. `bigrams` finds the ids of the sparse features of (b', b). Dense features are those of
    the orientation model if `oriented`, otherwise those of the phrase-distortion model, the only one for which
    `distortion` is filled; X optional ones of `more_BX` follow. `dense` counts them all.
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
    """What comes before a candidate.

    Attributes:
        block: the predecessor, `NOBODY` at the beginning of the sentence.
        source_end: the source position after it, 0 at the beginning.
        lm_state: the language model's state after the target words so far.
    """

    block: int
    source_end: int
    lm_state: int


class Placed(NamedTuple):
    """A block that begins at source position `start`, and its orientation towards the previous block."""

    block: int
    start: int
    orientation: int


@loop
def block_costs(blocks: BlockArrays, lm: NgramArrays, before: Before, placed: Placed, out_D: Floats32) -> int:
    """Writes the costs of a block after another; returns the language model's state after it.

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


@inner
def jump_costs(
    distortion: DistortionArrays, before: int, before_end: int, block: int, start: int
) -> tuple[float, float]:
    """Inbound and outbound cost of continuing at source position `start`; blocks below 0 are unknown words."""
    reach = distortion.inbound_VK.shape[1] // 2
    column = min(max(start - before_end + 1, -reach), reach) + reach
    landed = distortion.first_B[block] if block >= 0 else 0
    left = distortion.last_B[before] if before >= 0 else (BEGIN_WORD if before_end == 0 else 0)
    return float(distortion.inbound_VK[landed, column]), float(distortion.outbound_VK[left, column])


@loop
def lexical_costs(pairs: PhrasePairs, table: HashTable, probability_K: Floats, floor: float) -> Floats32:
    """-ln p(S|T) of TZ07 section 3.1 for B blocks: each source word's mean p(s|t) over the t that support it.

    `table` finds the row of p(s|t) in `probability_K`; a mean below `floor`, or of no t, counts as `floor`.
    """
    costs_B = np.empty(len(pairs.source_B), np.float32)
    for b in range(len(costs_B)):
        cost, p, q = 0.0, pairs.source_B[b], pairs.target_B[b]
        for j in places(pairs.source_offsets_P1, p):
            total, support = 0.0, 0
            for i in places(pairs.target_offsets_Q1, q):
                row = find(table, pack(pairs.source_T[j], pairs.target_U[i]))
                if row >= 0 and probability_K[row] > 0.0:
                    total += probability_K[row]
                    support += 1
            cost -= np.log(max(total / support, floor) if support > 0 else floor)
        costs_B[b] = cost
    return costs_B


class Filled(NamedTuple):
    """The arrays of a plain ragged batch, longer than the part in use.

    `taken_X` are the keys of the current instance's candidates; `sizes_2` counts all candidates and these.
    """

    candidate_offsets_I1: Ints
    dense_CD: Floats32
    gain_C: Floats32
    id_offsets_C1: Ints
    ids_N: Ints32
    taken_X: Ints
    sizes_2: Ints


class MatchedText(NamedTuple):
    """M matches of blocks in S sentence pairs, in the order of `phrases.matching.Matches`, and the target words.

    Attributes:
        rows_M5: block, source start, source end, target start and target end of each match.
        sentence_M: its sentence; match_offsets_S1: the matches of each sentence.
        target_T, target_offsets_S1: the target words in the numbers of the language model.
    """

    rows_M5: Ints32
    sentence_M: Ints32
    match_offsets_S1: Ints
    target_T: Ints32
    target_offsets_S1: Ints


class SuccessorArrays(NamedTuple):
    """True successors and their orientations, grouped by predecessor: the arrays of `phrases.events.Events`.

    A true successor not marked in `shown_E` is no candidate, neither as a true one nor as an alternative of another.
    """

    group_G: Ints32
    group_offsets_G1: Ints
    successor_E: Ints32
    orientation_E: Ints8
    shown_E: Bools


@loop
def _room(instances: int, candidates: int, blocks: BlockArrays, families: int, widest: int) -> Filled:
    return Filled(
        np.zeros(instances + 1, np.int64),
        np.empty((candidates, blocks.dense), np.float32),
        np.empty(candidates, np.float32),
        np.zeros(candidates + 1, np.int64),
        np.empty(candidates * families, np.int32),
        np.empty(widest, np.int64),
        np.zeros(2, np.int64),
    )


@inner
def _lm_states(lm: NgramArrays, begin: int, text: MatchedText, sentence: int) -> Ints32:
    """The state before each target word of a sentence and after the last; shape (T + 1,)."""
    words_T = row_values(text.target_T, text.target_offsets_S1, sentence)
    states = np.empty(len(words_T) + 1, np.int32)
    states[0] = begin
    for t in range(len(words_T)):
        _, states[t + 1] = step(lm, states[t], words_T[t])
    return states


# Functions that take many arrays are inlined: passing the arrays costs up to a tenth of the time.
@embedded
def _add(
    filled: Filled, blocks: BlockArrays, lm: NgramArrays, before: Before, placed: Placed, gain: float, shown: bool
) -> None:
    """Writes a candidate unless its instance has it; without a previous block, it has no sparse features.

    With the features of the orientation model, occurrences of the same block differ by orientation; with those of the
    phrase-distortion model, by position. A candidate that is not `shown` is only remembered, so that it is not added
    later.
    """
    key = placed.block * 3 + placed.orientation if blocks.oriented else (placed.block << 16) | placed.start
    taken_X, sizes_2 = filled.taken_X, filled.sizes_2
    for x in range(sizes_2[1]):
        if taken_X[x] == key:
            return
    taken_X[sizes_2[1]] = key
    sizes_2[1] += 1
    if not shown:
        return
    c = sizes_2[0]
    sizes_2[0] += 1
    block_costs(blocks, lm, before, placed, filled.dense_CD[c])
    filled.gain_C[c] = gain
    n = filled.id_offsets_C1[c]
    if before.block >= 0:
        n = put_bigrams(blocks.bigrams, before.block, placed.block, filled.ids_N, n)
    filled.id_offsets_C1[c + 1] = n


@embedded
def _add_alternatives(
    filled: Filled, blocks: BlockArrays, lm: NgramArrays, before: Before, true: Placed, top: int
) -> None:
    """Adds the `top` most frequent blocks with a true candidate's source phrase, placed like it."""
    phrase = blocks.source_B[true.block]
    first = blocks.options_P1[phrase]
    for o in range(first, min(first + top, blocks.options_P1[phrase + 1])):
        placed = Placed(int(blocks.option_O[o]), true.start, true.orientation)
        _add(filled, blocks, lm, before, placed, -1.0, True)


@inner
def target_matches(text: MatchedText, match: int) -> tuple[int, int]:
    """The range of a sentence's (sorted) matches that begin at the same target word as `match`."""
    sentence, start = text.sentence_M[match], text.rows_M5[match, 3]
    first, last = match, match + 1
    while first > text.match_offsets_S1[sentence] and text.rows_M5[first - 1, 3] == start:
        first -= 1
    while last < text.match_offsets_S1[sentence + 1] and text.rows_M5[last, 3] == start:
        last += 1
    return first, last


@embedded
def _add_target_alternatives(
    filled: Filled, blocks: BlockArrays, lm: NgramArrays, before: Before, text: MatchedText, true: tuple[int, int]
) -> None:
    """Adds the blocks of other matches of the same target words as a true successor, a match and its orientation."""
    first, last = target_matches(text, true[0])
    for m in range(first, last):
        if text.rows_M5[m, 4] == text.rows_M5[true[0], 4]:
            _add(filled, blocks, lm, before, _placed(text, m, true[1]), -1.0, True)


@inlined
def _placed(text: MatchedText, match: int, orientation: int) -> Placed:
    """The block of a match, in its place."""
    return Placed(int(text.rows_M5[match, 0]), int(text.rows_M5[match, 1]), int(orientation))


@inner
def _most_candidates(
    groups: Ints, top: int, events: SuccessorArrays, text: MatchedText, by_target: bool
) -> tuple[int, int]:
    """Upper limits for the candidates of all instances together, and of any one of them."""
    most, widest = 0, 0
    for g in groups:
        low, high = bounds(events.group_offsets_G1, g)
        size = (high - low) * (1 + top)
        if by_target:
            for e in range(low, high):
                first, last = target_matches(text, events.successor_E[e])
                size += last - first
        most += size
        widest = max(widest, size)
    return most, widest


@loop
def linked_instances(
    blocks: BlockArrays,
    lm: NgramArrays,
    begin: int,
    top: int,
    groups: Ints,
    events: SuccessorArrays,
    text: MatchedText,
    by_target: bool,
) -> Filled:
    """One instance for each of the `groups`: the true successors of a match first, then their alternatives.

    Alternatives of a true successor are the `top` most frequent blocks with its source phrase and, with `by_target`,
    the blocks that match its target words elsewhere in the sentence. They inherit its orientation. `begin` is the
    language model's state at the beginning of a sentence.
    """
    most, widest = _most_candidates(groups, top, events, text, by_target)
    filled = _room(len(groups), most, blocks, len(blocks.bigrams.tag_A), widest + 1)
    sentence, states = -1, np.zeros(1, np.int32)
    for i in range(len(groups)):
        match = events.group_G[groups[i]]
        if text.sentence_M[match] != sentence:
            sentence = text.sentence_M[match]
            states = _lm_states(lm, begin, text, sentence)
        block, _, source_end, _, target_end = text.rows_M5[match]
        before = Before(int(block), int(source_end), int(states[target_end]))
        low, high = bounds(events.group_offsets_G1, groups[i])
        filled.sizes_2[1] = 0
        for e in range(low, high):
            placed = _placed(text, events.successor_E[e], events.orientation_E[e])
            _add(filled, blocks, lm, before, placed, 1.0, bool(events.shown_E[e]))
        for e in range(low, high):
            if events.shown_E[e]:
                placed = _placed(text, events.successor_E[e], events.orientation_E[e])
                _add_alternatives(filled, blocks, lm, before, placed, top)
        if by_target:
            for e in range(low, high):
                if events.shown_E[e]:
                    true = int(events.successor_E[e]), int(events.orientation_E[e])
                    _add_target_alternatives(filled, blocks, lm, before, text, true)
        filled.candidate_offsets_I1[i + 1] = filled.sizes_2[0]
    return filled


@loop
def neutral_instances(
    blocks: BlockArrays, lm: NgramArrays, begin: int, top: int, matches: Ints, text: MatchedText
) -> Filled:
    """One instance for each of the `matches` without a predecessor: the match itself, then its source alternatives."""
    filled = _room(len(matches), len(matches) * (1 + top), blocks, 0, 2 + top)
    sentence, states = -1, np.zeros(1, np.int32)
    for i in range(len(matches)):
        match = matches[i]
        if text.sentence_M[match] != sentence:
            sentence = text.sentence_M[match]
            states = _lm_states(lm, begin, text, sentence)
        true = _placed(text, match, NEUTRAL)
        before = Before(NOBODY, 0, int(states[text.rows_M5[match, 3]]))
        filled.sizes_2[1] = 0
        _add(filled, blocks, lm, before, true, 1.0, True)
        _add_alternatives(filled, blocks, lm, before, true, top)
        filled.candidate_offsets_I1[i + 1] = filled.sizes_2[0]
    return filled
