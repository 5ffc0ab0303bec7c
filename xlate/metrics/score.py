"""How good translations are: BLEU, chrF and TER as sacrebleu computes them, NIST and LexAcc, each with its interval."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

import xlate
from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError, check_choice
from xlate.kernels.counting.edits import edit_statistics
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.statistics import (
    Interval,
    Stats,
    bootstrap_counts,
    chrf_scores,
    interval,
    lexical_statistics,
    mean_statistics,
    nist_statistics,
    ter_scores,
)
from xlate.settings import MEASURES
from xlate.text.lines import check_length
from xlate.text.numbers import read_column
from xlate.text.vocabulary import WordNumbers

# The measures of sacrebleu, with our functions from the same statistics to scores.
_SACREBLEU = {"bleu": bleu_scores, "chrf": chrf_scores, "ter": ter_scores}
# The memory of TER grows with the square of the number of words in a line.
MOST_WORDS_OF_TER = 2000
TEXT_ENDINGS = (" .", " !", " ?")
TOKENIZED_ENDINGS = 100

Streams = Sequence[Sequence[str | None]]

logging.getLogger("sacrebleu").addHandler(logging.NullHandler())


def checked_references(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The reference streams, each as long as the hypotheses, with missing references as None.

    A blank line in a stream means a missing reference, for which sacrebleu uses None: the sentence is scored
    against its other references. Where all streams are blank, the first reference is the empty sentence, so that every
    word of the hypothesis counts as wrong.

    Raises:
        InputError: there are no sentences or no streams, or a stream has a different length (both counts are named).
    """
    if isinstance(hypotheses, str) or any(isinstance(stream, str) for stream in references):
        raise InputError(
            "sentences must come as lists",
            "a single string",
            "hypotheses as a list of strings, references as a list of such lists, one per stream",
        )
    if not hypotheses:
        raise InputError("nothing to score", "0 hypotheses", "one sentence or more")
    if not references:
        raise InputError("nothing to score against", "0 reference streams", "one or more")
    for number, stream in enumerate(references):
        if len(stream) != len(hypotheses):
            raise InputError(
                f"reference stream {number} does not fit the hypotheses",
                f"{len(hypotheses)} hypotheses and {len(stream)} references",
                "the same number of each",
                "check that both belong to the same source and that no line was lost",
            )
    streams = [[line if line.strip() else None for line in stream] for stream in references]
    for sentence in range(len(hypotheses)):
        if all(stream[sentence] is None for stream in streams):
            streams[0][sentence] = ""
    return streams


def by_sentence(streams: Sequence[Sequence[str | None]]) -> list[list[str]]:
    """The references of each sentence, without missing ones."""
    return [[line for line in lines if line is not None] for lines in zip(*streams, strict=True)]


@dataclass(frozen=True)
class Figure:
    """A score and the statistics it was computed from.

    Attributes:
        score: BLEU, chrF, TER and LexAcc from 0 to 100, NIST in bits; TER is better when lower.
        signature: every setting the number depends on.
        stats: the statistics of each sentence.
        interval: mean and half width of the 95 % bootstrap interval, None when not requested.
    """

    score: float
    signature: str
    stats: Stats
    interval: Interval | None = None


def measure_sentences(
    measure: str,
    hypotheses: Sequence[str],
    streams: Streams,
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    bootstrap: int = 0,
    seed: int = 12345,
) -> Figure:
    """Measures S hypotheses against reference streams that `checked_references` returned.

    Raises:
        InputError: an unknown measure, a tokeniser that is unknown or not installed, or a line too long for TER.
    """
    check_choice("unknown measure", measure, MEASURES)
    if measure in _SACREBLEU:
        metric: Any = CHRF(lowercase=lowercase) if measure == "chrf" else TER()
        if measure == "bleu":
            metric = _bleu(tokenize, lowercase)
        if bootstrap:
            metric.n_bootstrap, metric.seed = bootstrap, seed
        # sacrebleu's public corpus_score does not return the statistics; its own significance tests read them here too.
        extracted = _edits if measure == "ter" else type(metric)._extract_corpus_statistics
        rows = extracted(metric, hypotheses, streams)
        stats = Stats(np.asarray(rows, np.float64), _SACREBLEU[measure])
        score, signature = float(metric._aggregate_and_compute(rows).score), str(metric.get_signature())
    else:
        words, given = tokenizer(tokenize, lowercase), by_sentence(streams)
        of_measure = nist_statistics if measure == "nist" else lexical_statistics
        stats = of_measure([words(line) for line in hypotheses], [[words(line) for line in lines] for lines in given])
        counts = {len(lines) for lines in given}
        samples = f"bs:{bootstrap}|seed:{seed}|" if bootstrap else ""
        case, tokens = "lc" if lowercase else "mixed", _bleu(tokenize, lowercase).tokenizer_signature
        own = "order:5" if measure == "nist" else "bag:F1"
        # The settings that the figure depends on, in sacrebleu's notation.
        signature = f"nrefs:{counts.pop() if len(counts) == 1 else 'var'}|{samples}case:{case}|tok:{tokens}|{own}"
        score, signature = stats.score(), f"{signature}|version:xlate-{xlate.__version__}"
    return Figure(score, signature, stats, _interval(stats, bootstrap, seed))


