"""Finds errors and oddities in an n-best list before anything is learned from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays, read_references
from xlate.errors import InputError
from xlate.formats.nbest_file import DROP, NbestFile, nbest_arrays
from xlate.formats.nbest_list import MARK, UNNUMBERED, Hypothesis, NbestFaults, check_order
from xlate.text.tokens import split_tokens

_PIECE = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?=([0-9]{1,9})(?:-([0-9]{1,9}))?")
_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
ROUNDS = 8
MOST_COLUMNS = 100
# The errors that are shown one by one.
MOST_ERRORS = 10


def printed_error(values: Floats) -> Floats:
    """Half a unit in the last printed digit of each value of a column.

    A column has a fixed number of either decimals or significant digits; whichever loses more is assumed. A column of
    whole numbers loses nothing.

    Example: -103.644 among numbers of six digits: 0.0005
    """
    decimals = next((d for d in range(16) if _close(np.round(values, d), values)), 16)
    if decimals == 0:
        return np.zeros_like(values)
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    units = (10.0 ** (size + 1 - s) for s in range(1, 17))
    unit = next((unit for unit in units if _close(np.round(values / unit) * unit, values)), 10.0 ** (size - 16))
    return 0.5 * np.maximum(10.0**-decimals, np.where(values == 0, 0.0, unit))


def _close(one: Floats, other: Floats) -> bool:
    return np.allclose(one, other, rtol=1e-13, atol=1e-300)


def _tolerance(arrays: NbestArrays, weights: Mapping[str, float], fitted: bool) -> Floats:
    """Twice the possible printing error, because the sums were rounded too; more if weights were fitted."""
    error_V = np.zeros(len(arrays.values_V))
    if len(arrays.names) <= MOST_COLUMNS:
        for column, name in enumerate(arrays.names):
            places = np.flatnonzero(arrays.columns_V == column)
            error_V[places] = abs(weights.get(name, 0.0)) * printed_error(arrays.values_V[places])
    candidate_V = row_numbers(arrays.value_offsets_C1)
    error_C = np.bincount(candidate_V, error_V, minlength=len(arrays.total_C)) + printed_error(arrays.total_C)
    return (4.0 if fitted else 2.0) * error_C + 1e-5 * np.maximum(1.0, np.abs(arrays.total_C))


def _fitted(arrays: NbestArrays) -> dict[str, float]:
    offsets = arrays.candidate_offsets_I1
    features_CM = arrays.table(arrays.names)
    list_C = row_numbers(offsets)
    spread_I = np.maximum.reduceat(arrays.total_C, offsets[:-1]) - np.minimum.reduceat(arrays.total_C, offsets[:-1])
    kept_C = (spread_I <= np.median(spread_I))[list_C]
    weights_M = np.zeros(features_CM.shape[1])
    for _ in range(ROUNDS):
        count_I = np.maximum(1, np.bincount(list_C[kept_C], minlength=len(spread_I)))
        centred = [
            column - (np.bincount(list_C[kept_C], column[kept_C], minlength=len(spread_I)) / count_I)[list_C]
            for column in (*features_CM.T, arrays.total_C)
        ]
        table = np.stack(centred, axis=1)[kept_C]
        weights_M = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=1e-10)[0]
        residual_C = arrays.total_C - features_CM @ weights_M
        away_C = np.abs(residual_C - _medians(residual_C, offsets)[list_C])
        kept_C, before_C = away_C <= np.median(away_C), kept_C
        if (kept_C == before_C).all():
            break
    return dict(zip(arrays.names, weights_M.tolist(), strict=True))


def _medians(values_C: Floats, offsets_I1: Ints) -> Floats:
    """The median of each list, the lower of two middle values."""
    lists = row_numbers(offsets_I1)
    order = np.lexsort((values_C, lists))
    return np.asarray(values_C[order[(offsets_I1[:-1] + offsets_I1[1:] - 1) // 2]])


@dataclass
class NbestReport(NbestFaults):
    """The findings about an n-best list; its errors say why the list cannot be used, in the order of the file.

    Attributes:
        arrays: the lists without unusable lines, None if they do not fit together. references: those of each list.
        oddities: how often each was found. examples: the first of each in words, with its line.
    """

    arrays: NbestArrays | None = None
    references: list[list[str]] = field(default_factory=list)
    oddities: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def note(self, oddity: str, line: int | None, seen: object, times: int = 1) -> None:
        """Counts an oddity and keeps the first one as the example."""
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

    def summary(self) -> str:
        """The first errors, and one line for each oddity."""
        lines = [str(error) for error in self.errors[:MOST_ERRORS]]
        if len(self.errors) > MOST_ERRORS:
            lines.append(f"… and {len(self.errors) - MOST_ERRORS} more errors")
        lines += [f"{oddity}: {count}, first {self.examples[oddity]}" for oddity, count in self.oddities.items()]
        return "\n".join(lines) or "nothing odd"


def check_nbest(
    file: NbestFile,
    *,
    references: Sequence[str] = (),
    first_sentence: int | None = None,
    weights: Mapping[str, float] | None = None,
) -> NbestReport:
    """Reads a list to its end and collects all faults.

    Errors are unreadable lines (`|||` inside the text, text in the place of numbers), hypotheses of one sentence in
    several places, features with a changing number of values, and references that do not fit. Oddities, with which a
    list can still be used, are empty hypotheses, duplicates, gaps in the sentence numbers, features missing on some
    lines, totals that are missing or not weights times features, segmentations that do not cover every word exactly
    once, links to words that do not exist, and lists without sentence numbers.

    `arrays` leaves out duplicates that are to be dropped. The other systems' lists to merge with it are not checked.

    Args:
        file: the list. references: the files of references.
        first_sentence: see `candidates.nbest.reference_rows`.
        weights: the weight of each column, by name; see `_check_totals`.

    Raises:
        InputError: the file cannot be read as text.
    """
    report = NbestReport()
    try:
        report.arrays = nbest_arrays(_lists(file, report), file.path)
        report.references = read_references(references, report.arrays.sentence_I, first_sentence)
    except InputError as error:
        # If no line can be read, the list is not also reported as empty; if some lines cannot, numbers from added files
        # no longer match its hypotheses.
        if not report.errors or report.arrays is not None or (error.line is not None and not file.added):
            report.errors.append(error)
    if report.arrays is not None and report.arrays.names:
        hypotheses, count_M = len(report.arrays.total_C), np.bincount(report.arrays.columns_V)
        # A feature on most lines is a dense one.
        for column in np.flatnonzero((count_M < hypotheses) & (count_M > 0.9 * hypotheses)):
            name = report.arrays.names[column]
            line = int(report.arrays.line_C[report.arrays.without(name)[0]])
            report.note("features missing on few lines", line, name)
        _check_totals(report, report.arrays, weights)
    return report


def _lists(file: NbestFile, report: NbestReport) -> Iterator[list[Hypothesis]]:
    """Yields the usable hypotheses of each sentence and notes oddities."""
    for sentence, group in groupby(_in_order(file, report), attrgetter("sentence")):
        kept = []
        lines: dict[str, int] = {}
        for hypothesis in group:
            _note_phrases(report, hypothesis)
            first = lines.setdefault(hypothesis.text, hypothesis.line)
            if not hypothesis.text:
                report.note("empty hypotheses", hypothesis.line, f"sentence {sentence}")
            if first != hypothesis.line:
                report.note("duplicates", hypothesis.line, f"as line {first}")
            if hypothesis.total is None:
                report.note("no total", hypothesis.line, hypothesis.text)
            if first == hypothesis.line or file.duplicates != DROP:
                kept.append(hypothesis)
        yield kept


def _in_order(file: NbestFile, report: NbestReport) -> Iterator[Hypothesis]:
    done: set[int] = set()
    before = None
    for hypothesis in file.hypotheses(report):
        number = hypothesis.sentence
        if number == UNNUMBERED:
            report.note("no sentence number: cannot be imported", hypothesis.line, hypothesis.fields[0])
            if before is not None and before.sentence != UNNUMBERED:
                continue
        else:
            try:
                check_order(file.path, hypothesis, done, before)
            except InputError as error:
                report.errors.append(error)
                continue
        if before is None and number > 0:
            report.note("numbers do not begin with 0", hypothesis.line, number)
        elif before is not None and number not in (before.sentence, before.sentence + 1):
            report.note("gaps in the numbers", hypothesis.line, f"{number} after {before.sentence}")
        done.add(number)
        before = hypothesis
        yield hypothesis


def _note_phrases(report: NbestReport, hypothesis: Hypothesis) -> None:
    """Notes links to words that do not exist, and segmentations that do not cover every word exactly once.

    A segmentation is given by marks or in a field `0-1=0-1 2=2`.
    """
    text = "".join(hypothesis.fields[1:2])
    if "|" not in text and len(hypothesis.fields) < hypothesis.features + 3:
        return
    words, marks = len(split_tokens(hypothesis.text)), list(MARK.finditer(text))
    tiled = not marks or not split_tokens(text[marks[-1].end() :])
    if not marks and (pieces := _behind(hypothesis, _PIECE)):
        ends = [0, *(int(piece[2] or piece[1]) + 1 for piece in pieces)]
        tiled = [int(piece[1]) for piece in pieces] == ends[:-1] and ends[-1] == words
    if not tiled:
        report.note("segmentations that do not tile the words", hypothesis.line, f"{words} words")
    outside = next((link for link in _behind(hypothesis, _LINK) if int(link[2]) >= words), None)
    if outside is not None:
        seen = f"{int(outside[1])}-{int(outside[2])}, {words} words"
        report.note("links outside the words", hypothesis.line, seen)


def _behind(hypothesis: Hypothesis, form: re.Pattern[str]) -> list[re.Match[str]]:
    """The pieces of the first field after the total that consists only of pieces of this form."""
    for text in hypothesis.fields[hypothesis.features + 2 :]:
        tokens = text.split()
        found = [match for match in map(form.fullmatch, tokens) if match is not None]
        if tokens and len(found) == len(tokens):
            return found
    return []


def _check_totals(report: NbestReport, arrays: NbestArrays, weights: Mapping[str, float] | None) -> None:
    """Notes totals that are not w · f, up to a constant per sentence, since ranking depends on differences only.

    Some parts of a score are the same for all hypotheses of a sentence and are not printed with the features, such as
    Moses's penalty for unknown words; the median difference of a sentence estimates them. If no weights are given, they
    are fitted by least squares to the best-fitting half of the hypotheses, until that half no longer changes (least
    trimmed squares, Rousseeuw 1984), so a few wrong totals do not affect them. Nothing is compared if a total is
    missing, or if there are no weights and too many features to fit them.
    """
    candidates, columns = len(arrays.total_C), len(arrays.names)
    if not arrays.has_totals:
        return
    fitted, words = weights is None, "totals that are not w · f"
    if weights is None:
        if columns > MOST_COLUMNS or candidates - len(arrays.sentence_I) < 4 * columns:
            return
        weights, words = _fitted(arrays), "totals that are no sum of weighted features"
    difference_C = arrays.total_C - arrays.scores(weights)
    common_I = _medians(difference_C, arrays.candidate_offsets_I1)
    difference_C = difference_C - np.repeat(common_I, np.diff(arrays.candidate_offsets_I1))
    off = np.flatnonzero(np.abs(difference_C) > _tolerance(arrays, weights, fitted))
    if fitted and 2 * len(off) > candidates:
        # If no weights fit most of them, totals are of another kind, such as means by length.
        return
    if len(off):
        seen = f"{arrays.total_C[off[0]]:.6g}, off by {difference_C[off[0]]:.3g}"
        report.note(words, int(arrays.line_C[off[0]]), seen, len(off))
    constant = float(np.abs(common_I).max())
    if not fitted and constant > 0.01:
        seen = f"up to {constant:.6g}, the same for all hypotheses of a sentence"
        report.note("a part of the totals that no feature shows", None, seen)
