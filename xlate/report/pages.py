"""Pages of HTML that need no other file, from the macros of page.html; differences between lines are marked."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

_environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
_environment.filters["base64"] = lambda data: base64.b64encode(data).decode("ascii")


# The macros. They return HTML (`Markup`) and escape every text that is not, so no run can add tags to a page.
blocks: Any = _environment.get_template("page.html").module


def differing(words: Sequence[str], other: Sequence[str]) -> list[bool]:
    """For each word, whether it differs from another line when the two are aligned as well as possible."""
    marks = [True] * len(words)
    for block in difflib.SequenceMatcher(a=words, b=other, autojunk=False).get_matching_blocks():
        marks[block.a : block.a + block.size] = [False] * block.size
    return marks


def bracketed(line: str, other: str) -> str:
    """A line with the stretches that differ from another line in square brackets."""
    words, parts = line.split(), []
    for mark, stretch in groupby(zip(words, differing(words, other.split()), strict=True), key=itemgetter(1)):
        text = " ".join(word for word, _ in stretch)
        parts.append(f"[{text}]" if mark else text)
    return " ".join(parts)


def marked(line: str, other: str | None, reference: str | None = None) -> Markup:
    """A line as HTML: what differs from another line is marked, and words that the reference has there are green."""
    words = line.split()
    marks = differing(words, other.split()) if other is not None else [False] * len(words)
    wrong = differing(words, reference.split()) if reference is not None else [True] * len(words)
    return Markup(blocks.marked(list(zip(words, marks, wrong, strict=True))))
