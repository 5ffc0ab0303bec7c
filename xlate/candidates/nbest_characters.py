"""The characters of n-best lists, and chrF's statistics of every hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of
from xlate.candidates.nbest_columns import NbestArrays, WordNumbers
from xlate.kernels.counting.ngram_statistics import list_statistics
from xlate.metrics.scores import chrf_scores
from xlate.text.encoded import EncodedText

CHARACTER_ORDER = 6


def characters(text: EncodedText, numbers: WordNumbers) -> EncodedText:
    """Numbered words as the characters they are written with, without blanks, as chrF counts them (Popović 2015)."""
    spelled = EncodedText.from_ids(np.array([ord(c) for c in "".join(word.split())], np.int32) for word in numbers)
    places, word_offsets = gathered(spelled.offsets_S1, text.ids_T)
    return EncodedText(spelled.ids_T[places], word_offsets[text.offsets_S1])


def chrf_statistics(arrays: NbestArrays, references: Sequence[Sequence[str]]) -> Floats:
    """chrF's statistics of every hypothesis against the best of its references, (C, 18); see `chrf_scores`.

    Args:
        arrays: I lists. references: those of each list, one or more.
    """
    hypotheses = characters(arrays.text, arrays.numbers)
    streams = [[lines[min(k, len(lines) - 1)] for lines in references] for k in range(max(map(len, references)))]
    best_CK = _against(hypotheses, arrays, streams[0])
    for stream in streams[1:]:
        other_CK = _against(hypotheses, arrays, stream)
        better_C = chrf_scores(other_CK) > chrf_scores(best_CK)
        best_CK = np.where(better_C[:, None], other_CK, best_CK)
    return best_CK


def _against(hypotheses: EncodedText, arrays: NbestArrays, stream: Sequence[str]) -> Floats:
    text = characters(arrays.numbers.encode(stream), arrays.numbers)
    one_each = np.arange(len(stream) + 1)
    counted_CK = list_statistics(
        hypotheses.ids_T,
        hypotheses.offsets_S1,
        arrays.candidate_offsets_I1,
        text.ids_T,
        text.offsets_S1,
        one_each,
        CHARACTER_ORDER,
    )
    match_CN, total_CN = counted_CK[:, 2 : 2 + CHARACTER_ORDER], counted_CK[:, 2 + CHARACTER_ORDER :]
    given_CN = ngram_totals(counted_CK[:, 1])
    return statistics_rows(total_CN, given_CN, match_CN)


def ngram_totals(length_C: Ints) -> Ints:
    """How many character n-grams of each order a text of some length has, (C, 6)."""
    totals_CN: Ints = np.maximum(0, length_C[:, None] - np.arange(CHARACTER_ORDER))
    return totals_CN


def statistics_rows(total_CN: Ints, given_CN: Ints, match_CN: Ints) -> Floats:
    """Counts of hypothesis, reference and matches as sacrebleu lays them out, (C, 18).

    A hypothesis's n-grams of an order that the reference has none of do not count.
    """
    rows_CN3 = np.stack([np.where(given_CN > 0, total_CN, 0), given_CN, match_CN], axis=2)
    return rows_CN3.reshape(len(rows_CN3), -1).astype(np.float64)


def hypothesis_offsets(arrays: NbestArrays, text: EncodedText, row: int) -> tuple[Ints32, Ints]:
    """The numbers and offsets of the hypotheses of one list, in a text of all hypotheses."""
    first, last = arrays.candidate_offsets_I1[row : row + 2]
    offsets_H1 = text.offsets_S1[first : last + 1]
    return text.ids_T[offsets_H1[0] : offsets_H1[-1]], offsets_of(np.diff(offsets_H1))
