"""Is one system better than another? Paired bootstrap and approximate randomisation over sentence statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from xlate.errors import InputError
from xlate.metrics.measures import measure_sentences
from xlate.metrics.references import checked_references
from xlate.metrics.statistics import Floats, Interval, Stats, bootstrap_counts, interval, swap_masks

MEASURES = ("bleu", "chrf", "ter")
TIE = 1e-9


@dataclass(frozen=True)
class Resampling:
    """How often chance is asked: samples of the bootstrap, trials of the randomisation, and the seed of both."""

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
        p_bootstrap, p_randomisation: how probable so large a difference, up or down, is between equal systems.
    """

    score: float
    against: float
    interval: Interval
    p_bootstrap: float
    p_randomisation: float

    @property
    def difference(self) -> float:
        """The first score minus the second, in points of the measure (for TER, less is better)."""
        return self.score - self.against


@dataclass(frozen=True)
class PairedTests:
    """The test of each measure, and the number of samples and trials."""

    tests: Mapping[str, PairedTest]
    resampling: Resampling

    def __getitem__(self, measure: str) -> PairedTest:
        return self.tests[measure]

    def to_json(self) -> dict[str, Any]:
        """Plain values: one entry for each measure, and `samples`, `trials` and `seed`."""
        plain: dict[str, Any] = asdict(self.resampling)
        for measure, test in self.tests.items():
            plain[measure] = {
                "score": test.score,
                "against": test.against,
                "difference": test.difference,
                "interval": test.interval.half_width,
                "p_bootstrap": test.p_bootstrap,
                "p_randomisation": test.p_randomisation,
            }
        return plain

    def summary(self) -> str:
        """One line for each measure, for people."""
        return "\n".join(
            f"{measure:<7}{test.score:7.2f} against {test.against:.2f}: {test.difference:+.2f} ± "
            f"{test.interval.half_width:.2f}, p = {test.p_bootstrap:.4f} (bootstrap), "
            f"{test.p_randomisation:.4f} (randomisation)"
            for measure, test in self.tests.items()
        )


def paired(
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    measures: Sequence[str] = MEASURES,
    resampling: Resampling = DEFAULT,
) -> PairedTests:
    """Compares two systems on the same references.

    Args:
        hypotheses, against: the S sentences of each system.
        references: one list of S sentences for each stream; see `score.evaluate` for this and the settings.
        resampling: samples of the bootstrap and trials of the randomisation.

    Raises:
        InputError: counts differ, a measure or tokeniser is unknown, or no samples are asked for.
    """
    stats: list[dict[str, Stats]] = []
    for lines in (hypotheses, against):
        streams = checked_references(lines, references)
        stats.append(
            {m: measure_sentences(m, lines, streams, lowercase=lowercase, tokenize=tokenize).stats for m in measures}
        )
    return paired_statistics(stats[0], stats[1], resampling)


def paired_statistics(
    stats: Mapping[str, Stats], against: Mapping[str, Stats], resampling: Resampling = DEFAULT
) -> PairedTests:
    """The tests of `paired` on statistics such as `Evaluation.stats`, for all measures that both systems have.

    Raises:
        InputError: the statistics are of different texts, or no samples are asked for.
    """
    tests: dict[str, PairedTest] = {}
    for measure in [name for name in stats if name in against]:
        ours, theirs = stats[measure], against[measure]
        _check_lengths(ours, theirs)
        sampled_B = bootstrap_differences(ours, theirs, resampling.samples, resampling.seed)
        swapped_B = swapped_differences(ours, theirs, resampling.trials, resampling.seed)
        real = ours.score() - theirs.score()
        tests[measure] = PairedTest(
            score=ours.score(),
            against=theirs.score(),
            interval=interval(sampled_B),
            p_bootstrap=p_value(np.abs(sampled_B) - np.abs(sampled_B).mean(), abs(real)),
            p_randomisation=p_value(np.abs(swapped_B), abs(real)),
        )
    return PairedTests(tests, resampling)


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
    pieces = []
    both_K = stats.values_SK.sum(axis=0) + against.values_SK.sum(axis=0)
    change_SK = stats.values_SK - against.values_SK
    for kept_BS in swap_masks(len(stats), trials, seed):
        first_BK = against.values_SK.sum(axis=0) + kept_BS @ change_SK
        pieces.append(stats.scores(first_BK) - stats.scores(both_K - first_BK))
    return np.concatenate(pieces)


def p_value(differences_B: Floats, real: float) -> float:
    """The share of random differences at least as large as the real one, which counts as one of them, so that p is
    never 0.

    A system against itself has p = 1; sacrebleu, which counts only larger differences, reports its smallest p there.
    """
    # Equal differences may come from sums in another order, so they are compared with a tolerance.
    return (int((differences_B >= real - TIE).sum()) + 1) / (len(differences_B) + 1)


def _check_lengths(stats: Stats, against: Stats) -> None:
    if len(stats) != len(against):
        raise InputError(
            "two systems of different length",
            seen=f"{len(stats)} and {len(against)} sentences",
            expected="translations of the same sentences",
        )
