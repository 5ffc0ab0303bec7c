"""What a search needs to know of a sentence: where it starts, what may be done next, and what that leads to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
