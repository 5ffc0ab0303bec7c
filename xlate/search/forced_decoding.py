"""Forced decoding: a search space kept to the moves that spell a given translation."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from xlate.search.space import Move, SearchSpace, Words

State = TypeVar("State", bound=Hashable)


class Reached(NamedTuple, Generic[State]):
    """A state of the search, and how many words of the translation are there."""

    state: State
    words: int


class ForcedSpace(SearchSpace[Reached[State]]):
    """The moves of a sentence that go on with a translation, and its end when nothing of that is left.

    Args:
        free: the space without the restriction.
        target: the translation.
    """

    def __init__(self, free: SearchSpace[State], target: Words) -> None:
        self.free = free
        self.target = target

    @property
    def start(self) -> Reached[State]:
        """Nothing covered, no word there."""
        return Reached(self.free.start, 0)

    @property
    def levels(self) -> int:
        """As in the free search."""
        return self.free.levels

    def future(self, state: Reached[State]) -> float:
        """As in the free search."""
        return self.free.future(state.state)

    def words_of(self, label: int) -> Words:
        """As in the free search."""
        return self.free.words_of(label)

    def coverage(self, state: Reached[State]) -> Hashable:
        """As in the free search."""
        return self.free.coverage(state.state)

    def expand(self, state: Reached[State]) -> Iterator[Move[Reached[State]]]:
        """The moves whose words come next in the translation."""
        for move in self.free.expand(state.state):
            words = self.free.words_of(move.label)
            behind = state.words + len(words)
            fits = self.target[state.words : behind] == words
            if fits and (move.covered < self.levels or behind == len(self.target)):
                yield Move(Reached(move.state, behind), move.covered, move.score, move.label)


def phrases_in(target: Sequence[str]) -> set[Words]:
    """All phrases of a translation."""
    words = tuple(target)
    return {words[start:end] for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
