"""Reads the phrases and word links of an n-best line, from marks between its words or fields behind its score."""

from __future__ import annotations

import re
from typing import NamedTuple

from xlate.text.tokens import split_tokens

_MARK = re.compile(r"(?:^| )\|([0-9]{1,9})-([0-9]{1,9})(?:,[^| ]*)?\|(?= |$)")
_PIECE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?=([0-9]{1,9})(?:-([0-9]{1,9}))?")
_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


class Span(NamedTuple):
    """The half-open spans of a source phrase and of its translation."""

    source: tuple[int, int]
    target: tuple[int, int]


def without_marks(text: str) -> str:
    """The words without the marks `|0-1|` that Moses and Joshua write behind each phrase.

    Example:
        >>> without_marks("taming |0-1| politicians |2-3|")
        'taming politicians'
    """
    return _MARK.sub("", text).strip(" ") if "|" in text else text


def marked_spans(text: str) -> list[Span]:
    """The phrases of a text with `|0-1|` marks, in target order; none when there are no marks."""
    spans: list[Span] = []
    start = at = 0
    for mark in _MARK.finditer(text):
        end = start + len(split_tokens(text[at : mark.start()]))
        spans.append(Span((int(mark[1]), int(mark[2]) + 1), (start, end)))
        start, at = end, mark.end()
    return spans


def field_spans(field: str) -> list[Span] | None:
    """The phrases of a field `0-1=0-1 4=2`, whose spans hold their last word; None for any other field."""
    found = [_PIECE.fullmatch(token) for token in field.split()]
    if not found or not all(found):
        return None
    return [
        Span((int(p[1]), int(p[2] or p[1]) + 1), (int(p[3]), int(p[4] or p[3]) + 1)) for p in found if p is not None
    ]


def field_links(field: str) -> list[tuple[int, int]] | None:
    """The links of a field `0-0 1-2`, source first; None for any other field."""
    found = [_LINK.fullmatch(token) for token in field.split()]
    if not found or not all(found):
        return None
    return [(int(link[1]), int(link[2])) for link in found if link is not None]
