"""A given n-best list with all that says how it is read: its form, duplicates, columns made elsewhere, other lists."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from xlate.errors import InputError
from xlate.formats.nbest_fields import LARGEST
from xlate.formats.nbest_list import Hypothesis, Style, by_sentence, iterate_hypotheses
from xlate.formats.nbest_merged import merged
from xlate.formats.nbest_styles import AUTO, STYLES, style_of
from xlate.text.lines import iterate_lines
from xlate.text.numbers import parse_float
from xlate.text.opening import plain_file

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
                file=self.path,
                seen=f"nbest_format={self.form} nbest_size={self.size}",
                expected=", ".join(STYLES),
                remedy="nbest_size=N for plain text of N hypotheses a sentence",
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
            for number, given in enumerate(hypotheses, start=1):
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
                raise InputError(f"{key} names a feature and its file", seen=pair, expected=f"{key}=[NAME=FILE,…]")
            found[name] = file
        return found


def _with_column(
    hypothesis: Hypothesis, name: str, text: str | None, file: str, number: int, nbest: str | Path
) -> Hypothesis:
    if text is None:
        raise _miscounted(file, number, f"{number - 1} lines", nbest)
    if any(name == known for known, _ in hypothesis.layout):
        raise InputError(
            "a feature that the list has already", file=nbest, line=hypothesis.line, seen=name, expected="another name"
        )
    try:
        return hypothesis.with_value(name, parse_float(text.strip(" \t\r"), LARGEST))
    except ValueError as error:
        expected = "one number a line, of the hypothesis of that place in the list"
        raise InputError(str(error), file=file, line=number, seen=text, expected=expected) from error


def _miscounted(file: str, line: int, seen: str, nbest: str | Path) -> InputError:
    return InputError(
        "not as many numbers as hypotheses",
        file=file,
        line=line,
        seen=seen,
        expected=f"one for each hypothesis of {nbest}, in its order",
        remedy="compute them from this very list",
    )
