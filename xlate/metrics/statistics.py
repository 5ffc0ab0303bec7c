"""Statistics of sentences that can be added, and chrF, TER, NIST and lexical accuracy as functions of their sums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from xlate.array_types import AnyArray, AnyFloats, Floats
from xlate.errors import InputError

# Resampling matrices are drawn in pieces of at most this many numbers; a matrix of one piece equals sacrebleu's.
PIECE = 1 << 26
CHRF_BETA = 2.0
NIST_ORDER = 5
# The length penalty is 1/2 where the output has two thirds of the words of the references (Doddington, Eq. 3).
NIST_BETA = math.log(0.5) / math.log(1.5) ** 2
Ngram = tuple[str, ...]


@dataclass(frozen=True)
class Stats:
    """The statistics of S sentences for one measure: S rows of K numbers, and a function from a row of sums to a score.

    Attributes:
        values_SK: the statistics, (S, K).
        scores: the function from B rows of sums, (B, K), to B scores.
    """

    values_SK: Floats
    scores: Callable[[Floats], Floats]

    def __len__(self) -> int:
        return len(self.values_SK)

    def __getitem__(self, rows: slice | AnyArray) -> Stats:
        return Stats(self.values_SK[rows], self.scores)

    def score(self) -> float:
        """The score of the complete text."""
        return float(self.scores(self.values_SK.sum(axis=0, keepdims=True))[0])


def mean_statistics(value_S: AnyFloats) -> Stats:
    """The mean of one number per sentence as a measure: K = 2, the number and 1."""
    rows_S2 = np.column_stack([value_S, np.ones(len(value_S))])
    return Stats(rows_S2, lambda sums_BK: sums_BK[:, 0] / sums_BK[:, 1])


@dataclass(frozen=True)
class Interval:
    """The mean of bootstrap scores and half the width of the interval that contains 95 % of them."""

    mean: float
    half_width: float


def bootstrap_counts(sentences: int, samples: int, seed: int) -> Iterator[Floats]:
    """Yields, in pieces, how often each sentence was drawn in each sample: (B, S); each row sums to S.

    The draws are those of sacrebleu with the same seed, so intervals are the same too (Koehn 2004).

    Raises:
        InputError: `samples` is below 1.
    """
    random = np.random.default_rng(seed)
    for rows in _pieces(samples, sentences):
        drawn_BS = random.choice(sentences, size=(rows, sentences), replace=True)
        drawn_BS += np.arange(rows)[:, None] * sentences
        counts = np.bincount(drawn_BS.ravel(), minlength=rows * sentences)
        yield counts.reshape(rows, sentences).astype(np.float64)


def swap_masks(sentences: int, trials: int, seed: int) -> Iterator[Floats]:
    """Yields, in pieces, matrices (B, S) of 0 and 1: which sentences stay with their system in each trial.

    Raises:
        InputError: `trials` is below 1.
    """
    random = np.random.default_rng(seed)
    for rows in _pieces(trials, sentences):
        yield random.integers(2, size=(rows, sentences), dtype=bool).astype(np.float64)


def interval(scores_B: Floats) -> Interval:
    """The 95 % interval of bootstrap scores, which leaves out 1/40 of them at either end as sacrebleu does."""
    ordered_B = np.sort(scores_B)
    cut = len(ordered_B) // 40
    return Interval(float(ordered_B.mean()), 0.5 * float(ordered_B[len(ordered_B) - cut - 1] - ordered_B[cut]))


def _pieces(samples: int, sentences: int) -> Iterator[int]:
    if samples < 1:
        raise InputError("too few samples", samples, "1 or more", "1000 is usual")
    piece = max(1, PIECE // max(1, sentences))
    for start in range(0, samples, piece):
        yield min(piece, samples - start)


def chrf_scores(stats_BK: AnyArray) -> Floats:
    """chrF2, 0 to 100, for each of B rows of statistics, (B,) (Popović 2015; sacrebleu's effective order).

    A row has, for character n-grams of n = 1…6, the counts in hypothesis and reference and the matches, K = 18.
    """
    counts_BN3 = np.asarray(stats_BK, np.float64).reshape(len(stats_BK), -1, 3)
    hypothesis_BN, reference_BN, match_BN = np.moveaxis(counts_BN3, 2, 0)
    counted_BN = (hypothesis_BN > 0) & (reference_BN > 0)
    orders_B = np.maximum(1, counted_BN.sum(axis=1))
    precision_B, recall_B = (
        (counted_BN * match_BN / np.maximum(side_BN, 1.0)).sum(axis=1) / orders_B
        for side_BN in (hypothesis_BN, reference_BN)
    )
    denominator_B = CHRF_BETA**2 * precision_B + recall_B
    positive_B = denominator_B > 0
    scores_B = 100.0 * (1 + CHRF_BETA**2) * precision_B * recall_B / np.where(positive_B, denominator_B, 1.0)
    return np.asarray(scores_B)


def ter_scores(stats_BK: AnyArray) -> Floats:
    """TER, in per cent (lower is better), for each of B rows of statistics, (B,) (Snover et al. 2006).

    A row has the fewest edits to one reference and the mean reference length, K = 2. Without reference words the
    rate is 100 if there is any output, otherwise 0, as in sacrebleu.
    """
    sums_BK = np.asarray(stats_BK, np.float64)
    edits_B, length_B = sums_BK[:, 0], sums_BK[:, 1]
    rate_B = np.where(edits_B > 0, 100.0, 0.0)
    np.divide(100.0 * edits_B, length_B, out=rate_B, where=length_B > 0)
    return rate_B


def lexical_statistics(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Stats:
    """Bag-of-words statistics of S tokenised sentences for LexAcc.

    LexAcc measures "the similarity between the unordered bag of words" of reference and hypothesis
    (Venkatapathy & Bangalore 2009); the paper does not say which similarity. Here it is the F measure 2·matches /
    (words + reference words) over all sentences, where a word matches as often as it occurs in both bags. Of several
    references, the one with the largest F counts, the first among equals.

    Returns:
        Rows of K = 3: matched words, words of the hypothesis, words of the reference.

    Example: "a b b" against "b a c d" matches a and b: F = 2·2 / (3 + 4) = 57.14.
    """
    values_SK = np.zeros((len(hypotheses), 3), np.float64)
    for row_K, hypothesis, given in zip(values_SK, hypotheses, references, strict=True):
        bag = Counter(hypothesis)
        rows = [((bag & Counter(reference)).total(), len(hypothesis), len(reference)) for reference in given]
        row_K[:] = max(rows, key=lambda row: 2 * row[0] / max(1, row[1] + row[2]))
    return Stats(values_SK, lexical_accuracies)


def lexical_accuracies(stats_BK: AnyArray) -> Floats:
    """LexAcc, 0 to 100, for each of B rows of summed statistics, (B,); two empty bags score 100."""
    sums_BK = np.asarray(stats_BK, np.float64)
    words_B = sums_BK[:, 1] + sums_BK[:, 2]
    return np.where(words_B > 0, 200.0 * sums_BK[:, 0] / np.maximum(words_B, 1.0), 100.0)


def nist_statistics(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Stats:
    """Statistics of S tokenised sentences for NIST with n ≤ 5, as the mteval script computes them.

    Information weights come from all references together, matches are clipped at the largest count in one reference,
    and the length penalty compares with the mean length of the references of a sentence. (NLTK takes the best single
    reference for each order instead; with one reference the two agree.)

    Args:
        hypotheses: S sentences.
        references: at least one reference for each of the S sentences.

    Returns:
        Rows of K = 1 + 2·5 numbers: the mean reference length, then matched information (bits) and n-grams for n = 1…5.
    """
    counts: Counter[Ngram] = Counter()
    for reference in chain(*references):
        counts.update(ngram_counts(reference, NIST_ORDER))
        counts[()] += len(reference)
    # Bits of each n-gram of the references: log2 of the count of its first n-1 words over its own (Eq. 2).
    weights = {ngram: math.log2(counts[ngram[:-1]] / count) for ngram, count in counts.items() if ngram}
    values_SK = np.zeros((len(hypotheses), 1 + 2 * NIST_ORDER), np.float64)
    for row_K, hypothesis, given in zip(values_SK, hypotheses, references, strict=True):
        most: Counter[Ngram] = Counter()
        for reference in given:
            most |= ngram_counts(reference, NIST_ORDER)
        row_K[0] = sum(map(len, given)) / len(given)
        for ngram, count in ngram_counts(hypothesis, NIST_ORDER).items():
            row_K[NIST_ORDER + len(ngram)] += count
            if ngram in most:
                row_K[len(ngram)] += min(count, most[ngram]) * weights[ngram]
    return Stats(values_SK, nist_scores)


def nist_scores(stats_BK: AnyArray) -> Floats:
    """NIST for each of B rows of summed statistics, (B,); an order without n-grams adds nothing."""
    sums_BK = np.asarray(stats_BK, np.float64)
    length_B = sums_BK[:, 1 + NIST_ORDER]
    information_BN, total_BN = sums_BK[:, 1 : 1 + NIST_ORDER], sums_BK[:, 1 + NIST_ORDER :]
    gain_B = (information_BN / np.maximum(total_BN, 1.0)).sum(axis=1)
    ratio_B = np.clip(length_B / np.maximum(sums_BK[:, 0], 1e-9), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        penalty_B = np.exp(NIST_BETA * np.log(ratio_B) ** 2)
    return np.asarray(gain_B * penalty_B)


def ngram_counts(words: Sequence[str], order: int) -> Counter[Ngram]:
    """How often each n-gram of a sentence occurs in it, n = 1…order."""
    return Counter(tuple(words[i : i + n]) for n in range(1, order + 1) for i in range(len(words) - n + 1))
