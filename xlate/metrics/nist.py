"""NIST: n-grams weighted by their information (Doddington 2002)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.metrics.statistics import Stats

ORDER = 5
Ngram = tuple[str, ...]

# The length penalty is 1/2 where the output has two thirds of the words of the references (Doddington, Eq. 3).
BETA = math.log(0.5) / math.log(1.5) ** 2


def nist_statistics(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Stats:
    """Statistics of S tokenised sentences for NIST with n ≤ 5, as the script mteval computes them.

    Information weights come from all references together, matches are clipped at the largest count in one reference,
    and the length penalty compares with the mean length of the references of a sentence. (NLTK takes the best single
    reference for each order instead; with one reference the two agree.)

    Args:
        hypotheses: S sentences.
        references: for each of S sentences at least one reference.

    Returns:
        Rows of K = 1 + 2·5 numbers: the mean reference length, then matched information (bits) and n-grams for n = 1…5.
    """
    weights = information(references)
    values_SK = np.zeros((len(hypotheses), 1 + 2 * ORDER), dtype=np.float64)
    for row_K, hypothesis, given in zip(values_SK, hypotheses, references, strict=True):
        most: Counter[Ngram] = Counter()
        for reference in given:
            most |= Counter(ngrams(reference))
        row_K[0] = sum(map(len, given)) / len(given)
        for ngram, count in Counter(ngrams(hypothesis)).items():
            row_K[ORDER + len(ngram)] += count
            if ngram in most:
                row_K[len(ngram)] += min(count, most[ngram]) * weights[ngram]
    return Stats("nist", values_SK, nist_scores)


def information(references: Sequence[Sequence[Sequence[str]]]) -> dict[Ngram, float]:
    """Bits of each n-gram of the references: log2 of the count of its first n-1 words over its own (Eq. 2)."""
    counts: Counter[Ngram] = Counter()
    for given in references:
        for reference in given:
            counts.update(ngrams(reference))
            counts[()] += len(reference)
    return {ngram: math.log2(counts[ngram[:-1]] / count) for ngram, count in counts.items() if ngram}


def nist_scores(stats_BK: AnyArray) -> Floats:
    """NIST of each of B rows of summed statistics, (B,); an order without n-grams adds nothing."""
    sums_BK: Floats = np.asarray(stats_BK, dtype=np.float64)
    length_B = sums_BK[:, 1 + ORDER]
    information_BN, total_BN = sums_BK[:, 1 : 1 + ORDER], sums_BK[:, 1 + ORDER :]
    gain_B = (information_BN / np.maximum(total_BN, 1.0)).sum(axis=1)
    ratio_B = np.clip(length_B / np.maximum(sums_BK[:, 0], 1e-9), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        penalty_B = np.exp(BETA * np.log(ratio_B) ** 2)
    return np.asarray(gain_B * penalty_B)


def ngrams(words: Sequence[str]) -> Iterator[Ngram]:
    """Yields the n-grams of a sentence, n = 1…5."""
    for n in range(1, ORDER + 1):
        for start in range(len(words) - n + 1):
            yield tuple(words[start : start + n])