def _interval(stats: Stats, bootstrap: int, seed: int) -> Interval | None:
    if not bootstrap:
        return None
    samples = bootstrap_counts(len(stats), bootstrap, seed)
    return interval(np.concatenate([stats.scores(counts_BS @ stats.values_SK) for counts_BS in samples]))


def tokenizer(tokenize: str, lowercase: bool) -> Any:
    """The function that turns a line into the words that BLEU compares.

    Raises:
        InputError: the tokeniser is unknown or not installed.
    """
    metric = _bleu(tokenize, lowercase)
    return lambda line: metric._preprocess_segment(line).split()


def _edits(metric: Any, hypotheses: Sequence[str], streams: Streams) -> Floats:
    given = by_sentence(streams)
    counts = {len(lines) for lines in given}
    metric.num_refs = counts.pop() if len(counts) == 1 else -1
    return edit_rows(hypotheses, np.arange(len(given) + 1), given)


def edit_rows(hypotheses: Sequence[str], candidate_offsets_I1: Ints, references: Sequence[Sequence[str]]) -> Floats:
    """The edits of C hypotheses and their mean reference lengths, (C, 2), as sacrebleu counts them; see `ter_scores`.

    Args:
        hypotheses: C lines. candidate_offsets_I1: which of them belong to each of I lists.
        references: those of each list, one or more.

    Raises:
        InputError: a line is too long.
    """
    numbers, offsets_I1 = WordNumbers(), offsets_of([*map(len, references)])
    words = (line.lower().split() for line in chain(hypotheses, *references))
    text, given = numbers.encode(islice(words, len(hypotheses))), numbers.encode(words)
    for lines, rows_I1 in ((text, candidate_offsets_I1), (given, offsets_I1)):
        length_S = np.diff(lines.offsets_S1)
        for long in np.flatnonzero(length_S > MOST_WORDS_OF_TER).tolist():
            raise InputError(
                "a line has too many words for TER",
                f"{length_S[long]:,} words in line {np.searchsorted(rows_I1, long, side='right')}",
                f"at most {MOST_WORDS_OF_TER:,}",
                "cut the line into sentences; xlate score measures=[bleu,chrf] leaves TER out",
            )
    sides = *text.arrays, candidate_offsets_I1, *given.arrays
    return edit_statistics(*sides, offsets_I1)


def _bleu(tokenize: str, lowercase: bool) -> Any:
    check_choice("unknown tokeniser", tokenize, BLEU.TOKENIZERS)
    try:
        # `force` keeps sacrebleu from logging about tokenised text, which our own notes point out.
        return BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    except (ImportError, RuntimeError) as error:
        raise InputError(
            "a tokeniser that is not installed",
            f"{tokenize}: {error}",
            "13a, intl, zh, char or none, which need nothing more",
            "install the package that sacrebleu names",
        ) from error


