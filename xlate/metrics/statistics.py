"""Statistics of sentences that can be added, and scores as functions of their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.errors import InputError

# Resampling matrices are drawn in pieces of at most so many numbers; a matrix of one piece is the same as sacrebleu's.
PIECE = 1 << 26


@dataclass(frozen=True)
class Stats:
    """The statistics of S sentences for one measure: S rows of K numbers, and the function from a row of sums to a
    score.

    Attributes:
        measure: the name of the measure, for example `bleu`.
        values_SK: the statistics, (S, K).
        scores: the function from B rows of sums, (B, K), to B scores.
    """

    measure: str
    values_SK: Floats
    scores: Callable[[Floats], Floats]

    def __len__(self) -> int:
        return len(self.values_SK)

    def __getitem__(self, rows: slice | AnyArray) -> Stats:
        return Stats(self.measure, self.values_SK[rows], self.scores)

    def score(self) -> float:
        """The score of the whole text."""
        return float(self.scores(self.values_SK.sum(axis=0, keepdims=True))[0])


@dataclass(frozen=True)
class Interval:
    """The mean of bootstrap scores and half the width of the interval that holds 95 % of them."""

    mean: float
    half_width: float


def bootstrap_scores(stats: Stats, samples: int, seed: int) -> Floats:
    """Scores of `samples` texts of S sentences drawn with replacement, (samples,) (Koehn 2004).

    The draws are those of sacrebleu with the same seed, so the intervals are the same too.
    """
    pieces = [stats.scores(counts_BS @ stats.values_SK) for counts_BS in bootstrap_counts(len(stats), samples, seed)]
    return np.concatenate(pieces)


def bootstrap_counts(sentences: int, samples: int, seed: int) -> Iterator[Floats]:
    """Yields, in pieces, how often each sentence was drawn in each sample: (B, S), each row with the sum S.

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
    """The 95 % interval of bootstrap scores; it leaves out 1/40 of them at either end, as sacrebleu does."""
    ordered_B = np.sort(scores_B)
    cut = len(ordered_B) // 40
    return Interval(float(ordered_B.mean()), 0.5 * float(ordered_B[len(ordered_B) - cut - 1] - ordered_B[cut]))


def _pieces(samples: int, sentences: int) -> Iterator[int]:
    if samples < 1:
        raise InputError("too few samples", samples, "1 or more", "1000 is usual")
    piece = max(1, PIECE // max(1, sentences))
    for start in range(0, samples, piece):
        yield min(piece, samples - start)
