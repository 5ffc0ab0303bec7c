"""What a search needs to know of a sentence: where it starts, what may be done next, and what that leads to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State", bound=Hashable)
Words = tuple[str, ...]
# The last label of every path: the end of the sentence.
END_LABEL = -1


@dataclass(frozen=True, slots=True)
class Move(Generic[State]):
    """One step onwards: the state it leads to, how much that covers, what the step adds, and what was done."""

    state: State
    covered: int
    score: float
    label: int


class SearchSpace(ABC, Generic[State]):
    """The moves over one sentence. States are hashable: equal ones have the same future, and are recombined."""

    @property
    @abstractmethod
    def start(self) -> State:
        """The state that covers nothing."""

    @property
    @abstractmethod
    def levels(self) -> int:
        """Coverage runs from 0 to this number; the one state that has it is the goal."""

    @abstractmethod
    def expand(self, state: State) -> Iterable[Move[State]]:
        """All moves from a state, each to a higher coverage."""

    @abstractmethod
    def future(self, state: State) -> float:
        """An estimate of the score still to come from a state; 0 everywhere switches it off."""

    @abstractmethod
    def words_of(self, label: int) -> Words:
        """The target words of what a label says was done."""

    def coverage(self, state: State) -> Hashable:  # noqa: ARG002
        """What coverage pruning groups states by; all are one group unless a space says otherwise."""
        return None


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
