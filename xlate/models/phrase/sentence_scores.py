"""What phrases score in the sentence they stand in: floats that no table can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from xlate.array_types import AnyInts, Floats


class SentencePhrases(NamedTuple):
    """O phrases of a sentence.

    Attributes:
        words: the sentence.
        start_O, end_O: the source spans, half-open.
        pair_O: the phrase pairs, `COPIED` for words that stand for themselves.
    """

    words: Sequence[str]
    start_O: AnyInts
    end_O: AnyInts
    pair_O: AnyInts


class SentenceScores(Protocol):
    """Gives phrases of a sentence E more floats."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the floats are called."""

    def of(self, phrases: SentencePhrases) -> Floats:
        """The floats of phrases, shape (O, E), natural logs; -inf where one is no option there, 0 of copied words."""

    def anywhere(self, pair_N: AnyInts) -> Floats:
        """The floats of pairs that are the same wherever they stand, NaN for the others; (N, E)."""


class SentencePlaces(Protocol):
    """Scores the place where a decoder puts a phrase: one float more, which depends on what is translated before.

    A phrase that begins at source word j, placed when c source words are translated, is at c - j: later than it would
    stand in the order of the source above 0, earlier below. Distances beyond `reach` count as `reach`.
    """

    @property
    def name(self) -> str:
        """What the float is called."""

    @property
    def reach(self) -> int:
        """So many words to either side are told apart."""

    def of(self, phrases: SentencePhrases) -> Floats:
        """The float of phrases at each distance from -reach to +reach, shape (O, 2 · reach + 1), natural logs."""


def shift_of(reach: int, covered: int, start: int) -> int:
    """The column of `SentencePlaces.of` for a phrase placed when so many source words are translated.

    >>> [shift_of(2, covered, 3) for covered in (0, 2, 3, 9)]
    [0, 1, 2, 4]
    """
    return min(max(covered - start, -reach), reach) + reach
