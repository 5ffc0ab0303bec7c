"""xlate compare: two systems' outputs side by side, whatever made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.config.schema import CompareConfig
from xlate.errors import InputError
from xlate.jobs.outputs import Output, read_output, references_for, work_of
from xlate.metrics.differences import Bucket, NgramChange, frequency_buckets, length_buckets, ngram_changes
from xlate.metrics.measures import tokenizer
from xlate.metrics.significance import PairedTests, paired_runs, sentence_statistics
from xlate.text.lines import iterate_lines, read_lines
from xlate.work.directory import WorkDirectory

# Sentences are compared by chrF, since most short ones have a BLEU of 0.
OF_SENTENCES = "chrf"

Cut = Callable[[str], list[str]]


@dataclass(frozen=True)
class Example:
    """A sentence in both outputs, with the chrF of each; `number` counts from 1."""

    number: int
    ours: str
    theirs: str
    references: Sequence[str]
    source: str | None
    scores: tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """What is to be said of two outputs.

    Attributes:
        by_frequency: None when there is no training text to count in.
        gained, lost: n-grams that A has right more often than B, and less often.
        better, worse: sentences in which A is better than B by most, and worse.
        same: how many sentences are the same in both.
    """

    names: tuple[str, str]
    sentences: int
    same: int
    tests: PairedTests
    by_length: list[Bucket]
    by_frequency: list[Bucket] | None
    gained: list[NgramChange]
    lost: list[NgramChange]
    better: list[Example]
    worse: list[Example]


def compare(config: CompareConfig) -> Comparison:
    """Compares the two outputs that a configuration names.

    Raises:
        InputError: files that cannot be read or do not fit together, or no references.
    """
    outputs = [read_output(path, config.split) for path in (config.a, config.b)]
    references = references_for(outputs, config.ref, config.split)
    return _Compared(config, outputs, references).comparison()


class _Compared:
    """Two outputs and what stands beside them."""

    def __init__(self, config: CompareConfig, outputs: Sequence[Output], references: list[list[str]]) -> None:
        self.config = config
        self.ours, self.theirs = outputs
        self.references = references
        self.work = work_of(outputs)
        self.our_stats, self.their_stats = (
            sentence_statistics(output.lines, references, lowercase=config.lowercase, tokenize=config.tokenize)
            for output in outputs
        )

    def comparison(self) -> Comparison:
        cut = tokenizer(self.config.tokenize, self.config.lowercase)
        ours, theirs = ([cut(line) for line in output.lines] for output in (self.ours, self.theirs))
        references_S = [[cut(line) for line in lines] for lines in zip(*self.references, strict=True)]
        gained, lost = ngram_changes(ours, theirs, references_S, self.config.top)
        better, worse = self._examples()
        return Comparison(
            names=self._names(),
            sentences=len(self.ours.lines),
            same=sum(one == other for one, other in zip(self.ours.lines, self.theirs.lines, strict=True)),
            tests=paired_runs([self.our_stats], [self.their_stats]),
            by_length=length_buckets(
                self.our_stats["bleu"], self.their_stats["bleu"], [lines[0] for lines in references_S]
            ),
            by_frequency=self._by_frequency(),
            gained=gained,
            lost=lost,
            better=better,
            worse=worse,
        )

    def _names(self) -> tuple[str, str]:
        if self.ours.name != self.theirs.name:
            return self.ours.name, self.theirs.name
        return self.config.a, self.config.b

    def _by_frequency(self) -> list[Bucket] | None:
        """Words as the training text of the run has them, or, in a plain text, as BLEU compares them, lowercased."""
        work = self._work_of_frequency()
        if self.config.train is not None:
            cut = tokenizer(self.config.tokenize, True)
            counts = Counter(word for line in iterate_lines(self.config.train) for word in cut(line))
        elif work is not None:
            cut = work.target_tokens
            counts = Counter(word for line in work.training_tokens("target") for word in line)
        else:
            return None
        texts = self.ours.lines, self.theirs.lines, self.references[0]
        ours, theirs, wanted = ([cut(line) for line in lines] for lines in texts)
        return frequency_buckets(ours, theirs, wanted, counts)

    def _work_of_frequency(self) -> WorkDirectory | None:
        held = self.work is not None and (self.work.path / "corpus" / "train.target.gz").exists()
        return self.work if held else None

    def _examples(self) -> tuple[list[Example], list[Example]]:
        first, second = (
            stats[OF_SENTENCES].scores(stats[OF_SENTENCES].values_SK) for stats in (self.our_stats, self.their_stats)
        )
        difference_S = first - second
        order = np.argsort(-difference_S, kind="stable").tolist()
        made = [self._example(n, float(first[n]), float(second[n])) for n in order[: self.config.top]]
        last = [self._example(n, float(first[n]), float(second[n])) for n in order[::-1][: self.config.top]]
        return [e for e in made if e.scores[0] > e.scores[1]], [e for e in last if e.scores[0] < e.scores[1]]

    def _example(self, number: int, ours: float, theirs: float) -> Example:
        return Example(
            number=number + 1,
            ours=self.ours.lines[number],
            theirs=self.theirs.lines[number],
            references=[stream[number] for stream in self.references if stream[number].strip()],
            source=self._source[number] if self._source is not None else None,
            scores=(ours, theirs),
        )

    @cached_property
    def _source(self) -> list[str] | None:
        if self.config.src is not None:
            lines = read_lines(self.config.src)
            if len(lines) != len(self.ours.lines):
                seen = f"{len(lines)} lines of source and {len(self.ours.lines)} translations"
                raise InputError(
                    "a source of another length", file=self.config.src, seen=seen, expected="as many lines"
                )
            return lines
        if self.work is None or not self.work.has_split(self.config.split):
            return None
        lines = self.work.source_lines(self.config.split)[: len(self.ours.lines)]
        return lines if len(lines) == len(self.ours.lines) else None
