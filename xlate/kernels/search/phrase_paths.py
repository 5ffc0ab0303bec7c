"""Features of many derivations of one sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.compiled import inner, lent, loop
from xlate.kernels.lm import NgramArrays, PhrasesAlone, phrase_logprob, step
from xlate.kernels.memory import ROOT, Trie, child, new_trie, room
from xlate.kernels.search.best_paths import Paths
from xlate.kernels.search.phrase_coverage import (
    HIERARCHICAL,
    OPEN,
    Coverages,
    Spans,
    covers_with_room,
    new_coverages,
    place,
    with_span,
)
from xlate.kernels.search.phrase_moves import END_OPTION, Histories, Spot, move_value

NONE = -1


class PathOptions(NamedTuple):
    """O options of a sentence of n words: spans, pairs (-1 copied), logs of 4 table scores and 2K orientations.

    Also where each float feature is, the features, and the number of `<s>`.
    """

    words: int
    start_O: Ints32
    end_O: Ints32
    pair_O: Ints
    table_O4: Floats
    logs_OK2: Floats
    first_O: Ints32
    last_O: Ints32
    phrases: PhrasesAlone
    size: int
    orientations: int
    backward: int
    forward: int
    distortion: int
    word_penalty: int
    phrase_penalty: int
    table: int
    unknown: int
    unknown_penalty: float
    reordering: int
    begin_word: int


class Oriented(NamedTuple):
    """For each of L steps: both orientations, the span of the group before (-1 and 0: none), its first and last word.

    `forward_L` is that of the previous phrase relative to the step. The last word of the group is the word before.
    """

    backward_L: Ints32
    forward_L: Ints32
    group_begin_L: Ints32
    group_end_L: Ints32
    group_first_L: Ints32
    last_L: Ints32


@loop
def orient_paths(paths: Paths, options: PathOptions) -> Oriented:
    """The orientations of every step, and the group before it, by the definitions."""
    steps, n = len(paths.labels_L), options.words
    rows_6L = np.empty((6, steps), dtype=np.int32)
    oriented = Oriented(rows_6L[0], rows_6L[1], rows_6L[2], rows_6L[3], rows_6L[4], rows_6L[5])
    spans = Spans(n, 0, 0, np.zeros(0, dtype=np.int64), np.zeros((n + 1, n + 1)))
    coverages, stacks = new_coverages(spans), new_trie(64)
    if options.reordering >= HIERARCHICAL:
        coverages, stacks = covers_with_room(coverages, steps), room(stacks, 2 * steps)
    _orient(paths, options, oriented, coverages, stacks)
    return oriented


@inner
def _orient(paths: Paths, options: PathOptions, oriented: Oriented, coverages: Coverages, stacks: Trie) -> None:
    paths, options, oriented, coverages, stacks = lent((paths, options, oriented, coverages, stacks))
    for path in range(len(paths.offsets_N1) - 1):
        behind, last = (0, NONE, 0, ROOT), options.begin_word
        for at in range(paths.offsets_N1[path], paths.offsets_N1[path + 1]):
            option, (cover, _, _, stack) = paths.labels_L[at], behind
            begin, end = int(options.start_O[option]), int(options.end_O[option])
            placed = place(coverages, stacks, behind, (begin, end), options.reordering)
            if options.reordering >= HIERARCHICAL:
                first = options.first_O[option] if placed.first == OPEN else placed.first
                cover, stack = with_span(coverages, cover, begin, end), child(stacks, placed.stack, first)
            oriented.backward_L[at], oriented.forward_L[at] = placed.backward, placed.forward
            oriented.group_begin_L[at], oriented.group_end_L[at] = placed.group_begin, placed.group_end
            oriented.group_first_L[at] = options.begin_word if placed.group_begin == NONE else placed.group_first
            oriented.last_L[at] = last
            behind, last = (cover, begin, end, stack), options.last_O[option]


@loop
def path_logprobs(
    lm: NgramArrays, begin_state: int, end_word: int, offsets_N1: Ints, phrase_L: AnyInts, phrases: PhrasesAlone
) -> Floats:
    """The natural log probability of each path's phrases and of the end of the sentence, shape (N,)."""
    total_N = np.zeros(len(offsets_N1) - 1)
    for path in range(len(total_N)):
        state = begin_state
        for at in range(offsets_N1[path], offsets_N1[path + 1]):
            logprob, state = phrase_logprob(lm, phrases, phrase_L[at], state)
            total_N[path] += logprob
        total_N[path] += step(lm, state, end_word)[0]
    return total_N


