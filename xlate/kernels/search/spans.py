"""Source spans of a sentence: the phrases and rules that match there, costs of options, and estimates of scores.

A span from `start` of `length` words (1 to `longest`) is cell start · longest + length - 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.compiled import inner, loop
from xlate.kernels.counting.matching import PhraseFinder, row_of
from xlate.kernels.learning.slopes import log_sum_exp
from xlate.kernels.lm import NgramArrays, step
from xlate.kernels.memory import ROOT, find, grown, pack


@loop
def span_rows(finder: PhraseFinder, ids_n: Ints32, longest: int) -> Ints32:
    """The source phrase of each cell (start · longest + length - 1) of a sentence, -1 where there is none.

    Word number 0 marks unknown words, -1 those that only a term may translate; they are in no phrase.
    """
    row_C = np.full(len(ids_n) * longest, -1, dtype=np.int32)
    for start in range(len(ids_n)):
        node = 0
        for end in range(start, min(len(ids_n), start + longest)):
            node = find(finder.table, pack(node, ids_n[end])) if ids_n[end] > 0 else -1
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
def option_words(
    ids_T: Ints32, offsets_Q1: Ints, target_B: Ints32, own_X: Ints32, unit_O: AnyInts, offsets_O1: Ints
) -> Ints32:
    """The words of the options of a sentence, (W,): those of option o begin at `offsets_O1[o]`.

    Args:
        ids_T, offsets_Q1: the words of Q target phrases.
        target_B: the target phrase of each pair or rule.
        own_X: the words of copies and terms, in the order of their options.
        unit_O: the pair or rule that each option is, negative for a copied source word or a term.
        offsets_O1: where the words of each option go.
    """
    words_W, own = np.empty(offsets_O1[-1], dtype=np.int32), 0
    for option in range(len(unit_O)):
        for at in range(offsets_O1[option], offsets_O1[option + 1]):
            if unit_O[option] < 0:
                words_W[at] = own_X[own]
                own += 1
            else:
                words_W[at] = ids_T[offsets_Q1[target_B[unit_O[option]]] + at - offsets_O1[option]]
    return words_W


@inner
def phrase_costs(
    lm: NgramArrays, words_W: Ints32, offsets_O1: Ints, option: int, lm_state: int
) -> tuple[float, float, int]:
    """Language model costs (natural logs) of the first word and of the rest of a phrase, and the state after it."""
    place = offsets_O1[option]
    logprob, lm_state = step(lm, lm_state, words_W[place])
    rest = 0.0
    for at in range(place + 1, offsets_O1[option + 1]):
        more, lm_state = step(lm, lm_state, words_W[at])
        rest -= more
    return -logprob, rest, lm_state


@loop
def span_futures(n: int, longest: int, cell_offsets_C1: Ints, alone_O: Floats, local: bool) -> Floats:
    """The best sum of `alone_O` over any division of each span into cells, shape (n + 1, n + 1), 0 for empty spans.

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


NO_GAP = -1
# Columns of a match during matching: span, row of the source side, begin and end of its gaps.
BEGIN, END, ROW, GAP_BEGIN, GAP_END, SECOND_BEGIN, SECOND_END = range(7)


class Matches(NamedTuple):
    """M matches of source sides in a sentence of n words, sorted by span.

    Those of the span from i to j are numbers `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`, where c = i·(n+1) + j.
    `spans_M2` is the span of each, `row_M` its source side, `gaps_M4` begin and end of its first and its second gap in
    the source, `NO_GAP` where there is none.
    """

    cell_offsets_C1: Ints
    spans_M2: Ints32
    row_M: Ints32
    gaps_M4: Ints32


