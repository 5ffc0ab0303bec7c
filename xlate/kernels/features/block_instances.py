"""Candidate arrays filled from orientation bigrams: true successors of a block, and their alternatives (A2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats32, Ints, Ints8, Ints32
from xlate.compiled import compiled, embedded, inlined, loop
from xlate.kernels.features.block_features import (
    NOBODY,
    Before,
    BlockArrays,
    Placed,
    block_costs,
    lm_states,
    put_bigrams,
)
from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.orientation import NEUTRAL


class Filled(NamedTuple):
    """Arrays of a plain ragged batch, longer than what is used."""

    candidate_offsets_I1: Ints
    dense_CD: Floats32
    gain_C: Floats32
    id_offsets_C1: Ints
    ids_N: Ints32


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

    A true successor that `shown_E` does not mark is no candidate, neither as true nor as an alternative of another.
    """

    group_G: Ints32
    group_offsets_G1: Ints
    successor_E: Ints32
    orientation_E: Ints8
    shown_E: Bools


class Place(NamedTuple):
    """Where writing stands: the next candidate of all, and how many the instance at hand has."""

    candidate: int
    taken: int


@compiled
def _room(instances: int, candidates: int, dense: int, families: int) -> Filled:
    return Filled(
        np.zeros(instances + 1, dtype=np.int64),
        np.empty((candidates, dense), dtype=np.float32),
        np.empty(candidates, dtype=np.float32),
        np.zeros(candidates + 1, dtype=np.int64),
        np.empty(candidates * families, dtype=np.int32),
    )


@inlined
def _is_new(oriented: bool, placed: Placed, taken_X: Ints, n: int) -> bool:
    """Whether a candidate is none of the first n of its instance; if so, takes it down as number n.

    With the features of the orientation model, a block is told apart from itself by its orientation; with those of the
    phrase-distortion model, by its position.
    """
    if oriented:
        key = placed.block * 3 + placed.orientation
    else:
        key = (placed.block << 16) | placed.start
    for x in range(n):
        if taken_X[x] == key:
            return False
    taken_X[n] = key
    return True


# Functions that take many arrays are put into their callers: handing the arrays over costs up to a tenth of the time.
@embedded
def _put(
    filled: Filled,
    place: Place,
    blocks: BlockArrays,
    lm: NgramArrays,
    before: Before,
    placed: Placed,
    gain: float,
) -> Place:
    """Writes a candidate; without a block before, it has no sparse features."""
    c = place.candidate
    block_costs(blocks, lm, before, placed, filled.dense_CD[c])
    filled.gain_C[c] = gain
    n = filled.id_offsets_C1[c]
    if before.block >= 0:
        n = put_bigrams(blocks.bigrams, before.block, placed.block, filled.ids_N, n)
    filled.id_offsets_C1[c + 1] = n
    return Place(c + 1, place.taken + 1)


@embedded
def _add_alternatives(
    filled: Filled,
    place: Place,
    taken_X: Ints,
    blocks: BlockArrays,
    lm: NgramArrays,
    before: Before,
    true: Placed,
    top: int,
) -> Place:
    """Adds the `top` most frequent blocks with the source phrase of a true candidate, placed like it."""
    phrase = blocks.source_B[true.block]
    first = blocks.options_P1[phrase]
    for o in range(first, min(first + top, blocks.options_P1[phrase + 1])):
        placed = Placed(int(blocks.option_O[o]), true.start, true.orientation)
        if _is_new(blocks.oriented, placed, taken_X, place.taken):
            place = _put(filled, place, blocks, lm, before, placed, -1.0)
    return place


@compiled
def target_matches(text: MatchedText, match: int) -> tuple[int, int]:
    """From where to where the (sorted) matches of a sentence begin at the same target word as `match`."""
    sentence, start = text.sentence_M[match], text.rows_M5[match, 3]
    first, last = match, match + 1
    while first > text.match_offsets_S1[sentence] and text.rows_M5[first - 1, 3] == start:
        first -= 1
    while last < text.match_offsets_S1[sentence + 1] and text.rows_M5[last, 3] == start:
        last += 1
    return first, last


