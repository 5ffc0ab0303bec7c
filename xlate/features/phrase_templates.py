"""Sparse features of the phrase model: templates, and an id for each feature by arithmetic.

Templates of *reordering* are crossed with the orientation of a phrase with respect to what is before it (Cherry 2013;
Auli, Galley & Gao 2014, section 6); *plain* ones are not. Both are local to a phrase application, or know the group of
phrases on top of the shift-reduce stack, the source words in between, or the target word before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.features.word_values import WordValues

LOCAL_SOURCE, LOCAL_TARGET = ("source_first", "source_last"), ("target_first", "target_last")
PHRASES = ("source_phrase", "target_phrase", "pair")
GROUP_SOURCE, GROUP_TARGET = ("top_source_first", "top_source_last", "between"), ("top_target_first", "top_target_last")
REORDERING = (*LOCAL_SOURCE, *LOCAL_TARGET, *GROUP_SOURCE, *GROUP_TARGET, *PHRASES)
WORD_PAIR, BIGRAM, LENGTHS = "word_pair", "target_bigram", "lengths"
PLAIN = (*LOCAL_SOURCE, *LOCAL_TARGET, *PHRASES, WORD_PAIR, BIGRAM, LENGTHS)
GROUP = (*GROUP_SOURCE, *GROUP_TARGET)
LONGEST = 7
ORIENTATIONS = {3: ("M", "S", "D"), 5: ("M", "S", "DL", "DR", "MG")}
# Word pairs are made only of word values with at most so many kinds: all pairs of all words would be too many.
MOST_PAIRED = 2000


@dataclass(frozen=True)
class Family:
    """The features of one template over one kind of word values: ids from `first`, value · crossed + orientation.

    Attributes:
        position: one of `REORDERING` or `PLAIN`.
        crossed: K orientations, or 1 for a plain template.
        first: the first id.
        size: how many values.
        left, right: word values; for pairs of words, value = left · right.size + right.
    """

    position: str
    crossed: int
    first: int
    size: int
    left: WordValues | None = None
    right: WordValues | None = None

    @property
    def end(self) -> int:
        """One behind the last id."""
        return self.first + self.size * self.crossed

    @property
    def name(self) -> str:
        """Kind, position and, where there are some, words, with colons between."""
        kind = "plain" if self.crossed == 1 else "reordering"
        words = f":{self.left.name}" if self.left is not None else ""
        return f"{kind}:{self.position}{words}"

    def weights(self, sparse_F: Floats) -> Floats:
        """Its part of all weights, shape (size, crossed)."""
        return sparse_F[self.first : self.end].reshape(self.size, self.crossed)


@dataclass(frozen=True)
class PhraseSizes:
    """How many source phrases, target phrases and pairs a table has."""

    source_phrase: int
    target_phrase: int
    pair: int


def make_families(
    reordering: Sequence[str],
    plain: Sequence[str],
    source_values: Sequence[WordValues],
    target_values: Sequence[WordValues],
    sizes: PhraseSizes,
    orientations: int,
) -> tuple[Family, ...]:
    """The families of templates, each position with every kind of word values, one behind the other.

    Word pairs are made only of word values with at most `MOST_PAIRED` kinds.

    Raises:
        InputError: a position there is none of, or one given twice, or more features than can be numbered.
    """
    check_templates(reordering, plain)
    families: list[Family] = []
    for given, crossed in ((reordering, orientations), (plain, 1)):
        for position in given:
            for left, right, size in _sizes(position, source_values, target_values, sizes):
                first = families[-1].end if families else 0
                families.append(Family(position, crossed, first, size, left, right))
    if families and families[-1].end > np.iinfo(np.int32).max:
        raise InputError("too many sparse features", seen=families[-1].end, expected="fewer word values or templates")
    return tuple(families)


def check_templates(reordering: Sequence[str], plain: Sequence[str]) -> None:
    """Checks the positions of templates with and without orientation.

    Raises:
        InputError: there is none of the name, or one is given twice.
    """
    for given, known in ((reordering, REORDERING), (plain, PLAIN)):
        for position in given:
            if position not in known or list(given).count(position) > 1:
                raise InputError("a template there is none of, or twice", seen=position, expected=", ".join(known))


def _sizes(
    position: str, source_values: Sequence[WordValues], target_values: Sequence[WordValues], sizes: PhraseSizes
) -> list[tuple[WordValues | None, WordValues | None, int]]:
    """Word values of both sides, and the number of values, of each family of a position."""
    if position in PHRASES:
        return [(None, None, int(getattr(sizes, position)))]
    if position == LENGTHS:
        return [(None, None, LONGEST * LONGEST)]
    if position in (WORD_PAIR, BIGRAM):
        lefts = source_values if position == WORD_PAIR else target_values
        pairs = zip(lefts, target_values, strict=True)
        return [(a, b, a.size * b.size) for a, b in pairs if max(a.size, b.size) <= MOST_PAIRED]
    values = source_values if position in (*LOCAL_SOURCE, *GROUP_SOURCE) else target_values
    return [(v, None, v.size) for v in values]
