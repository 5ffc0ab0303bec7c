"""The errors that end a command: unusable input, or a signal."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class InputError(ValueError):
    """Unusable input. The message says where, what was seen, what was expected and what to do.

    The command line prints it to standard error and ends with exit status 2.

    Example:
        >>> print(InputError("link outside its sentence", "9-1", "source index below 5", "align the same files again",
        ...                  file="a.txt", line=3))
        a.txt:3: link outside its sentence
          seen:     9-1
          expected: source index below 5
          remedy:   align the same files again
    """

    def __init__(
        self,
        message: str,
        seen: object = None,
        expected: str | None = None,
        remedy: str | None = None,
        *,
        file: str | Path | None = None,
        line: int | None = None,
    ) -> None:
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        self.seen = seen
        self.expected = expected
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        where = ""
        if self.file is not None:
            file = shown(self.file, 1000)
            where = f"{file}:{self.line}: " if self.line is not None else f"{file}: "
        parts = [where + shown(self.message, 500)]
        if self.seen is not None:
            parts.append(f"  seen:     {shown(str(self.seen), 200)}")
        if self.expected is not None:
            parts.append(f"  expected: {self.expected}")
        if self.remedy is not None:
            parts.append(f"  remedy:   {self.remedy}")
        return "\n".join(parts)


def refuse_if(
    wrong: object,
    message: str,
    seen: object,
    expected: str | None,
    remedy: str | None = None,
    file: str | Path | None = None,
) -> None:
    """Raises InputError with this message if something is `wrong`."""
    if wrong:
        raise InputError(message, seen, expected, remedy, file=file)


def check_choice(message: str, seen: str, choices: Iterable[str]) -> None:
    """Raises InputError with this message and the available choices if `seen` is not one of them."""
    names = list(choices)
    if seen not in names:
        raise InputError(message, seen, "one of " + ", ".join(names))


def nearest(word: str, known: Iterable[str], otherwise: str, before: str = "", cutoff: float = 0.6) -> str:
    """The remedy for a misspelt word: the closest known one, with `before` in front; `otherwise` if none is close."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"did you mean {before}{near[0]}?" if near else otherwise


def shown(text: str, most: int = 40) -> str:
    """A text for a message, cut short if it is long."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


class Interrupted(Exception):
    """Work was stopped by a signal after its state was saved; the command line exits with `status`."""

    def __init__(self, message: str, status: int = 143) -> None:
        super().__init__(message)
        self.status = status
