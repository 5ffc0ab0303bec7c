"""chrF, TER, NIST and lexical accuracy as functions of summed statistics, for many sums at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.metrics.statistics import Stats


def chrf_scores(stats_BK: AnyArray) -> Floats:
    """chrF2, 0 to 100, of each of B rows of statistics, (B,) (Popović 2015; sacrebleu's effective order).

    A row holds, for character n-grams of n = 1…6, the counts in hypothesis and reference and the matches, K = 18.
    """
    counts_BN3 = np.asarray(stats_BK, np.float64).reshape(len(stats_BK), -1, 3)
    hypothesis_BN, reference_BN, match_BN = np.moveaxis(counts_BN3, 2, 0)
    counted_BN = (hypothesis_BN > 0) & (reference_BN > 0)
    orders_B = np.maximum(1, counted_BN.sum(axis=1))
    precision_B = (counted_BN * match_BN / np.maximum(hypothesis_BN, 1.0)).sum(axis=1) / orders_B
    recall_B = (counted_BN * match_BN / np.maximum(reference_BN, 1.0)).sum(axis=1) / orders_B
    denominator_B = CHRF_BETA**2 * precision_B + recall_B
    positive_B = denominator_B > 0
    scores_B = 100.0 * (1 + CHRF_BETA**2) * precision_B * recall_B / np.where(positive_B, denominator_B, 1.0)
    return np.asarray(scores_B)


def ter_scores(stats_BK: AnyArray) -> Floats:
    """TER, in per cent (lower is better), of each of B rows of statistics, (B,) (Snover et al. 2006).

    A row holds the fewest edits to one reference and the mean reference length, K = 2. Without reference words the
    rate is 100 if anything was put out, otherwise 0, as in sacrebleu.
    """
    sums_BK: Floats = np.asarray(stats_BK, np.float64)
    edits_B, length_B = sums_BK[:, 0], sums_BK[:, 1]
    without_B = np.where(edits_B > 0, 100.0, 0.0)
    return np.where(length_B > 0, 100.0 * edits_B / np.where(length_B > 0, length_B, 1.0), without_B)


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
    values_SK = np.zeros((len(hypotheses), 3), np.float64)
    for row_K, hypothesis, given in zip(values_SK, hypotheses, references, strict=True):
        bag = Counter(hypothesis)
        rows = [((bag & Counter(reference)).total(), len(hypothesis), len(reference)) for reference in given]
        row_K[:] = max(rows, key=lambda row: 2 * row[0] / max(1, row[1] + row[2]))
    return Stats("lexacc", values_SK, lexical_accuracies)


def lexical_accuracies(stats_BK: AnyArray) -> Floats:
    """LexAcc, 0 to 100, of each of B rows of summed statistics, (B,); two empty bags are alike (100)."""
    sums_BK: Floats = np.asarray(stats_BK, np.float64)
    words_B = sums_BK[:, 1] + sums_BK[:, 2]
    return np.where(words_B > 0, 200.0 * sums_BK[:, 0] / np.maximum(words_B, 1.0), 100.0)


CHRF_BETA = 2.0
NIST_ORDER = 5
Ngram = tuple[str, ...]

# The length penalty is 1/2 where the output has two thirds of the words of the references (Doddington, Eq. 3).
NIST_BETA = math.log(0.5) / math.log(1.5) ** 2


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
    values_SK = np.zeros((len(hypotheses), 1 + 2 * NIST_ORDER), np.float64)
    for row_K, hypothesis, given in zip(values_SK, hypotheses, references, strict=True):
        most: Counter[Ngram] = Counter()
        for reference in given:
            most |= Counter(ngrams(reference))
        row_K[0] = sum(map(len, given)) / len(given)
        for ngram, count in Counter(ngrams(hypothesis)).items():
            row_K[NIST_ORDER + len(ngram)] += count
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
    sums_BK: Floats = np.asarray(stats_BK, np.float64)
    length_B = sums_BK[:, 1 + NIST_ORDER]
    information_BN, total_BN = sums_BK[:, 1 : 1 + NIST_ORDER], sums_BK[:, 1 + NIST_ORDER :]
    gain_B = (information_BN / np.maximum(total_BN, 1.0)).sum(axis=1)
    ratio_B = np.clip(length_B / np.maximum(sums_BK[:, 0], 1e-9), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        penalty_B = np.exp(NIST_BETA * np.log(ratio_B) ** 2)
    return np.asarray(gain_B * penalty_B)


def ngrams(words: Sequence[str]) -> Iterator[Ngram]:
    """Yields the n-grams of a sentence, n = 1…5."""
    for n in range(1, NIST_ORDER + 1):
        for start in range(len(words) - n + 1):
            yield tuple(words[start : start + n])
