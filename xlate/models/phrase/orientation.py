"""Orientation of a phrase with respect to its neighbours in target order, as Moses decides it while decoding.

Spans are half-open. The word- and phrase-based models look at the phrase before (Koehn et al. 2005); the hierarchical
one at the group of phrases before, kept by a shift-reduce parser, and in the forward direction at what is covered
(Galley & Manning 2008, section 3.2 and 3.3). Five orientations refine those three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xlate.kernels.orientation import (
    DISCONTINUOUS,
    DISCONTINUOUS_LEFT,
    DISCONTINUOUS_RIGHT,
    MONOTONE,
    MONOTONE_GLOBAL,
    SWAP,
)

Span = tuple[int, int]


class Group(NamedTuple):
    """A source span that phrases next to each other in both languages cover; `first` tells its first target word."""

    start: int
    end: int
    first: int = 0

    @property
    def span(self) -> Span:
        """Its half-open source span."""
        return self.start, self.end


Stack = tuple[Group, ...]


def adjacent_orientation(before: Span | None, span: Span) -> int:
    """How a span lies to the one before it; the first phrase is monotone at the beginning of the sentence."""
    if span[0] == (before[1] if before else 0):
        return MONOTONE
    return SWAP if before and span[1] == before[0] else DISCONTINUOUS


def shift_reduce(stack: Stack, span: Span, first: int = 0) -> tuple[int, Stack]:
    """How a span lies to the group on top of the stack, and the stack with it, neighbouring groups joined."""
    orientation = adjacent_orientation(stack[-1].span if stack else None, span)
    while stack and adjacent_orientation(stack[-1].span, span) != DISCONTINUOUS:
        top = stack[-1]
        span, first = (min(top.start, span[0]), max(top.end, span[1])), top.first
        stack = stack[:-1]
    return orientation, (*stack, Group(*span, first))


def refine(orientation: int, *, behind: bool, everything: bool) -> int:
    """One of five orientations from one of three.

    Args:
        orientation: monotone, swap or discontinuous.
        behind: whether the later phrase in target order is further right in the source.
        everything: whether all phrases on the other side are one group.
    """
    if orientation == DISCONTINUOUS:
        return DISCONTINUOUS_LEFT if behind else DISCONTINUOUS_RIGHT
    return MONOTONE_GLOBAL if orientation == MONOTONE and everything else orientation


def forward_orientation(before: Span, span: Span, covered: Callable[[int], bool]) -> int:
    """How a span lies to the phrase before it, a gap directly beside that phrase counting as part of the next group.

    Args:
        before: the phrase before.
        span: the next phrase.
        covered: whether a source word is translated, `before` and what was earlier.
    """
    if span[0] == before[1] or (span[0] > before[1] and not covered(before[1])):
        return MONOTONE
    if span[1] == before[0] or (span[1] < before[0] and not covered(before[0] - 1)):
        return SWAP
    return DISCONTINUOUS