@embedded
def _add_target_alternatives(
    filled: Filled,
    place: Place,
    taken_X: Ints,
    blocks: BlockArrays,
    lm: NgramArrays,
    before: Before,
    text: MatchedText,
    true: tuple[int, int],
) -> Place:
    """Adds the blocks of other matches of the same target words as a true successor, a match and its orientation."""
    first, last = target_matches(text, true[0])
    for m in range(first, last):
        if text.rows_M5[m, 4] == text.rows_M5[true[0], 4]:
            placed = _placed(text, m, true[1])
            if _is_new(blocks.oriented, placed, taken_X, place.taken):
                place = _put(filled, place, blocks, lm, before, placed, -1.0)
    return place


@inlined
def _placed(text: MatchedText, match: int, orientation: int) -> Placed:
    """The block of a match where it stands."""
    return Placed(int(text.rows_M5[match, 0]), int(text.rows_M5[match, 1]), int(orientation))


@compiled
def _most_candidates(
    groups: Ints, top: int, events: SuccessorArrays, text: MatchedText, by_target: bool
) -> tuple[int, int]:
    """How many candidates all instances have at most, and how many one of them."""
    most, widest = 0, 0
    for g in groups:
        low, high = events.group_offsets_G1[g], events.group_offsets_G1[g + 1]
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
    the blocks that match its target words elsewhere in the sentence. They take over its orientation. `begin` is the
    language model's state at the beginning of a sentence.
    """
    most, widest = _most_candidates(groups, top, events, text, by_target)
    filled = _room(len(groups), most, blocks.dense, len(blocks.bigrams.tag_A))
    sentence = -1
    states = np.zeros(1, dtype=np.int32)
    taken_X = np.empty(widest + 1, dtype=np.int64)
    place = Place(0, 0)
    for i in range(len(groups)):
        match = events.group_G[groups[i]]
        if text.sentence_M[match] != sentence:
            sentence = text.sentence_M[match]
            words = text.target_T[text.target_offsets_S1[sentence] : text.target_offsets_S1[sentence + 1]]
            states = lm_states(lm, begin, words)
        block, _, source_end, _, target_end = text.rows_M5[match]
        before = Before(int(block), int(source_end), int(states[target_end]))
        low, high = events.group_offsets_G1[groups[i]], events.group_offsets_G1[groups[i] + 1]
        place = Place(place.candidate, 0)
        for e in range(low, high):
            placed = _placed(text, events.successor_E[e], events.orientation_E[e])
            if _is_new(blocks.oriented, placed, taken_X, place.taken):
                if events.shown_E[e]:
                    place = _put(filled, place, blocks, lm, before, placed, 1.0)
                else:
                    place = Place(place.candidate, place.taken + 1)
        for e in range(low, high):
            if events.shown_E[e]:
                placed = _placed(text, events.successor_E[e], events.orientation_E[e])
                place = _add_alternatives(filled, place, taken_X, blocks, lm, before, placed, top)
        if by_target:
            for e in range(low, high):
                if events.shown_E[e]:
                    true = int(events.successor_E[e]), int(events.orientation_E[e])
                    place = _add_target_alternatives(filled, place, taken_X, blocks, lm, before, text, true)
        filled.candidate_offsets_I1[i + 1] = place.candidate
    return filled


@loop
def neutral_instances(
    blocks: BlockArrays, lm: NgramArrays, begin: int, top: int, matches: Ints, text: MatchedText
) -> Filled:
    """One instance for each of the `matches` without predecessor: itself, then its source alternatives."""
    filled = _room(len(matches), len(matches) * (1 + top), blocks.dense, 0)
    sentence = -1
    states = np.zeros(1, dtype=np.int32)
    taken_X = np.empty(2 + top, dtype=np.int64)
    place = Place(0, 0)
    for i in range(len(matches)):
        match = matches[i]
        if text.sentence_M[match] != sentence:
            sentence = text.sentence_M[match]
            words = text.target_T[text.target_offsets_S1[sentence] : text.target_offsets_S1[sentence + 1]]
            states = lm_states(lm, begin, words)
        true = _placed(text, match, NEUTRAL)
        before = Before(NOBODY, 0, int(states[text.rows_M5[match, 3]]))
        place = Place(place.candidate, 0)
        if _is_new(blocks.oriented, true, taken_X, 0):
            place = _put(filled, place, blocks, lm, before, true, 1.0)
        place = _add_alternatives(filled, place, taken_X, blocks, lm, before, true, top)
        filled.candidate_offsets_I1[i + 1] = place.candidate
    return filled