@loop
def path_features(paths: Paths, options: PathOptions, oriented: Oriented, last: bool) -> Floats:
    """The float features of every path except the language model's, natural logs, shape (N, D); with `last`, those of
    its last step only. Sums of sparse features stay 0.
    """
    paths, options, oriented = lent((paths, options, oriented))
    offsets_O1, features_ND = options.phrases.offsets_O1, np.zeros((len(paths.offsets_N1) - 1, options.size))
    for path in range(len(features_ND)):
        row_D, first, end = features_ND[path], paths.offsets_N1[path], paths.offsets_N1[path + 1]
        for at in range(max(first, end - 1) if last else first, end):
            option = paths.labels_L[at]
            before = paths.labels_L[at - 1] if at > first else NONE
            end_before = options.end_O[before] if at > first else 0
            row_D[options.distortion] -= abs(options.start_O[option] - end_before)
            row_D[options.word_penalty] -= offsets_O1[option + 1] - offsets_O1[option]
            row_D[options.phrase_penalty] += 1.0
            # A copied word; other pairs below 0 are terms.
            if options.pair_O[option] == NONE:
                row_D[options.unknown] += options.unknown_penalty
            elif options.pair_O[option] >= 0:
                for k in range(4):
                    row_D[options.table + k] += options.table_O4[option, k]
                o = oriented.backward_L[at]
                row_D[options.backward + o] += options.logs_OK2[option, o]
            if before != NONE and options.pair_O[before] >= 0:
                o = oriented.forward_L[at]
                row_D[options.forward + o] += options.logs_OK2[before, options.orientations + o]
    return features_ND


@loop
def history_features(paths: Paths, options: PathOptions, histories: Histories) -> tuple[Floats, Floats, Floats]:
    """Values of K features with history: sums of every path, those of its last step and of its end; (N, K) each."""
    size = len(paths.offsets_N1) - 1, len(histories.features_K)
    sums_NK, last_NK, end_NK = np.zeros(size), np.zeros(size), np.zeros(size)
    for path in range(size[0]):
        end_before, covered = 0, 0
        histories.features_K["before"][:] = 0
        for at in range(paths.offsets_N1[path], paths.offsets_N1[path + 1]):
            option = paths.labels_L[at]
            begin, end = options.start_O[option], options.end_O[option]
            spot = Spot(int(begin), int(end), end_before, covered)
            for k in range(size[1]):
                last_NK[path, k] = move_value(histories, k, option, spot)
                sums_NK[path, k] += last_NK[path, k]
                histories.features_K[k].before = histories.features_K[k].after
            end_before, covered = int(end), covered + int(end - begin)
        spot = Spot(options.words + 1, options.words + 1, options.words + 1, options.words + 1)
        for k in range(size[1]):
            end_NK[path, k] = move_value(histories, k, END_OPTION, spot)
            sums_NK[path, k] += end_NK[path, k]
    return sums_NK, last_NK, end_NK


@loop
def number_parts(
    paths: Paths, oriented: Oriented, orientations: int, groups: bool, last_words: bool
) -> tuple[Ints32, Ints]:
    """Numbers phrases with everything their features use: the part of each of L steps, and a step of each of P parts.

    `groups` and `last_words` say whether features use the group before, and the word before. Parts are numbered in the
    order of their first steps.
    """
    steps = len(paths.labels_L)
    part_L, first_P = np.empty(steps, dtype=np.int32), np.empty(steps, dtype=np.int64)
    trie = room(new_trie(64), 4 * steps)
    part_by_node = np.full(4 * steps + 65, NONE, dtype=np.int32)
    parts = 0
    for at in range(steps):
        node = child(trie, ROOT, paths.labels_L[at] * orientations + oriented.backward_L[at])
        if groups:
            span = ((oriented.group_begin_L[at] + 1) << 16) | oriented.group_end_L[at]
            node = child(trie, child(trie, node, span), oriented.group_first_L[at])
        if groups or last_words:
            node = child(trie, node, oriented.last_L[at])
        if part_by_node[node] == NONE:
            part_by_node[node], first_P[parts] = parts, at
            parts += 1
        part_L[at] = part_by_node[node]
    return part_L, first_P[:parts].copy()
