"""Keeping what matters for a given test text: sentence pairs and blocks (Tillmann & Zhang 2007, section 5; A9)."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from xlate.array_types import Bools, Ints32
from xlate.errors import InputError
from xlate.kernels.counting.occurrence import occurrences
from xlate.phrases.extract import number_phrases
from xlate.phrases.matching import phrase_finder
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import UNKNOWN_ID


def shared_substrings_filter(
    source: EncodedText, test: EncodedText, *, min_words: int = 2, max_words: int = 12
) -> Bools:
    """Which of S source sentences share a substring of `min_words` to `max_words` words with a test text; shape (S,).

    The paper asks for one common substring of up to 12 words, and one word is such a substring: nearly every sentence
    has a full stop in common with the test. A longer common substring holds shorter ones, so the least length alone
    decides and `max_words` only has to reach it. A sentence shorter than `min_words` is never kept, and unknown
    words are never in common. Both texts have the same word numbers.

    Raises:
        InputError: the least length is below 1 or above the greatest.

    Example: with `min_words=2` and the test text "das haus ist klein"::

        das haus brennt     kept      (das haus)
        klein ist das       left out  (single words only)
    """
    if not 1 <= min_words <= max_words:
        raise InputError(
            "no usable length of common substrings",
            seen=f"{min_words} to {max_words} words",
            expected="a least length from 1 to the greatest",
        )
    windows = EncodedText.from_ids([window for s in range(len(test)) for window in _windows(test[s], min_words)])
    if not len(windows):
        return np.zeros(len(source), dtype=np.bool_)
    distinct, _ = number_phrases(windows)
    _, sharing_S = occurrences(phrase_finder(distinct), len(distinct), source.ids_T, source.offsets_S1)
    return np.asarray(sharing_S)


def occurring_blocks(table: PhraseTable, test: EncodedText) -> Bools:
    """Which of B blocks have a source phrase that occurs in a test text; shape (B,), for `PhraseTable.select`."""
    if not len(table):
        return np.zeros(0, dtype=np.bool_)
    phrases = table.source_phrases
    occurring_P, _ = occurrences(phrase_finder(phrases), len(phrases), test.ids_T, test.offsets_S1)
    return np.asarray(occurring_P[table.source_B])


def _windows(words_T: Ints32, size: int) -> list[Ints32]:
    """The spans of `size` known words."""
    if len(words_T) < size:
        return []
    windows_Wn = sliding_window_view(words_T, size)
    return list(windows_Wn[(windows_Wn != UNKNOWN_ID).all(axis=1)])
