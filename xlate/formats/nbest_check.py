"""Finds what is wrong or odd in an n-best list before anything is learned from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays, nbest_arrays, reference_rows
from xlate.errors import InputError
from xlate.formats.nbest_fields import Layout
from xlate.formats.nbest_file import DROP, NbestFile
from xlate.formats.nbest_list import UNNUMBERED, Hypothesis, check_order, numbered_lines, refused
from xlate.formats.nbest_totals import check_totals
from xlate.text.tokens import split_tokens


@dataclass
class NbestReport:
    """What the check of an n-best list found.

    Attributes:
        lines: the number of lines. arrays: the lists without the lines that cannot be used, None when they do not fit
            together.
        errors: why the list cannot be used, in the order of the file.
        oddities: how often each was found. examples: the first of each in words, with its line.
    """

    lines: int = 0
    arrays: NbestArrays | None = None
    errors: list[InputError] = field(default_factory=list)
    oddities: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def note(self, oddity: str, line: int | None, seen: object, times: int = 1) -> None:
        """Counts an oddity and keeps the first one as the example."""
        if times:
            self.oddities[oddity] += times
            self.examples.setdefault(oddity, f"{seen}" if line is None else f"line {line}: {seen}")

    def to_json(self) -> dict[str, Any]:
        """Plain values: the numbers of lines, lists, hypotheses and features, and the errors and oddities."""
        plain: dict[str, Any] = {"lines": self.lines, "errors": len(self.errors), "oddities": dict(self.oddities)}
        if self.arrays is not None:
            sizes_I = np.diff(self.arrays.candidate_offsets_I1)
            plain["lists"], plain["hypotheses"] = len(sizes_I), int(sizes_I.sum())
            plain["shortest"], plain["longest"] = int(sizes_I.min()), int(sizes_I.max())
            plain["features"] = len(self.arrays.names)
        return plain

    def summary(self, most: int = 10) -> str:
        """The first errors, and one line for each oddity."""
        lines = [str(error) for error in self.errors[:most]]
        if len(self.errors) > most:
            lines.append(f"… and {len(self.errors) - most} more errors")
        lines += [f"{oddity}: {count}, first {self.examples[oddity]}" for oddity, count in self.oddities.items()]
        return "\n".join(lines) or "nothing odd"


def check_nbest(
    nbest: NbestFile | str | Path,
    *,
    references: Mapping[str, int] | None = None,
    first_sentence: int | None = None,
    weights: Mapping[str, float] | None = None,
) -> NbestReport:
    """Reads a list to its end and collects all that is wrong with it.

    Errors are lines that cannot be read (`|||` inside the text, text in the place of numbers), hypotheses of one
    sentence in several places, features with a changing number of values, and references that do not fit. Oddities,
    with which a list can still be used, are empty hypotheses, duplicates, gaps in the sentence numbers, features that
    are not on every line, totals that are missing or not weights times features, segmentations that do not cover all
    words once, links to words that are not there, and lists without sentence numbers.

    Duplicates that are to be dropped are no hypotheses of `arrays`. Lists of other systems, with which it would be
    merged, are not looked at.

    Args:
        nbest: the list. references: the number of lines of each reference file, by its name.
        first_sentence: see `candidates.nbest_store.reference_rows`.
        weights: the weight of each column, by name; see `check_totals`.

    Raises:
        InputError: the file cannot be read as text.
    """
    file = nbest if isinstance(nbest, NbestFile) else NbestFile(nbest)
    checker = _Checker(file)
    report = checker.report
    try:
        report.arrays = nbest_arrays(checker.lists(), file.path)
        if references:
            lengths, first = list(references.values()), next(iter(references))
            reference_rows(report.arrays.sentence_I, lengths, first_sentence, file=first)
    except InputError as error:
        # A list is not called empty too when none of its lines can be read; where some cannot, numbers beside it are
        # not those of its hypotheses.
        counted = bool(file.added) and bool(report.errors)
        if (checker.usable and not counted) or not report.errors:
            report.errors.append(error)
    if report.arrays is not None and report.arrays.names:
        _check_columns(report, checker.usable)
        _check_totals(report, report.arrays, checker.usable, weights)
    return report


class _Checker:
    """Goes through the lines and notes what is odd; `usable` are the numbers of the lines that can be used."""

    def __init__(self, file: NbestFile) -> None:
        self.file = file
        self.path = file.path
        self.report = NbestReport()
        self.usable: list[int] = []
        self._layout: Layout | None = None

    def lists(self) -> Iterator[list[Hypothesis]]:
        """Yields the usable hypotheses of each sentence in turn."""
        done: set[int] = set()
        group: list[Hypothesis] = []
        texts: dict[str, int] = {}
        for hypothesis in self.file.with_columns(self._readable()):
            before = group[-1] if group else None
            if not self._in_order(hypothesis, done, before):
                continue
            if before is not None and before.sentence != hypothesis.sentence:
                yield group
                group, texts = [], {}
            if before is None or before.sentence != hypothesis.sentence:
                self._check_number(hypothesis, before)
            done.add(hypothesis.sentence)
            self._check_phrases(hypothesis)
            if self._check_text(hypothesis, texts) and self.file.duplicates == DROP:
                continue
            group.append(hypothesis)
            self.usable.append(hypothesis.line)
        if group:
            yield group

    def _readable(self) -> Iterator[Hypothesis]:
        style = self.file.style()
        for number, line in numbered_lines(self.path):
            self.report.lines = number
            try:
                found = style.line(line, number)
            except ValueError as error:
                self.report.errors.append(refused(self.path, number, line, error, style))
                continue
            if found is not None:
                yield found
        try:
            found = style.end()
        except ValueError as error:
            refusal = refused(self.path, self.report.lines, "the end of the file", error, style)
            self.report.errors.append(refusal)
            return
        if found is not None:
            yield found

    def _in_order(self, hypothesis: Hypothesis, done: set[int], before: Hypothesis | None) -> bool:
        if hypothesis.sentence == UNNUMBERED:
            self.report.note("no sentence number: cannot be imported", hypothesis.line, hypothesis.fields[0])
            return before is None or before.sentence == UNNUMBERED
        try:
            check_order(self.path, hypothesis, done, before)
        except InputError as error:
            self.report.errors.append(error)
            return False
        return True

    def _check_number(self, hypothesis: Hypothesis, before: Hypothesis | None) -> None:
        number = hypothesis.sentence
        if before is None and number > 0:
            self.report.note("numbers do not begin with 0", hypothesis.line, number)
        elif before is not None and number != before.sentence + 1:
            self.report.note("gaps in the numbers", hypothesis.line, f"{number} behind {before.sentence}")

    def _check_text(self, hypothesis: Hypothesis, texts: dict[str, int]) -> bool:
        """Whether an earlier hypothesis of the sentence has the same words."""
        if not hypothesis.text:
            self.report.note("empty hypotheses", hypothesis.line, f"sentence {hypothesis.sentence}")
        first = texts.setdefault(hypothesis.text, hypothesis.line)
        if first != hypothesis.line:
            self.report.note("duplicates", hypothesis.line, f"as line {first}")
        if hypothesis.total is None:
            self.report.note("no total", hypothesis.line, hypothesis.text)
        return first != hypothesis.line

    def _check_phrases(self, hypothesis: Hypothesis) -> None:
        if "|" not in "".join(hypothesis.fields[1:2]) and len(hypothesis.fields) < hypothesis.features + 3:
            return
        words = len(split_tokens(hypothesis.text))
        spans, links = hypothesis.spans(), hypothesis.links()
        if spans is not None:
            ends = [0, *(span.target[1] for span in spans)]
            if [span.target[0] for span in spans] != ends[:-1] or ends[-1] != words:
                self.report.note("segmentations that do not tile the words", hypothesis.line, f"{words} words")
        outside = next((link for link in links or [] if link[1] >= words), None)
        if outside is not None:
            self.report.note("links outside the words", hypothesis.line, f"{outside[0]}-{outside[1]}, {words} words")


def _check_columns(report: NbestReport, lines: list[int]) -> None:
    """Notes lines that lack a dense feature; a feature on most lines counts as one."""
    assert report.arrays is not None
    arrays, hypotheses = report.arrays, len(report.arrays.total_C)
    count_M = np.bincount(arrays.columns_V, minlength=len(arrays.names))
    candidate_V = row_numbers(arrays.value_offsets_C1)
    for column in np.flatnonzero((count_M < hypotheses) & (count_M > 0.9 * hypotheses)):
        present = candidate_V[arrays.columns_V == column]
        line = lines[int(np.setdiff1d(np.arange(hypotheses), present)[0])]
        report.note("features missing on few lines", line, arrays.names[column])


def _check_totals(
    report: NbestReport, arrays: NbestArrays, lines: list[int], weights: Mapping[str, float] | None
) -> None:
    checked = check_totals(arrays, weights)
    if checked is None or (checked.fitted and 2 * len(checked.off) > len(arrays.total_C)):
        # Where no weights fit most of them, totals are of another kind, such as means by length.
        return
    words = "totals that are no sum of weighted features" if checked.fitted else "totals that are not w · f"
    if len(checked.off):
        first = int(checked.off[0])
        seen = f"{arrays.total_C[first]:.6g}, off by {checked.difference_C[first]:.3g}"
        report.note(words, lines[first], seen, len(checked.off))
    if not checked.fitted and checked.constant > 0.01:
        seen = f"up to {checked.constant:.6g}, the same for all of a sentence"
        report.note("a part of the totals that no feature shows", None, seen)
