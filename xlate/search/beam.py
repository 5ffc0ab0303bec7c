"""What a search needs to know of a sentence, and the readable beam search: expand, recombine, prune, read back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from xlate.search.graph import SearchGraph

State = TypeVar("State", bound=Hashable)
Words = tuple[str, ...]


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


@dataclass(frozen=True)
class ForcedSpace(SearchSpace[Reached[State]]):
    """The moves of a sentence that go on with a translation, and its end when nothing of that is left.

    Args:
        free: the space without the restriction.
        target: the translation.
    """

    free: SearchSpace[State]
    target: Words

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


class BeamLimits(NamedTuple):
    """What pruning keeps of the hypotheses of one coverage.

    Attributes:
        beam: the most hypotheses; None for all.
        log_threshold: how far below the best one, natural log, at most 0; minus infinity for no threshold.
        coverage_beam: the most of one `SearchSpace.coverage`; None for all.
    """

    beam: int | None
    log_threshold: float
    coverage_beam: int | None = None


@dataclass(slots=True)
class _Hypothesis(Generic[State]):
    """The best way found to a state; `future` estimates the score of what is still to do from there."""

    node: int
    state: State
    score: float
    future: float
    best_arc: int

    @property
    def estimate(self) -> float:
        """What pruning compares."""
        return self.score + self.future


def _pruned(
    hypotheses: Iterable[_Hypothesis[State]], limits: BeamLimits, coverage: Callable[[State], Hashable]
) -> list[_Hypothesis[State]]:
    """The hypotheses within the limits, best first; ties in the order of creation."""
    ordered = sorted(hypotheses, key=lambda hypothesis: -hypothesis.estimate)
    kept, seen = [], Counter[Hashable]()
    for hypothesis in ordered:
        if hypothesis.estimate < ordered[0].estimate + limits.log_threshold:
            break
        group = coverage(hypothesis.state)
        seen[group] += 1
        if limits.coverage_beam is None or seen[group] <= limits.coverage_beam:
            kept.append(hypothesis)
    return kept[: limits.beam]


def search_graph(space: SearchSpace[State], limits: BeamLimits) -> SearchGraph:
    """Searches from the start of a space, which covers 0, to the one state of its last level.

    Equal states of a coverage are recombined: what follows cannot tell them apart, so the better score stays and both
    arcs do.
    """
    stacks: list[dict[State, _Hypothesis[State]]] = [{} for _ in range(space.levels + 1)]
    start = stacks[0][space.start] = _Hypothesis(0, space.start, 0.0, space.future(space.start), -1)
    nodes, arcs = [start], list[tuple[int, int, int, float]]()
    for stack in stacks[:-1]:
        for hypothesis in _pruned(stack.values(), limits, space.coverage):
            for move in space.expand(hypothesis.state):
                score, known = hypothesis.score + move.score, stacks[move.covered].get(move.state)
                if known is None:
                    known = _Hypothesis(len(nodes), move.state, -np.inf, space.future(move.state), -1)
                    nodes.append(known)
                    stacks[move.covered][move.state] = known
                if score > known.score:
                    known.score, known.best_arc = score, len(arcs)
                arcs.append((hypothesis.node, known.node, move.label, move.score))
    columns = list(zip(*arcs, strict=True)) if arcs else [(), (), (), ()]
    return SearchGraph(
        source_A=np.array(columns[0], dtype=np.int32),
        target_A=np.array(columns[1], dtype=np.int32),
        label_A=np.array(columns[2], dtype=np.int32),
        score_A=np.array(columns[3], dtype=np.float64),
        score_N=np.array([node.score for node in nodes]),
        best_arc_N=np.array([node.best_arc for node in nodes], dtype=np.int32),
        goal=next((goal.node for goal in stacks[-1].values()), -1),
    )
