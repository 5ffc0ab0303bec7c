"""N-best lists of any system, line by line: Moses old and new, Joshua, cdec, Phrasal, Marian.

A line is `id ||| text ||| features ||| total`. The total and the fields after it (segmentation, word links) may be
missing. Marian's alignments and word scores may precede the features, and marks such as `|0-1|` may be among the words.
`nbest_file.py` reads lists in other forms into the same hypotheses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from xlate.errors import InputError, shown
from xlate.formats.arrow_tables import is_table, table_rows
from xlate.progress import track
from xlate.text.lines import LONGEST_RECORD, iterate_lines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_floats, parse_int
from xlate.text.tokens import same_letters

# A segmentation mark after a phrase, as in `the house |0-1|`.
MARK = re.compile(r"(?:^| )\|([0-9]{1,9})-([0-9]{1,9})(?:,[^| ]*)?\|(?= |$)")
Layout = tuple[tuple[str, int], ...]
UNLABELLED = "F"
# Marian's scores of words: their number varies with the words, so they are no feature.
WORD_SCORES = "WordScores="
# Values are stored and used in 32 bits.
LARGEST = LARGEST_FLOAT32
_COUNT = itemgetter(1)
# Only numbers and their separators, as in Marian's alignments before the features.
_SOFT = re.compile(r"[0-9eE.,+ -]+")


class FeatureParser:
    """Reads feature fields; for speed, the pattern of a line is tried first on the next one.

    It reads `Name= v v` (Moses, Marian), `name: v v` (old Moses, Phrasal), `name=v` (Joshua, cdec), and numbers without
    names, which become values of the feature `F`.

    Example:
        >>> FeatureParser().parse("d: 0 -7.6 w: -9")
        ((('d', 2), ('w', 1)), [0.0, -7.6, -9.0])
        >>> FeatureParser().parse("lm_0=-28.045 Glue=1")
        ((('lm_0', 1), ('Glue', 1)), [-28.045, 1.0])
    """

    def __init__(self) -> None:
        self._length = -1
        self._labels: Any = None
        self._label_places: Any = None
        self._value_places: Any = None
        self._layout: Layout = ()
        self._before: Layout = ()
        self._singles = _Singles()

    def parse(self, field: str) -> tuple[Layout, list[float]]:
        """The names with the number of values of each, and all values in order.

        Raises:
            ValueError: a value is not a finite 32-bit number, or a name has no values or occurs twice.
        """
        tokens = field.split(" ")
        if "" in tokens:
            tokens = [token for token in tokens if token]
        if len(tokens) == self._length and self._label_places(tokens) == self._labels:
            values = parse_floats(self._value_places(tokens), LARGEST)
            if values is not None:
                return self._layout, values
        return self._parse(tokens)

    def _parse(self, tokens: list[str]) -> tuple[Layout, list[float]]:
        places = [place for place, token in enumerate(tokens) if token[-1] in "=:"]
        numbers = [token for token in tokens if token[-1] not in "=:"]
        if not places or places[0] > 0 or "=" in "".join(numbers):
            layout, numbers = _glued(tokens)
        else:
            singles = self._singles
            layout = tuple(
                [
                    singles[tokens[place]] if after - place == 2 else (tokens[place][:-1], after - place - 1)
                    for place, after in pairwise([*places, len(tokens)])
                ]
            )
        values = parse_floats(numbers, LARGEST)
        if values is None or len(dict(layout)) < len(layout) or not all(map(_COUNT, layout)):
            raise _fault(layout, numbers)
        if len(places) > 1 and layout == self._before:
            known = set(places)
            self._length, self._layout = len(tokens), layout
            self._label_places = itemgetter(*places)
            self._value_places = itemgetter(*(place for place in range(len(tokens)) if place not in known))
            self._labels = self._label_places(tokens)
        self._before = layout
        return layout, values


class _Singles(dict[str, tuple[str, int]]):
    """From `name=` to (name, 1). Each pair is made once: a sparse list has millions, and new ones would start the
    garbage collector.
    """

    def __missing__(self, token: str) -> tuple[str, int]:
        pair = self[token] = (token[:-1], 1)
        return pair


def _glued(tokens: list[str]) -> tuple[Layout, list[str]]:
    """Reads tokens `name=v`, perhaps mixed with `name= v`, or numbers without names."""
    layout = []
    numbers = []
    opened = False
    for token in tokens:
        label, equals, number = token.rpartition("=")
        if token[-1] in "=:":
            layout.append((token[:-1], 0))
            opened = True
            continue
        numbers.append(number)
        if equals:
            layout.append((label, 1))
            opened = False
        elif opened or not layout:
            name, count = layout.pop() if layout else (UNLABELLED, 0)
            layout.append((name, count + 1))
            opened = True
        else:
            raise ValueError(f"a value without a name: {token}")
    return tuple(layout), numbers


def _fault(layout: Layout, numbers: list[str]) -> ValueError:
    """Says what is wrong with a feature field that cannot be read."""
    for number in numbers:
        try:
            parse_float(number, LARGEST)
        except ValueError as error:
            return error
    names = [name for name, _ in layout]
    times = Counter(names)
    twice = next((name for name in names if times[name] > 1), None)
    if twice is not None:
        return ValueError(f"a feature appears twice: {twice}")
    return ValueError(f"a feature without a value: {next(name for name, count in layout if not count)}")


BAR = "|||"
BYTE_ORDER_MARK = "\ufeff"
UNNUMBERED = -1
_QUOTED = re.compile(r'"(\S+) (.*)"')
_EXPECTED = "id ||| text ||| features ||| total"
MEND = "correct or remove the line"


class Hypothesis(NamedTuple):
    """One line of an n-best list.

    Attributes:
        line: its line number, from 1.
        sentence: the sentence number as written; `UNNUMBERED` in the style that has none.
        text: the tokens joined by blanks, without segmentation marks.
        layout: feature names with the number of values of each. values: all values in order.
        total: the score as written, None if there is none.
        fields: the fields as written or as they will be, without surrounding blanks. features: the number of the field
            with the features.
        source: the sentence it translates, if the list says so.
        record, place: what holds it in a list of records (`records.Record`), and its place there; `fields` are empty.
    """

    line: int
    sentence: int
    text: str
    layout: Layout
    values: list[float]
    total: float | None
    fields: tuple[str, ...] = ()
    features: int = 2
    source: str | None = None
    record: Any = None
    place: int = 0

    def with_total(self, total: float) -> Hypothesis:
        """The same hypothesis with another total; nothing else of the line changes."""
        place, fields = self.features + 1, self.fields
        if fields:
            fields = (*fields[:place], f"{total:.9g}", *fields[place + 1 :])
        return Hypothesis(*self[:5], total, fields, *self[7:])

    def with_value(self, name: str, value: float) -> Hypothesis:
        """The same hypothesis with one more feature, the last of its field."""
        place, fields = self.features, self.fields
        if fields:
            written = f"{fields[place]} {name}= {value:.9g}".strip(" ")
            fields = (*fields[:place], written, *fields[place + 1 :])
        return self._replace(layout=(*self.layout, (name, 1)), values=[*self.values, value], fields=fields)

    def columns(self) -> dict[tuple[str, int], list[float]]:
        """The values of each feature with its number of values."""
        values = iter(self.values)
        return {(name, count): [next(values) for _ in range(count)] for name, count in self.layout}

    def written(self) -> tuple[str, ...]:
        """The fields of its line in a list with bars: as they were read, or made if the list has another form.

        Raises:
            InputError: its text holds `|||`.
        """
        if self.fields:
            return self.fields
        if BAR in self.text:
            raise InputError(
                f"{BAR} inside the text, which a list with bars cannot contain",
                self.text,
                remedy="out=FILE.jsonl writes JSON lines",
                line=self.line,
            )
        named = (f"{name}= {' '.join(f'{value:.9g}' for value in held)}" for (name, _), held in self.columns().items())
        total = "" if self.total is None else f"{self.total:.9g}"
        return str(self.sentence), self.text, " ".join(named), total


class Style:
    """How a list is written: fields separated by bars, or as derived classes define. One object reads one file.

    `expected` is what a line should look like, `remedy` what to do about one that does not.
    """

    expected, remedy = _EXPECTED, MEND

    def __init__(self) -> None:
        self._parser = FeatureParser()
        self._source: dict[int, str] = {}

    def line(self, text: str, number: int) -> Sequence[Hypothesis]:
        """The hypotheses that this line completes.

        Raises:
            ValueError: the line is ill-formed; the message says how.
        """
        fields = tuple([field.strip(" ") for field in text.rstrip("\r").split(BAR)])
        if len(fields) < 3:
            # Joshua's lists of `"score text"` have no sentence numbers.
            quoted = _QUOTED.fullmatch(text) if len(fields) == 1 else None
            if quoted is None:
                raise ValueError("too few fields")
            return (Hypothesis(number, UNNUMBERED, quoted[2], (), [], parse_float(quoted[1], LARGEST), fields, 0),)
        try:
            sentence = parse_int(fields[0])
        except ValueError:
            fault = "out of range" if fields[0].isdigit() else "not a number"
            raise ValueError(f"the sentence number is {fault}: {shown(fields[0])}") from None
        place, layout, values = self._features(fields)
        behind = fields[place + 1 :]
        try:
            total = parse_float(behind[0], LARGEST) if behind and behind[0] else None
        except ValueError as error:
            raise _bars_or(error, behind) from None
        words = MARK.sub("", fields[1]).strip(" ") if "|" in fields[1] else fields[1]
        return (Hypothesis(number, sentence, words, layout, values, total, fields, place),)

    def end(self) -> Sequence[Hypothesis]:
        """The hypotheses that the end of the file completes.

        Raises:
            ValueError: the file may not end here.
        """
        return ()

    def say_source(self, sentence: int, source: str) -> None:
        """Stores the source of a sentence, which some styles write.

        Raises:
            ValueError: another source of this sentence came before.
        """
        before = self._source.get(sentence, source)
        if before != source and not same_letters(before, source):
            raise ValueError(f"two sources for one sentence: {shown(before)} and {shown(source)}")
        self._source = {sentence: source}

    def _features(self, fields: tuple[str, ...]) -> tuple[int, Layout, list[float]]:
        """The field of the features, its layout and values: the third field, or the first later one if Marian's
        alignments and word scores precede the features.
        """
        place = _behind_word_scores(fields, 2)
        try:
            return place, *self._parser.parse(fields[place])
        except ValueError as error:
            if place > 2 or len(fields) <= 4 or not _SOFT.fullmatch(fields[2]):
                raise _bars_or(error, fields[place + 1 :]) from None
        place = _behind_word_scores(fields, 3)
        return place, *self._parser.parse(fields[place])


def _behind_word_scores(fields: tuple[str, ...], place: int) -> int:
    """The next field that is neither word scores nor the empty alignment of a hypothesis without links."""
    while len(fields) > place + 1 and (
        fields[place].startswith(WORD_SCORES) or (not fields[place] and "=" in fields[place + 1])
    ):
        place += 1
    return place


def _bars_or(error: ValueError, behind: Sequence[str]) -> ValueError:
    """Why a field cannot be read: if features are in a later field, bars in the text have moved them."""
    for text in behind:
        with suppress(ValueError):
            FeatureParser().parse(text)
            if "=" in text or ":" in text:
                return ValueError(f"{BAR} inside the text")
    return error


@dataclass
class NbestFaults:
    """The findings while a list was read: its number of lines, and what is wrong with each ill-formed one."""

    lines: int = 0
    errors: list[InputError] = field(default_factory=list)


def iterate_hypotheses(
    path: str | Path,
    style: Callable[[Any], Style] = lambda _: Style(),
    faults: NbestFaults | None = None,
    rows: Iterable[Any] | None = None,
) -> Iterator[Hypothesis]:
    """Reads an n-best list line by line, or a table row by row; `style` chooses the style by the first one.

    With `faults`, ill-formed lines are left out, and the error of each is added there. With `rows`, these are the lines
    or rows of the file.

    Raises:
        InputError: a line, which the message names, is ill-formed: a field is missing, a number is something else, the
            text contains `|||`, or a feature occurs twice; also whatever `iterate_lines` raises.
    """
    form = None
    number = 0
    if rows is None:
        rows = table_rows(path) if is_table(path) else iterate_lines(path, LONGEST_RECORD)
    for raw in chain(rows, (None,)):
        line = "the end of the file"
        if raw is not None:
            number += 1
            line = raw.removeprefix(BYTE_ORDER_MARK) if number == 1 and isinstance(raw, str) else raw
            form = form or style(line)
        if form is None:
            return
        if faults is not None:
            faults.lines = number
        try:
            found = form.end() if raw is None else form.line(line, number)
        except ValueError as error:
            refusal = InputError(str(error), line, form.expected, form.remedy, file=path, line=number)
            if faults is None:
                raise refusal from error
            faults.errors.append(refusal)
            continue
        yield from found


def by_sentence(hypotheses: Iterable[Hypothesis], path: str | Path) -> Iterator[list[Hypothesis]]:
    """Yields the hypotheses of each sentence in turn, in the order of the file.

    Raises:
        InputError: a hypothesis has no sentence number, or its sentence comes back after another one; the message names
            the line.
    """
    done: set[int] = set()
    group: list[Hypothesis] = []
    for sentence, rows in groupby(hypotheses, attrgetter("sentence")):
        before, group = group[-1:], list(rows)
        check_order(path, group[0], done, before[0] if before else None)
        done.add(sentence)
        yield group


def check_order(path: str | Path, hypothesis: Hypothesis, done: set[int], before: Hypothesis | None) -> None:
    """Raises InputError if a hypothesis has no sentence number, or its sentence is among those `done`."""
    if hypothesis.sentence == UNNUMBERED:
        raise InputError(
            "no sentence number",
            hypothesis.fields[0],
            _EXPECTED,
            "write the sentence number before each line, so that xlate knows where a list ends",
            file=path,
            line=hypothesis.line,
        )
    if hypothesis.sentence in done and before is not None and before.sentence != hypothesis.sentence:
        raise InputError(
            "a sentence continues after another began",
            f"{hypothesis.sentence} after {before.sentence}",
            "the hypotheses of a sentence together",
            "sort the lines by their number: sort -s -n if they begin with it, jq -cs 'sort_by(.id)[]' for JSON lines",
            file=path,
            line=hypothesis.line,
        )


def one_source(group: Sequence[Hypothesis], known: str | None, file: str | Path, where: str) -> str | None:
    """The source of a list's sentence: the one known from elsewhere, otherwise that of the list, if any.

    Raises:
        InputError: they differ in their letters; `file` is that of the list, `where` says where the other one is.
    """
    line, said = next(((one.line, one.source) for one in group if one.source is not None), (0, known))
    if said is None or known is None or same_letters(said, known):
        return said if known is None else known
    raise InputError(
        f"a source that differs from that in {where}",
        said,
        known,
        "use files of the same sentences; first_id=N is the number of the first one",
        file=file,
        line=line,
    )


def write_nbest(path: str | Path, hypotheses: Iterable[Hypothesis]) -> None:
    """Writes hypotheses with ` ||| ` between their fields; compressed with gzip if the name ends in .gz.

    Example: `0 ||| this is it ||| d: 0 lm: -4.5 ||| -14.6`
    """
    write_lines(
        path, (f" {BAR} ".join(hypothesis.written()) for hypothesis in track(hypotheses, "writing n-best list"))
    )
