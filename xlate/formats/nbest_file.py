"""A given n-best list with all that says how it is read: its form, duplicates, columns made elsewhere, and the lists of
other systems that are merged with it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from xlate.errors import InputError
from xlate.formats.nbest_list import LARGEST, Hypothesis, Style, by_sentence, iterate_hypotheses, one_source
from xlate.formats.nbest_styles import AUTO, STYLES, style_of
from xlate.text.lines import iterate_lines
from xlate.text.numbers import parse_float
from xlate.text.opening import plain_file

# How many systems have the hypothesis, and how early: the sum of 1/rank.
AGREEMENT, RANKS = "systems", "reciprocal_ranks"
TOTAL = "total"
# The columns of a system: feature and number of values, and the values of each hypothesis by its words.
_Named = dict[tuple[str, int], list[float]]


def merged(
    first: Iterable[Sequence[Hypothesis]],
    others: Mapping[str, Iterable[Sequence[Hypothesis]]],
    files: Mapping[str, str | Path],
) -> Iterator[list[Hypothesis]]:
    """Yields one list a sentence: the hypotheses of the first list, then what only others have; words once each.

    The features of another system have its name and a dot before theirs; its totals become a feature too, and those of
    the first `total`. What a system does not have gets the lowest value of each of its features in the sentence, and
    `NAME.has` is 0. `systems` counts the systems that have a hypothesis, `reciprocal_ranks` adds up 1/rank over
    them (Cormack et al. 2009). Totals are left out: those of different systems cannot be compared. Lines
    are of the first list: what only others have stands where its sentence begins there. `files` are those of the lists,
    by their names; the first one has the name "".

    Raises:
        InputError: a sentence that another list or the first one lacks, or that has two sources.
    """
    rest = {name: {group[0].sentence: group for group in lists} for name, lists in others.items()}
    for group in first:
        sentence = group[0].sentence
        lacking = next((name for name, lists in rest.items() if sentence not in lists), None)
        if lacking is not None:
            raise InputError(
                "a sentence that another list lacks",
                f"sentence {sentence}, which {lacking} lacks",
                "lists of the same sentences, with the same numbers",
                "remove its lines here, or add its hypotheses there",
                file=files[""],
                line=group[0].line,
            )
        found = {"": group, **{name: lists.pop(sentence) for name, lists in rest.items()}}
        source = None
        for name, said in found.items():
            source = one_source(said, source, files[name], "the lists before")
        yield _joined(found, source)
    for name, lists in rest.items():
        for left in lists.values():
            raise InputError(
                "a sentence that the first list lacks",
                f"sentence {left[0].sentence}, which {files['']} lacks",
                "lists of the same sentences, with the same numbers",
                "remove its lines here, or add its hypotheses to the first list",
                file=files[name],
                line=left[0].line,
            )


def _joined(groups: Mapping[str, Sequence[Hypothesis]], source: str | None) -> list[Hypothesis]:
    texts: dict[str, Hypothesis] = {}
    begin = groups[""][0].line
    for name, group in groups.items():
        for hypothesis in group:
            texts.setdefault(hypothesis.text, hypothesis._replace(line=begin) if name else hypothesis)
    named: dict[str, _Named] = {text: {} for text in texts}
    agreed, ranks = dict.fromkeys(texts, 0.0), dict.fromkeys(texts, 0.0)
    for system, group in groups.items():
        prefix = f"{system}." if system else ""
        rows: dict[str, tuple[int, Hypothesis]] = {}
        for place, hypothesis in enumerate(group):
            rows.setdefault(hypothesis.text, (place, hypothesis))
        values = {text: _columns(hypothesis) for text, (_, hypothesis) in rows.items()}
        # The lowest value of each feature that all rows have; a sparse one is 0 where it is not.
        each = list(values.values())
        shared = [key for key in each[0] if all(key in row for row in each)]
        lowest = {key: [min(column) for column in zip(*(row[key] for row in each), strict=True)] for key in shared}
        for text in texts:
            held = values.get(text, lowest)
            named[text] |= {(prefix + name, count): row for (name, count), row in held.items()}
            named[text][f"{prefix}has", 1] = [float(text in rows)]
            if text in rows:
                agreed[text] += 1.0
                ranks[text] += 1.0 / (1 + rows[text][0])
    made: list[Hypothesis] = []
    for text, first in texts.items():
        row = {**named[text], (AGREEMENT, 1): [agreed[text]], (RANKS, 1): [ranks[text]]}
        values_of_row = [value for column in row.values() for value in column]
        written = " ".join(f"{name}= {' '.join(f'{v:.9g}' for v in column)}" for (name, _), column in row.items())
        fields = (str(first.sentence), first.fields[1], written, "")
        made.append(Hypothesis(first.line, first.sentence, text, tuple(row), values_of_row, None, fields, 2, source))
    return made


def _columns(hypothesis: Hypothesis) -> _Named:
    found: _Named = {}
    at = 0
    for name, count in hypothesis.layout:
        found[name, count] = hypothesis.values[at : at + count]
        at += count
    if hypothesis.total is not None:
        found[TOTAL, 1] = [hypothesis.total]
    return found


KEEP, DROP = "keep", "drop"
log = logging.getLogger(__name__)
# What was said of dropped hypotheses: a job that reads a list several times says it once.
_DROPPED: set[tuple[str, int]] = set()


@dataclass(frozen=True)
class NbestFile:
    """A list and how it is read.

    Attributes:
        path: the file. form: one of `STYLES`; `auto` goes by the first line.
        size: the lines of a sentence in plain text.
        duplicates: `keep` or `drop` hypotheses of words that an earlier one of the sentence has.
        added: `NAME=FILE` each: a feature with one number a hypothesis, in the order of the list.
        others: `NAME=FILE` each: lists of other systems of the same sentences, which are merged with it.

    Raises:
        InputError: an unknown form, plain text without a size, or something that is not NAME=FILE.
    """

    path: str | Path
    form: str = AUTO
    size: int | None = None
    duplicates: str = KEEP
    added: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the settings; see the class."""
        self.style()
        self._named(self.added, "add_scores")
        self._named(self.others, "merge")

    def style(self) -> Style:
        """What goes through the lines of the file.

        Raises:
            InputError: there is none of this name, or plain text without a size.
        """
        try:
            return style_of(self.form, self.size)
        except ValueError as error:
            raise InputError(
                str(error),
                f"nbest_format={self.form} nbest_size={self.size}",
                ", ".join(STYLES),
                "nbest_size=N for plain text of N hypotheses a sentence",
                file=self.path,
            ) from error

    @property
    def files(self) -> list[str]:
        """Every file that is read."""
        named = {**self._named(self.added, "add_scores"), **self._named(self.others, "merge")}
        return [str(self.path), *named.values()]

    def check_read_again(self) -> NbestFile:
        """Returns itself if its files can be read twice; raises what `text.opening.plain_file` does."""
        for file in self.files:
            plain_file(file)
        return self

    def hypotheses(self) -> Iterator[Hypothesis]:
        """The hypotheses with the added features, duplicates among them; other lists are left out.

        Raises:
            InputError: as `iterate_hypotheses`; a column with too few or too many numbers, or something else there.
        """
        return self.with_columns(iterate_hypotheses(self.path, self.style()))

    def lists(self) -> Iterator[list[Hypothesis]]:
        """The hypotheses of each sentence in turn, merged with those of other lists, without what is dropped.

        Raises:
            InputError: as `hypotheses` and `by_sentence`; lists that do not fit together.
        """
        lists: Iterable[list[Hypothesis]] = by_sentence(self.hypotheses(), self.path)
        others = self._named(self.others, "merge")
        if others:
            # Numbers of hypotheses belong to the list they were computed for.
            read = {name: replace(self, path=file, added=(), others=()).lists() for name, file in others.items()}
            lists = merged(lists, read, {"": self.path, **others})
        return iter(lists) if self.duplicates == KEEP else self._without_duplicates(lists)

    def with_columns(self, hypotheses: Iterable[Hypothesis]) -> Iterator[Hypothesis]:
        """The hypotheses with the added features; raises InputError when counts differ."""
        columns = self._named(self.added, "add_scores")
        with ExitStack() as opened:
            # Generators are closed, so that their files are.
            streams = {name: iterate_lines(file) for name, file in columns.items()}
            for stream in streams.values():
                opened.enter_context(closing(cast(Any, stream)))
            number = 0
            for number, given in enumerate(hypotheses, 1):
                hypothesis = given
                for name, stream in streams.items():
                    hypothesis = _with_column(hypothesis, name, next(stream, None), columns[name], number, self.path)
                yield hypothesis
            for name, stream in streams.items():
                more = next(stream, None)
                if more is not None:
                    raise _miscounted(columns[name], number + 1, f"more than {number} lines", self.path)

    def _without_duplicates(self, lists: Iterable[list[Hypothesis]]) -> Iterator[list[Hypothesis]]:
        dropped = 0
        for group in lists:
            first: dict[str, Hypothesis] = {}
            for hypothesis in group:
                first.setdefault(hypothesis.text, hypothesis)
            dropped += len(group) - len(first)
            yield list(first.values())
        if dropped and (told := (str(self.path), dropped)) not in _DROPPED:
            _DROPPED.add(told)
            log.info("%s: %d hypotheses of the same words dropped", *told)

    def _named(self, pairs: Sequence[str], key: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for pair in pairs:
            name, sign, file = pair.partition("=")
            if not (name and sign and file) or name in found or set(name) & set(" :|\t"):
                raise InputError(f"{key} names a feature and its file", pair, f"{key}=[NAME=FILE,…]")
            found[name] = file
        return found


def _with_column(
    hypothesis: Hypothesis, name: str, text: str | None, file: str, number: int, nbest: str | Path
) -> Hypothesis:
    if text is None:
        raise _miscounted(file, number, f"{number - 1} lines", nbest)
    if any(name == known for known, _ in hypothesis.layout):
        raise InputError("a feature that the list has already", name, "another name", file=nbest, line=hypothesis.line)
    try:
        return hypothesis.with_value(name, parse_float(text.strip(" \t\r"), LARGEST))
    except ValueError as error:
        expected = "one number a line, of the hypothesis of that place in the list"
        raise InputError(str(error), text, expected, file=file, line=number) from error


def _miscounted(file: str, line: int, seen: str, nbest: str | Path) -> InputError:
    return InputError(
        "not as many numbers as hypotheses",
        seen,
        f"one for each hypothesis of {nbest}, in its order",
        "compute them from this very list",
        file=file,
        line=line,
    )
