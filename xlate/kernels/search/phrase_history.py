"""Features with history in the phrase search: what they keep of a translation, and how compiled loops call them.

A feature is called through its address, so one search compiled once serves any number of them; a search without any
(None) is compiled for itself and has no trace of them. The states of all features behind a hypothesis are a node of a
trie, so that equal states, and only they, have equal numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints
from xlate.compiled import call_through, embedded, loop, pointer, types
from xlate.kernels.memory import ROOT, Trie, child

# (state, option, place, data, after) -> value; so few numbers stay in registers.
WHOLES, NUMBERS = types.CPointer(types.int64), types.CPointer(types.float64)  # type: ignore[no-untyped-call]
MOVE = types.float64(types.int64, types.int64, WHOLES, NUMBERS, WHOLES)
call_move = call_through(MOVE)
# A feature: its address, where its numbers begin in `data_N`, its weight, its state before and behind the last move.
FEATURE = np.dtype(
    [("address", np.int64), ("data", np.int64), ("weight", np.float64), ("before", np.int64), ("after", np.int64)]
)
# What `move` is told of where an option is put, and where it writes the state behind.
BEGIN, END, END_BEFORE, COVERED, AFTER = range(5)
# The option that ends the sentence.
END_OPTION = -1


class Histories(NamedTuple):
    """K features with history of one sentence: their calls, their numbers, and the place of the option, (5,)."""

    features_K: AnyArray
    data_N: Floats
    place: Ints


class Spot(NamedTuple):
    """Where an option is put: its span, where the option before ended, and how many words are translated."""

    begin: int
    end: int
    end_before: int
    covered: int


@embedded
def move_value(histories: Histories, k: int, option: int, spot: Spot) -> float:
    """The value of one feature behind its state `before`, not weighted."""
    feature, place = histories.features_K[k], histories.place
    place[BEGIN], place[END], place[END_BEFORE], place[COVERED] = spot
    data, after = pointer(histories.data_N, feature.data), pointer(place, AFTER)
    value = call_move(feature.address, (feature.before, option, pointer(place, 0), data, after))
    feature.after = place[AFTER]
    return float(value)


@loop
def move_score(histories: Histories, stacks: Trie, number: int, option: int, spot: Spot) -> float:
    """The weighted values of an option behind the states of a number; the states behind it stay known."""
    features_K, score = histories.features_K, 0.0
    for k in range(len(features_K) - 1, -1, -1):
        # Before the first phrase all states are 0.
        features_K[k].before = stacks.word_N[number] if number != ROOT else 0
        number = stacks.parent_N[number] if number != ROOT else ROOT
    for k in range(len(features_K)):
        score += features_K[k].weight * move_value(histories, k, option, spot)
    return score


@embedded
def number_after(histories: Histories | None, stacks: Trie, last: int) -> int:
    """The number of the kind of the last word and the states behind the last move; needs room for K + 1 nodes.

    Without features with history it is the kind of the last word.
    """
    if histories is None:
        return last
    number = child(stacks, ROOT, last)
    for k in range(len(histories.features_K)):
        number = child(stacks, number, histories.features_K[k].after)
    return number


@embedded
def last_word(histories: Histories | None, stacks: Trie, number: int) -> int:
    """The kind of the last word that a number stands for."""
    if histories is None:
        return number
    if number == ROOT:
        return 0
    for _ in range(len(histories.features_K)):
        number = stacks.parent_N[number]
    return int(stacks.word_N[number])


@embedded
def nodes_of_move(histories: Histories | None) -> int:
    """The most nodes that a move adds to the trie: one of the stack of groups, and those of `number_after`."""
    if histories is None:
        return 1
    return len(histories.features_K) + 2
