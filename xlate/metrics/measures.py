"""The measures by name: the statistics of every sentence, the score of the text, and the signature."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

import xlate
from xlate.errors import InputError, check_choice
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.scores import chrf_scores, lexical_statistics, nist_statistics, ter_scores
from xlate.metrics.statistics import Stats
from xlate.progress import track


def checked_references(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """The reference streams, each as long as the hypotheses, with missing references as None.

    A blank line in a stream stands for a missing reference, for which sacrebleu has None: the sentence is scored
    against its other references. Where all streams are blank, the first reference is the empty sentence, so that every
    word of a hypothesis there counts as wrong.

    Raises:
        InputError: there are no sentences or no streams, or a stream has another length (both counts are named).
    """
    if isinstance(hypotheses, str) or any(isinstance(stream, str) for stream in references):
        raise InputError(
            "sentences must come as lists",
            "a single string",
            "hypotheses as a list of strings, references as a list of such lists, one a stream",
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
                "as many of the one as of the other",
                "check that both belong to the same source and that no line was lost",
            )
    streams: list[list[str | None]] = [[line if line.strip() else None for line in stream] for stream in references]
    for sentence in range(len(hypotheses)):
        if all(stream[sentence] is None for stream in streams):
            streams[0][sentence] = ""
    return streams


def by_sentence(streams: Sequence[Sequence[str | None]]) -> list[list[str]]:
    """The references of each sentence, without missing ones."""
    return [[line for line in lines if line is not None] for lines in zip(*streams, strict=True)]


MEASURES = ("bleu", "chrf", "ter", "nist", "lexacc")
# The time of TER grows with the third power of the words of a line, and its memory with the second.
MOST_WORDS_OF_TER = 2000
TEXT_ENDINGS = (" .", " !", " ?")

Streams = Sequence[Sequence[str | None]]

logging.getLogger("sacrebleu").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Measured:
    """The statistics of S sentences, their score together, and a signature with the settings it depends on."""

    stats: Stats
    score: float
    signature: str


def measure_sentences(
    measure: str,
    hypotheses: Sequence[str],
    streams: Streams,
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    bootstrap: int = 0,
    seed: int = 12345,
) -> Measured:
    """Measures S hypotheses against reference streams that `references.checked_references` returned.

    Raises:
        InputError: an unknown measure, a tokeniser that is unknown or not installed, or a line too long for TER.
    """
    if measure in _SCORES:
        metric: Any = CHRF(lowercase=lowercase) if measure == "chrf" else TER()
        if measure == "bleu":
            metric = _bleu(tokenize, lowercase)
        if bootstrap:
            metric.n_bootstrap, metric.seed = bootstrap, seed
        # sacrebleu's public corpus_score does not return the statistics; its own significance tests read them here too.
        extracted = _edits if measure == "ter" else type(metric)._extract_corpus_statistics
        rows = extracted(metric, hypotheses, streams)
        stats = Stats(measure, np.asarray(rows, np.float64), _SCORES[measure])
        return Measured(stats, float(metric._aggregate_and_compute(rows).score), str(metric.get_signature()))
    check_choice("unknown measure", measure, MEASURES)
    return _own(measure, hypotheses, streams, lowercase, tokenize, bootstrap, seed)


_SCORES = {"bleu": bleu_scores, "chrf": chrf_scores, "ter": ter_scores}


def tokenizer(tokenize: str, lowercase: bool) -> Any:
    """The function that turns a line into the words that BLEU compares.

    Raises:
        InputError: the tokeniser is unknown or not installed.
    """
    metric = _bleu(tokenize, lowercase)
    return lambda line: metric._preprocess_segment(line).split()


def _own(
    measure: str,
    hypotheses: Sequence[str],
    streams: Streams,
    lowercase: bool,
    tokenize: str,
    bootstrap: int,
    seed: int,
) -> Measured:
    words = tokenizer(tokenize, lowercase)
    given = by_sentence(streams)
    statistics = nist_statistics if measure == "nist" else lexical_statistics
    stats = statistics([words(line) for line in hypotheses], [[words(line) for line in lines] for lines in given])
    counts = {len(lines) for lines in given}
    parts = [
        f"nrefs:{counts.pop() if len(counts) == 1 else 'var'}",
        *([f"bs:{bootstrap}", f"seed:{seed}"] if bootstrap else []),
        f"case:{'lc' if lowercase else 'mixed'}",
        f"tok:{_bleu(tokenize, lowercase).tokenizer_signature}",
        *(["order:5"] if measure == "nist" else ["bag:F1"]),
        f"version:xlate-{xlate.__version__}",
    ]
    return Measured(stats, stats.score(), "|".join(parts))


def _edits(metric: Any, hypotheses: Sequence[str], streams: Streams) -> list[list[float]]:
    given = by_sentence(streams)
    for number, (line, lines) in enumerate(zip(hypotheses, given, strict=True), 1):
        words = max(len(text.split()) for text in (line, *lines))
        if words > MOST_WORDS_OF_TER:
            raise InputError(
                "a line has too many words for TER",
                f"{words:,} words in line {number}",
                f"at most {MOST_WORDS_OF_TER:,}",
                "cut the line into sentences; xlate score measures=[bleu,chrf] leaves TER out",
            )
    counts = {len(lines) for lines in given}
    metric.num_refs = counts.pop() if len(counts) == 1 else -1
    pairs = track(list(zip(hypotheses, given, strict=True)), "TER")
    return [list(_edits_of_sentence(line, tuple(lines))) for line, lines in pairs]


# A sentence takes about 20 ms, and systems that are compared are scored more than once.
@functools.lru_cache(maxsize=1 << 15)
def _edits_of_sentence(hypothesis: str, references: tuple[str, ...]) -> tuple[float, float]:
    metric = TER()
    known = metric._extract_reference_info([metric._preprocess_segment(line) for line in references])
    edits, length = metric._compute_segment_statistics(metric._preprocess_segment(hypothesis), known)
    return float(edits), float(length)


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
            "install what sacrebleu asks for",
        ) from error
