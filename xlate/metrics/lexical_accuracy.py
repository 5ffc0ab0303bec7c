"""Lexical accuracy: how alike two bags of words are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.metrics.statistics import Stats


def lexical_statistics(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Stats:
    """Bag-of-words statistics of S tokenised sentences for LexAcc.

    LexAcc measures "the similarity between the unordered bag of words" of reference and hypothesis
    (Venkatapathy & Bangalore 2009); the paper does not say which similarity. Here it is the F measure 2·matches /
    (words + reference words) over all sentences, where a word matches as often as it stands in both bags. Of several
    references the one with the largest F counts, the first of equals.

    Returns:
        Rows of K = 3: matched words, words of the hypothesis, words of the reference.

    Example: "a b b" against "b a c d" matches a and b: F = 2·2 / (3 + 4) = 57.14.
    """
    values_SK = np.zeros((len(hypotheses), 3), dtype=np.float64)
    for row_K, hypothesis, given in zip(values_SK, hypotheses, references, strict=True):
        bag = Counter(hypothesis)
        rows = [((bag & Counter(reference)).total(), len(hypothesis), len(reference)) for reference in given]
        row_K[:] = max(rows, key=lambda row: 2 * row[0] / max(1, row[1] + row[2]))
    return Stats("lexacc", values_SK, lexical_accuracies)


def lexical_accuracies(stats_BK: AnyArray) -> Floats:
    """LexAcc, 0 to 100, of each of B rows of summed statistics, (B,); two empty bags are alike (100)."""
    sums_BK: Floats = np.asarray(stats_BK, dtype=np.float64)
    words_B = sums_BK[:, 1] + sums_BK[:, 2]
    return np.where(words_B > 0, 200.0 * sums_BK[:, 0] / np.maximum(words_B, 1.0), 100.0)
