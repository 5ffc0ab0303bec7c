"""How good translations are: BLEU, chrF and TER as sacrebleu computes them, NIST and LexAcc, each with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xlate.errors import InputError
from xlate.metrics.measures import MEASURES, TEXT_ENDINGS, measure_sentences
from xlate.metrics.references import checked_references
from xlate.metrics.statistics import Interval, Stats, bootstrap_scores, interval

TOKENIZED_ENDINGS = 100


@dataclass(frozen=True)
class Figure:
    """A score with its signature and interval.

    Attributes:
        score: BLEU, chrF, TER and LexAcc from 0 to 100, NIST in bits; TER is better when lower.
        signature: every setting the number depends on.
        interval: mean and half width of the 95 % bootstrap interval, None when not asked for.
    """

    score: float
    signature: str
    interval: Interval | None = None


@dataclass(frozen=True)
class Evaluation:
    """The figures of one system on one text.

    Attributes:
        figures: the figure of each measure, in the order asked for.
        stats: for each measure, the statistics of each sentence.
        sentences: how many there are. references: how many streams there are.
        notes: what looks odd about the input, in words.
    """

    figures: Mapping[str, Figure]
    stats: Mapping[str, Stats]
    sentences: int
    references: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, measure: str) -> float:
        return self.figures[measure].score

    def to_json(self) -> dict[str, Any]:
        """Plain values: `sentences`, `references`, and `bleu`, `bleu_interval`, `bleu_mean`, `bleu_signature`, …

        `_interval` is half the width of the 95 % interval. It and `_mean` are left out when no interval was asked for.
        """
        plain: dict[str, Any] = {"sentences": self.sentences, "references": self.references}
        for measure, figure in self.figures.items():
            plain[measure] = figure.score
            if figure.interval is not None:
                plain[f"{measure}_interval"] = figure.interval.half_width
                plain[f"{measure}_mean"] = figure.interval.mean
            plain[f"{measure}_signature"] = figure.signature
        if self.notes:
            plain["notes"] = list(self.notes)
        return plain

    def summary(self) -> str:
        """One short line for each figure, for people; what the figures depend on is in `to_json`."""
        lines = [_line(measure, figure) for measure, figure in self.figures.items()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    bootstrap: int = 1000,
    seed: int = 12345,
    measures: Sequence[str] = MEASURES,
) -> Evaluation:
    """Scores detokenised hypotheses (S sentences) against one reference stream or more.

    A blank reference line counts as missing, see `references.checked_references`.

    Args:
        hypotheses: S sentences.
        references: one list of S sentences for each reference stream.
        lowercase: whether to ignore case (TER always does).
        tokenize: sacrebleu's tokeniser for BLEU, NIST and LexAcc; TER splits at blanks, chrF needs none.
        bootstrap: samples for the intervals, 0 for none. seed: the seed of the samples.
        measures: which of bleu, chrf, ter, nist, lexacc. Where there is none, references are not needed.

    Raises:
        InputError: counts differ (both are named), there is nothing to score, or a measure or tokeniser is unknown.

    Example:
        >>> evaluate(["the cat sat"], [["the cat sat"]], bootstrap=0, measures=["ter"])["ter"]
        0.0
    """
    streams = checked_references(hypotheses, references) if measures else []
    if bootstrap < 0:
        raise InputError("too few bootstrap samples", seen=bootstrap, expected="0 for none, or 1 and more")
    figures: dict[str, Figure] = {}
    stats: dict[str, Stats] = {}
    for measure in measures:
        measured = measure_sentences(
            measure, hypotheses, streams, lowercase=lowercase, tokenize=tokenize, bootstrap=bootstrap, seed=seed
        )
        stats[measure] = measured.stats
        held = interval(bootstrap_scores(measured.stats, bootstrap, seed)) if bootstrap else None
        figures[measure] = Figure(measured.score, measured.signature, held)
    return Evaluation(figures, stats, len(hypotheses), len(streams), _notes(hypotheses, tokenize))


def _notes(hypotheses: Sequence[str], tokenize: str) -> tuple[str, ...]:
    notes: list[str] = []
    tokenized = sum(line.endswith(TEXT_ENDINGS) for line in hypotheses)
    if tokenize != "none" and tokenized >= TOKENIZED_ENDINGS:
        notes.append(
            f"{tokenized} lines end in a full stop behind a blank: score detokenised text, "
            "or say tokenize=none where hypotheses and references are tokenised alike"
        )
    empty = sum(not line.strip() for line in hypotheses)
    if empty:
        notes.append(f"{empty} hypotheses are empty")
    return tuple(notes)


def digits_of(measure: str) -> int:
    """The digits shown behind the point: those of columns made elsewhere are often below 1."""
    return 2 if measure in MEASURES else 4


def _line(measure: str, figure: Figure) -> str:
    digits = digits_of(measure)
    around = "" if figure.interval is None else f" ± {figure.interval.half_width:.{digits}f}"
    return f"{measure:<7}{figure.score:7.{digits}f}{around}"