@dataclass(frozen=True)
class Evaluation:
    """The figures of one system on one text.

    Attributes:
        figures: the figure of each measure, in the order requested.
        sentences: the number of sentences. references: the number of streams.
        notes: remarks on anything odd about the input.
    """

    figures: Mapping[str, Figure]
    sentences: int
    references: int
    notes: tuple[str, ...]

    def __getitem__(self, measure: str) -> float:
        return self.figures[measure].score

    @property
    def stats(self) -> dict[str, Stats]:
        """For each measure, the statistics of each sentence."""
        return {measure: figure.stats for measure, figure in self.figures.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain values: `sentences`, `references`, and `bleu`, `bleu_interval`, `bleu_mean`, `bleu_signature`, …

        `_interval` is half the width of the 95 % interval. It and `_mean` are left out when no interval was requested.
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
        """One short line per figure, for people; `to_json` has the settings that the figures depend on."""
        lines = [
            _line(measure, figure.score, figure.interval.half_width if figure.interval else None)
            for measure, figure in self.figures.items()
        ]
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

    A blank reference line counts as missing, see `checked_references`.

    Args:
        hypotheses: S sentences.
        references: one list of S sentences per reference stream.
        lowercase: whether to ignore case (TER always does).
        tokenize: sacrebleu's tokeniser for BLEU, NIST and LexAcc; TER splits on blanks, chrF needs none.
        bootstrap: samples for the intervals, 0 for none. seed: the seed of the samples.
        measures: which of bleu, chrf, ter, nist, lexacc. With none of them, references are not needed.

    Raises:
        InputError: counts differ (both are named), there is nothing to score, or a measure or tokeniser is unknown.

    Example:
        >>> evaluate(["the cat sat"], [["the cat sat"]], bootstrap=0, measures=["ter"])["ter"]
        0.0
    """
    streams = checked_references(hypotheses, references) if measures else []
    settings: dict[str, Any] = {"lowercase": lowercase, "tokenize": tokenize, "bootstrap": bootstrap, "seed": seed}
    figures = {measure: measure_sentences(measure, hypotheses, streams, **settings) for measure in measures}
    notes = []
    tokenized = sum(line.endswith(TEXT_ENDINGS) for line in hypotheses)
    if tokenize != "none" and tokenized >= TOKENIZED_ENDINGS:
        notes.append(
            f"{tokenized} lines end in a space and a full stop: score detokenised text, "
            "or set tokenize=none if hypotheses and references are tokenised alike"
        )
    empty = sum(not line.strip() for line in hypotheses)
    if empty:
        notes.append(f"empty hypotheses: {empty}")
    return Evaluation(figures, len(hypotheses), len(streams), tuple(notes))


def digits_of(measure: str) -> int:
    """The number of decimals shown: figures of columns made elsewhere are often below 1."""
    return 2 if measure in MEASURES else 4


def _line(measure: str, score: float, around: float | None) -> str:
    digits = digits_of(measure)
    return f"{measure:<7}{score:7.{digits}f}" + ("" if around is None else f" ± {around:.{digits}f}")


def with_column(
    evaluation: Evaluation, name: str, path: str | Path, bootstrap: int = 1000, seed: int = 12345
) -> Evaluation:
    """An evaluation with the mean of a file's numbers as one more figure, with its interval and statistics.

    Raises:
        InputError: the file does not have one line per sentence, or the name is that of a measure.
    """
    if name in MEASURES or name in evaluation.figures:
        raise InputError("the name of the column is already in use", name, "any name but " + ", ".join(MEASURES))
    values = read_column(path, "one number per line, for the sentence of that line")
    check_length(path, len(values), evaluation.sentences, "a column")
    stats = mean_statistics(np.array(values))
    figure = Figure(stats.score(), f"mean of {Path(path).name}", stats, _interval(stats, bootstrap, seed))
    return replace(evaluation, figures={**evaluation.figures, name: figure})


def system_figures(runs_R: Sequence[Evaluation]) -> tuple[dict[str, Any], str]:
    """The figures of R ≥ 1 runs of one system on the same sentences as plain values, and a line per figure for people.

    For one run they are `Evaluation.to_json` and `summary`. For several the values are `runs`, and for each measure its
    mean under its name, `_deviation`, `_runs` (the figure of each) and `_signature`; a line is mean ± deviation (n),
    with the deviation of a sample (n - 1).
    """
    first, runs = runs_R[0], len(runs_R)
    if runs == 1:
        return first.to_json(), first.summary()
    plain: dict[str, Any] = {"runs": runs, "sentences": first.sentences, "references": first.references}
    lines = []
    for measure, figure in first.figures.items():
        values = [run[measure] for run in runs_R]
        mean, deviation = statistics.fmean(values), statistics.stdev(values)
        plain |= {measure: mean, f"{measure}_deviation": deviation, f"{measure}_runs": values}
        plain[f"{measure}_signature"] = figure.signature
        lines.append(f"{_line(measure, mean, deviation)} ({runs})")
    notes = [f"run {number}: {note}" for number, run in enumerate(runs_R, 1) for note in run.notes]
    if notes:
        plain["notes"] = notes
    return plain, "\n".join([*lines, *(f"note: {note}" for note in notes)])
