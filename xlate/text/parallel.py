"""Text in two languages, aligned line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xlate.errors import InputError
from xlate.text.lines import read_lines


@dataclass(frozen=True)
class ParallelText:
    """The lines of source and target, equally many of both."""

    source: list[str]
    target: list[str]


def read_parallel(source: str | Path, target: str | Path) -> ParallelText:
    """Reads two files that are aligned line by line.

    Raises:
        InputError: they have different numbers of lines, or one cannot be read.
    """
    text = ParallelText(read_lines(source), read_lines(target))
    check_sides(source, len(text.source), target, len(text.target))
    return text


def check_sides(source: str | Path, source_lines: int, target: str | Path, target_lines: int) -> None:
    """Looks whether two sides have as many lines.

    Raises:
        InputError: they have not.
    """
    if source_lines != target_lines:
        raise InputError(
            "sides of unequal length",
            file=source,
            line=min(source_lines, target_lines) + 1,
            seen=f"{source_lines} lines in {source}, {target_lines} in {target}",
            expected="as many lines on one side as on the other",
            remedy="only LF ends a line here: check for lines cut or joined by another tool",
        )


def read_references(paths: Sequence[str | Path], expected: int) -> list[list[str]]:
    """Reads reference files; returns one list of lines for each.

    Raises:
        InputError: a file does not have the expected number of lines.
    """
    references = []
    for path in paths:
        lines = read_lines(path)
        check_reference(path, len(lines), expected)
        references.append(lines)
    return references


def check_reference(path: str | Path, lines: int, expected: int) -> None:
    """Looks whether a reference has the expected number of lines.

    Raises:
        InputError: it has not.
    """
    if lines != expected:
        raise InputError(
            "a reference of another length",
            file=path,
            line=min(lines, expected) + 1,
            seen=f"{lines} lines",
            expected=f"{expected} lines, as many as there are translations",
            remedy="check that this file belongs to the same test set",
        )


def drop_unusable(
    source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], *, max_words: int
) -> tuple[list[int], dict[str, int]]:
    """The numbers of the tokenised pairs that can be trained on, and how many were left out for each reason.

    A pair is left out when a side has no words or more than `max_words`.
    """
    kept: list[int] = []
    dropped = {"an empty side": 0, f"more than {max_words} words": 0}
    for number, (left, right) in enumerate(zip(source, target, strict=True)):
        if not left or not right:
            dropped["an empty side"] += 1
        elif max(len(left), len(right)) > max_words:
            dropped[f"more than {max_words} words"] += 1
        else:
            kept.append(number)
    return kept, dropped
