"""Differences of score between two systems by chance: on texts drawn anew, and after outputs were swapped by coins.

Letters of shapes: B resamplings, S sentences, K statistics of a sentence, R runs of a system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from xlate.array_types import Floats
from xlate.metrics.statistics import Stats, bootstrap_counts, swap_masks


def bootstrap_differences(stats: Stats, against: Stats, samples: int, seed: int) -> Floats:
    """Differences of score on texts drawn with replacement, the same for both systems, (samples,) (Koehn 2004)."""
    pieces = [
        stats.scores(counts_BS @ stats.values_SK) - against.scores(counts_BS @ against.values_SK)
        for counts_BS in bootstrap_counts(len(stats), samples, seed)
    ]
    return np.concatenate(pieces)


def swapped_differences(stats: Stats, against: Stats, trials: int, seed: int) -> Floats:
    """Differences of score after a coin has decided, for each sentence, whether the two outputs are swapped, (trials,).

    See Riezler & Maxwell 2005. The coins are those of sacrebleu with the same seed.
    """
    masks = swap_masks(len(stats), trials, seed)
    return np.concatenate([_swapped(stats, against, kept_BS) for kept_BS in masks])


def mean_differences(
    differences: Callable[[Stats, Stats, int, int], Floats],
    pairs_R: Sequence[tuple[Stats, Stats]],
    times: int,
    seed: int,
) -> Floats:
    """The mean of `differences` over pairs of runs, which all see the same draws or coins, (times,)."""
    differences_RB = np.stack([differences(ours, theirs, times, seed) for ours, theirs in pairs_R])
    return np.asarray(differences_RB.mean(axis=0))


def apart_differences(pairs_R: Sequence[tuple[Stats, Stats]], trials: int, seed: int) -> Floats:
    """The mean difference over pairs of runs after swaps by coins, of which each pair has its own, (trials,).

    See Clark, Dyer, Lavie & Smith 2011: strata are the sentences of each pair of runs.
    """
    sentences = len(pairs_R[0][0])
    pieces = []
    for kept_BS in swap_masks(len(pairs_R) * sentences, trials, seed):
        parts = np.split(kept_BS, len(pairs_R), axis=1)
        pieces.append(np.mean([_swapped(*pair, part) for pair, part in zip(pairs_R, parts, strict=True)], axis=0))
    return np.concatenate(pieces)


def _swapped(stats: Stats, against: Stats, kept_BS: Floats) -> Floats:
    both_K = stats.values_SK.sum(axis=0) + against.values_SK.sum(axis=0)
    first_BK = against.values_SK.sum(axis=0) + kept_BS @ (stats.values_SK - against.values_SK)
    return stats.scores(first_BK) - stats.scores(both_K - first_BK)