@loop
def match_rules(
    finder: PhraseFinder, ids_n: Ints32, gap: int, longest: int, copy_row: int, terms_X2: Ints32
) -> Matches:
    """The matches of source sides with spans of at most `longest` words, if their gaps can be filled.

    A word that no rule translates on its own is matched by `copy_row` plus its place. Word number 0 marks unknown
    words, -1 those that only a term may translate; they are in no source side. The spans of terms are matched by the
    numbers after those of all words.
    """
    found_M7, size = np.empty((256, 7), dtype=np.int32), 0
    n = len(ids_n)
    for begin in range(n):
        first = size
        found_M7, size = _from(finder, ids_n, gap, longest, begin, found_M7, size)
        here_M7 = found_M7[first:size]
        alone = ((here_M7[:, END] == begin + 1) & (here_M7[:, GAP_BEGIN] == NO_GAP)).any()
        for x in range(len(terms_X2)):
            if terms_X2[x, 0] == begin:
                found_M7 = grown(found_M7, size, 1)
                found_M7[size] = NO_GAP
                found_M7[size, BEGIN], found_M7[size, END], found_M7[size, ROW] = (
                    begin,
                    terms_X2[x, 1],
                    copy_row + n + x,
                )
                size += 1
                alone = alone or terms_X2[x, 1] == begin + 1
        if not alone and ids_n[begin] >= 0:
            found_M7 = grown(found_M7, size, 1)
            found_M7[size] = NO_GAP
            found_M7[size, BEGIN], found_M7[size, END], found_M7[size, ROW] = begin, begin + 1, copy_row + begin
            size += 1
    kept_M7 = _fillable(found_M7[:size], n)
    cell_M = kept_M7[:, BEGIN].astype(np.int64) * (n + 1) + kept_M7[:, END]
    order = np.argsort(cell_M, kind="mergesort")
    by_cell_M7 = kept_M7[order]
    return Matches(
        np.searchsorted(cell_M[order], np.arange((n + 1) * (n + 1) + 1)),
        np.ascontiguousarray(by_cell_M7[:, BEGIN : END + 1]),
        np.ascontiguousarray(by_cell_M7[:, ROW]),
        np.ascontiguousarray(by_cell_M7[:, GAP_BEGIN:]),
    )


@inner
def _from(
    finder: PhraseFinder, ids_n: Ints32, gap: int, longest: int, begin: int, found_M7: Ints32, size: int
) -> tuple[Ints32, int]:
    """Appends the matches that begin at a place: walks the trie of source sides, trying gaps of every length."""
    last = min(len(ids_n), begin + longest)
    # Waiting entries: node of the trie, place after the matched part, whether a gap was last, and the gaps.
    waiting_W7 = np.empty((64, 7), dtype=np.int32)
    waiting_W7[0] = np.array([ROOT, begin, 0, NO_GAP, NO_GAP, NO_GAP, NO_GAP], dtype=np.int32)
    count = 1
    while count > 0:
        count -= 1
        here_7 = waiting_W7[count].copy()
        node, at = here_7[0], here_7[1]
        row = finder.row_N[node]
        if row >= 0 and at > begin:
            found_M7 = grown(found_M7, size, 1)
            found_M7[size] = here_7
            found_M7[size, BEGIN], found_M7[size, END], found_M7[size, ROW] = begin, at, row
            size += 1
        if at >= last:
            continue
        waiting_W7 = grown(waiting_W7, count, 1 + longest)
        behind = find(finder.table, pack(node, ids_n[at])) if ids_n[at] > 0 else -1
        if behind >= 0:
            waiting_W7[count] = here_7
            waiting_W7[count, 0], waiting_W7[count, 1], waiting_W7[count, 2] = behind, at + 1, 0
            count += 1
        if here_7[2] == 1 or here_7[5] != NO_GAP:
            continue
        behind = find(finder.table, pack(node, gap))
        if behind >= 0:
            for end in range(at + 1, last + 1):
                waiting_W7[count] = here_7
                waiting_W7[count, 0], waiting_W7[count, 1], waiting_W7[count, 2] = behind, end, 1
                place = 3 if here_7[3] == NO_GAP else 5
                waiting_W7[count, place], waiting_W7[count, place + 1] = at, end
                count += 1
    return found_M7, size


@inner
def _fillable(found_M7: Ints32, n: int) -> Ints32:
    """The matches whose gaps are spans that other matches can fill; sorted by the length of their span."""
    order = np.argsort(found_M7[:, END] - found_M7[:, BEGIN], kind="mergesort")
    filled_nn = np.zeros((n + 1, n + 1), dtype=np.bool_)
    kept = np.zeros(len(found_M7), dtype=np.bool_)
    for m in order:
        kept[m] = True
        for place in (GAP_BEGIN, SECOND_BEGIN):
            begin, end = found_M7[m, place], found_M7[m, place + 1]
            kept[m] = kept[m] and (begin == NO_GAP or filled_nn[begin, end])
        if kept[m]:
            filled_nn[found_M7[m, BEGIN], found_M7[m, END]] = True
    return found_M7[kept]
