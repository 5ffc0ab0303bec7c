"""N-best lists of any system, line by line: Moses old and new, Joshua, cdec, Phrasal, Marian.

`id ||| text ||| features ||| total`, the total and everything behind it (segmentation, word links) as they may be
missing; Marian's soft alignments may stand before the features, `|0-1|` marks between the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from xlate.errors import InputError
from xlate.formats.nbest_fields import FeatureParser, Layout, is_soft_alignment, parse_total
from xlate.formats.nbest_phrases import Span, field_links, field_spans, marked_spans, without_marks
from xlate.progress import track
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.numbers import parse_int, shown

BAR = "|||"
UNNUMBERED = -1
_QUOTED = re.compile(r'"(\S+) (.*)"')
_EXPECTED = "id ||| text ||| features ||| total"


class Hypothesis(NamedTuple):
    """One line of an n-best list.

    Attributes:
        line: where it stands in its file, from 1.
        sentence: its number as written, `UNNUMBERED` in the style that has none.
        text: tokens between blanks, without segmentation marks.
        layout: feature names with how many values each has; values: all of them one behind the other.
        total: the score as written, None when there is none.
        fields: the fields as written, without the blanks around them; features: which of them holds the features.
    """

    line: int
    sentence: int
    text: str
    layout: Layout
    values: list[float]
    total: float | None
    fields: tuple[str, ...]
    features: int

    def spans(self) -> list[Span] | None:
        """The phrase segmentation in target order, None when the line has none."""
        extra = (field_spans(field) for field in self.fields[self.features + 2 :])
        return marked_spans("".join(self.fields[1:2])) or next((found for found in extra if found is not None), None)

    def links(self) -> list[tuple[int, int]] | None:
        """The word links, source first, None when the line has none."""
        extra = (field_links(field) for field in self.fields[self.features + 2 :])
        return next((found for found in extra if found is not None), None)

    def with_total(self, total: float) -> Hypothesis:
        """The same hypothesis with another total; nothing else of the line changes."""
        behind = self.fields[self.features + 2 :]
        fields = (*self.fields[: self.features + 1], f"{total:.9g}", *behind)
        return self._replace(total=total, fields=fields)


def iterate_hypotheses(path: str | Path) -> Iterator[Hypothesis]:
    """Reads an n-best list, plain or gzip, one line at a time.

    Raises:
        InputError: with the line, when it is ill-formed: fields missing, an id or value that is no number, `|||`
            inside the text, a feature that stands twice; and what `iterate_lines` raises.
    """
    parser = FeatureParser()
    for number, line in enumerate(iterate_lines(path), start=1):
        try:
            yield parse_hypothesis(line, number, parser)
        except ValueError as error:
            raise refused(path, number, line, error) from error


def parse_hypothesis(line: str, number: int, parser: FeatureParser) -> Hypothesis:
    """One line.

    Raises:
        ValueError: saying what is wrong with it.
    """
    fields = tuple([field.strip(" ") for field in line.split(BAR)])
    if len(fields) < 3:
        return _quoted(line, number, fields)
    sentence = _sentence(fields[0])
    place, (layout, values) = 2, _features(fields, parser)
    if layout is None:
        place, (layout, values) = 3, parser.parse(fields[3])
    try:
        total = parse_total(fields[place + 1]) if len(fields) > place + 1 else None
    except ValueError as error:
        raise _bars_or(error, fields[place + 1 :]) from None
    return Hypothesis(number, sentence, without_marks(fields[1]), layout, values, total, fields, place)


def refused(path: str | Path, line: int, seen: str, error: ValueError) -> InputError:
    """The error for a line that cannot be read."""
    return InputError(str(error), file=path, line=line, seen=seen, expected=_EXPECTED, remedy="mend or remove the line")


def by_sentence(hypotheses: Iterable[Hypothesis], path: str | Path) -> Iterator[list[Hypothesis]]:
    """Yields the hypotheses of one sentence after the other, in the order of the file.

    Raises:
        InputError: with the line, when a sentence comes back after another one, or has no number.
    """
    done: set[int] = set()
    group: list[Hypothesis] = []
    for hypothesis in hypotheses:
        check_order(path, hypothesis, done, group[-1] if group else None)
        if group and group[-1].sentence != hypothesis.sentence:
            yield group
            group = []
        done.add(hypothesis.sentence)
        group.append(hypothesis)
    if group:
        yield group


def check_order(path: str | Path, hypothesis: Hypothesis, done: set[int], before: Hypothesis | None) -> None:
    """Raises InputError when a hypothesis has no sentence number or its sentence was left before (it is in `done`)."""
    if hypothesis.sentence == UNNUMBERED:
        raise InputError(
            "no sentence number",
            file=path,
            line=hypothesis.line,
            seen=hypothesis.fields[0],
            expected=_EXPECTED,
            remedy="where one list ends cannot be told: write the number of the sentence before each line",
        )
    if hypothesis.sentence in done and before is not None and before.sentence != hypothesis.sentence:
        raise InputError(
            "a sentence that came before",
            file=path,
            line=hypothesis.line,
            seen=f"{hypothesis.sentence} behind {before.sentence}",
            expected="the hypotheses of a sentence together",
            remedy="sort the lines by their number, for example with sort -s -n",
        )


def write_nbest(path: str | Path, hypotheses: Iterable[Hypothesis]) -> None:
    """Writes hypotheses with their fields as they are, gzip when the name ends in .gz, whole or not at all."""
    write_lines(path, (format_hypothesis(hypothesis) for hypothesis in track(hypotheses, "writing n-best list")))


def format_hypothesis(hypothesis: Hypothesis) -> str:
    """The line of a hypothesis, fields between ` ||| `.

    Example: `0 ||| this is it ||| d: 0 lm: -4.5 ||| -14.6`
    """
    return f" {BAR} ".join(hypothesis.fields)


def _sentence(field: str) -> int:
    try:
        return parse_int(field)
    except ValueError:
        fault = "out of range" if field.isdigit() else "no number"
        raise ValueError(f"the sentence number is {fault}: {shown(field)}") from None


def _features(fields: tuple[str, ...], parser: FeatureParser) -> tuple[Layout | None, list[float]]:
    """The features in the third field; None when those of Marian's soft alignment lines stand in the fourth."""
    try:
        return parser.parse(fields[2])
    except ValueError as error:
        if len(fields) > 4 and is_soft_alignment(fields[2]):
            return None, []
        raise _bars_or(error, fields[3:]) from None


def _bars_or(error: ValueError, behind: Sequence[str]) -> ValueError:
    """The better reason why a field cannot be read: when features stand in a later one, bars in the text moved them."""
    return ValueError(f"{BAR} inside the text") if any(map(_labelled, behind)) else error


def _labelled(field: str) -> bool:
    try:
        FeatureParser().parse(field)
    except ValueError:
        return False
    return "=" in field or ":" in field


def _quoted(line: str, number: int, fields: tuple[str, ...]) -> Hypothesis:
    """Joshua's `"score text"`, which has no sentence numbers."""
    quoted = _QUOTED.fullmatch(line) if len(fields) == 1 else None
    if quoted is None:
        raise ValueError("too few fields")
    return Hypothesis(number, UNNUMBERED, quoted[2], (), [], parse_total(quoted[1]), fields, 0)
