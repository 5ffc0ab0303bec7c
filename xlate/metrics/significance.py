"""Is one system better than another? Paired bootstrap and approximate randomisation over sentence statistics.

Letters of shapes: B resamplings, S sentences, K statistics of a sentence, R runs of a system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.metrics.score import digits_of
from xlate.metrics.statistics import Interval, Stats, bootstrap_counts, interval, swap_masks

Pairs = Sequence[tuple[Stats, Stats]]


def bootstrap_differences(pairs_R: Pairs, samples: int, seed: int) -> Floats:
    """The mean difference of score over R pairs of runs on texts drawn with replacement, the same for all, (samples,).

    See Koehn 2004.
    """
    pieces = [
        np.mean([o.scores(counts_BS @ o.values_SK) - t.scores(counts_BS @ t.values_SK) for o, t in pairs_R], axis=0)
        for counts_BS in bootstrap_counts(len(pairs_R[0][0]), samples, seed)
    ]
    return np.concatenate(pieces)


def swapped_differences(pairs_R: Pairs, trials: int, seed: int, *, together: bool) -> Floats:
    """The mean difference of score over R pairs of runs after coins have decided which outputs are swapped, (trials,).

    There is one coin per sentence, which swaps the outputs of all its pairs `together` (Riezler & Maxwell 2005), or
    one per sentence of each pair (Clark, Dyer, Lavie & Smith 2011). The coins are those of sacrebleu with the same
    seed.
    """
    strata = 1 if together else len(pairs_R)
    pieces = []
    for kept_BS in swap_masks(strata * len(pairs_R[0][0]), trials, seed):
        parts = np.split(kept_BS, strata, axis=1) * (len(pairs_R) // strata)
        pieces.append(np.mean([_swapped(*pair, part) for pair, part in zip(pairs_R, parts, strict=True)], axis=0))
    return np.concatenate(pieces)


def _swapped(stats: Stats, against: Stats, kept_BS: Floats) -> Floats:
    both_K = stats.values_SK.sum(axis=0) + against.values_SK.sum(axis=0)
    first_BK = against.values_SK.sum(axis=0) + kept_BS @ (stats.values_SK - against.values_SK)
    return stats.scores(first_BK) - stats.scores(both_K - first_BK)


TIE = 1e-9


@dataclass(frozen=True)
class Resampling:
    """The number of bootstrap samples and of randomisation trials, and the seed of both."""

    samples: int = 1000
    trials: int = 10_000
    seed: int = 12345


DEFAULT = Resampling()


@dataclass(frozen=True)
class PairedTest:
    """Two systems on one measure.

    Attributes:
        score, against: the scores of the two systems. difference: score - against.
        interval: the 95 % bootstrap interval of the difference.
        p_bootstrap, p_randomisation: the probability of so large a difference, up or down, between equal systems. For
            the bootstrap this is the share of resampled differences that are so far from their mean; sacrebleu takes
            absolute values first, which makes its bootstrap p roughly one-sided and much smaller.
        p_by_sentence: the same by randomisation when all runs of a sentence are swapped together; see `paired_runs`.
    """

    score: float
    against: float
    interval: Interval
    p_bootstrap: float
    p_randomisation: float
    p_by_sentence: float

    @property
    def difference(self) -> float:
        """The first score minus the second, in points of the measure (for TER, less is better)."""
        return self.score - self.against


@dataclass(frozen=True)
class PairedTests:
    """The test of each measure, the number of samples and trials, and of pairs of runs."""

    tests: Mapping[str, PairedTest]
    resampling: Resampling
    runs: int

    def __getitem__(self, measure: str) -> PairedTest:
        return self.tests[measure]

    def to_json(self) -> dict[str, Any]:
        """Plain values: one entry per measure, and `samples`, `trials` and `seed`.

        With several runs there are also `runs` and `p_by_sentence`.
        """
        plain = asdict(self.resampling)
        if self.runs > 1:
            plain["runs"] = self.runs
        for measure, test in self.tests.items():
            plain[measure] = {
                "score": test.score,
                "against": test.against,
                "difference": test.difference,
                "interval": test.interval.half_width,
                "p_bootstrap": test.p_bootstrap,
                "p_randomisation": test.p_randomisation,
                **({"p_by_sentence": test.p_by_sentence} if self.runs > 1 else {}),
            }
        return plain

    def summary(self) -> str:
        """One line per measure, for people."""
        lines = []
        for measure, test in self.tests.items():
            digits = digits_of(measure)
            by_sentence = f", {test.p_by_sentence:.4f} (by sentence)" if self.runs > 1 else ""
            lines.append(
                f"{measure:<7}{test.score:7.{digits}f} against {test.against:.{digits}f}: "
                f"{test.difference:+.{digits}f} ± {test.interval.half_width:.{digits}f}, "
                f"p = {test.p_randomisation:.4f} (randomisation){by_sentence}"
            )
        return "\n".join(lines)


def paired_runs(
    runs_R: Sequence[Mapping[str, Stats]], against_R: Sequence[Mapping[str, Stats]], resampling: Resampling = DEFAULT
) -> PairedTests:
    """The tests of two systems with several runs each, for all measures that all runs have.

    The score of a system is the mean over its runs, and runs are paired in their order. The bootstrap draws the same
    sentences for all runs. The randomisation is stratified (Clark, Dyer, Lavie & Smith 2011): one coin per sentence
    of each pair of runs decides whether the two outputs are swapped. It treats the outputs of one sentence in several
    runs as separate observations, so that runs which hardly differ look like more evidence than they are;
    `p_by_sentence` has one coin per sentence, which swaps the outputs of all its pairs. With one run each, both are
    the same.

    Args:
        runs_R, against_R: the statistics of each run. A system with one run is in every pair.

    Raises:
        InputError: the statistics are of different texts, both systems have several runs but not equally many, there
            are no runs, or no samples are requested.
    """
    counts = len(runs_R), len(against_R)
    if 0 in counts or (1 not in counts and counts[0] != counts[1]):
        raise InputError(
            "runs that cannot be paired",
            f"{counts[0]} runs and {counts[1]} runs",
            "the same number for both systems, or a single run of either",
            "leave out the runs whose seeds only one system has",
        )
    ours_R, theirs_R = (list(runs) * (max(counts) // len(runs)) for runs in (runs_R, against_R))
    names = [name for name in ours_R[0] if all(name in stats for stats in (*ours_R, *theirs_R))]
    pairs = {
        name: [(ours[name], theirs[name]) for ours, theirs in zip(ours_R, theirs_R, strict=True)] for name in names
    }
    return PairedTests({name: _tested(pairs[name], resampling) for name in names}, resampling, len(ours_R))


def _tested(pairs_R: Pairs, resampling: Resampling) -> PairedTest:
    lengths = list(dict.fromkeys(len(stats) for pair in pairs_R for stats in pair))
    if len(lengths) > 1:
        seen = f"{lengths[0]} and {lengths[1]} sentences"
        raise InputError("two systems of different length", seen, "translations of the same sentences")
    score = fmean(ours.score() for ours, _ in pairs_R)
    against = fmean(theirs.score() for _, theirs in pairs_R)
    real = abs(score - against)
    trials, seed = resampling.trials, resampling.seed
    sampled_B = bootstrap_differences(pairs_R, resampling.samples, seed)
    together_B = swapped_differences(pairs_R, trials, seed, together=True)
    apart_B = together_B if len(pairs_R) == 1 else swapped_differences(pairs_R, trials, seed, together=False)
    return PairedTest(
        score=score,
        against=against,
        interval=interval(sampled_B),
        p_bootstrap=p_value(np.abs(sampled_B - sampled_B.mean()), real),
        p_randomisation=p_value(np.abs(apart_B), real),
        p_by_sentence=p_value(np.abs(together_B), real),
    )


def p_value(differences_B: Floats, real: float) -> float:
    """The share of random differences at least as large as the real one, which counts as one of them, so that p is
    never 0.

    A system against itself has p = 1; sacrebleu, which counts only larger differences, then reports its smallest p.
    """
    # Equal differences may come from sums in a different order, so they are compared with a tolerance.
    return (int((differences_B >= real - TIE).sum()) + 1) / (len(differences_B) + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several comparisons adjusted by Holm's method (1979), in the given order.

    Calling a comparison significant where its adjusted p is below 0.05 makes no false claim at all in 95 % of cases.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    for tested, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        least = max(least, min(1.0, (len(p_values) - tested) * p_values[place]))
        adjusted[place] = least
    return adjusted
