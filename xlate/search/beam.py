"""What a search needs to know of a sentence, and the readable beam search: expand, recombine, prune, read back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
class Hypothesis(Generic[State]):
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


@dataclass
class Beam(Generic[State]):
    """Hypotheses by coverage, and every arc between them.

    `stacks[c]` maps the states that cover c source words to their hypotheses; equal states are recombined: what
    follows cannot tell them apart, so the better score stays and both arcs do.
    """

    stacks: list[dict[State, Hypothesis[State]]]
    future: Callable[[State], float]
    nodes: list[Hypothesis[State]] = field(default_factory=list)
    arcs: list[tuple[int, int, int, float]] = field(default_factory=list)

    def recombine(self, parent: Hypothesis[State] | None, move: Move[State]) -> None:
        """Adds one move: a new hypothesis, or one more arc to the hypothesis of an equal state."""
        stack = self.stacks[move.covered]
        score = (parent.score if parent else 0.0) + move.score
        known = stack.get(move.state)
        if known is None:
            known = Hypothesis(len(self.nodes), move.state, -np.inf, self.future(move.state), -1)
            self.nodes.append(known)
            stack[move.state] = known
        if score > known.score:
            known.score = score
            known.best_arc = len(self.arcs) if parent else -1
        if parent is not None:
            self.arcs.append((parent.node, known.node, move.label, move.score))

    def graph(self, goal: int) -> SearchGraph:
        """The arcs as arrays."""
        columns = list(zip(*self.arcs, strict=True)) if self.arcs else [(), (), (), ()]
        return SearchGraph(
            source_A=np.array(columns[0], dtype=np.int32),
            target_A=np.array(columns[1], dtype=np.int32),
            label_A=np.array(columns[2], dtype=np.int32),
            score_A=np.array(columns[3], dtype=np.float64),
            score_N=np.array([node.score for node in self.nodes]),
            best_arc_N=np.array([node.best_arc for node in self.nodes], dtype=np.int32),
            goal=goal,
        )


def prune(
    hypotheses: Iterable[Hypothesis[State]],
    limits: BeamLimits,
    coverage: Callable[[State], Hashable] | None = None,
) -> list[Hypothesis[State]]:
    """The hypotheses within the limits, best first; ties in the order of creation.

    Coverage pruning needs `coverage`, what a state belongs to.
    """
    ordered = sorted(hypotheses, key=lambda hypothesis: -hypothesis.estimate)
    if not ordered:
        return []
    floor = ordered[0].estimate + limits.log_threshold
    kept = [hypothesis for hypothesis in ordered if hypothesis.estimate >= floor]
    if coverage is not None and limits.coverage_beam is not None:
        seen: Counter[Hashable] = Counter()
        chosen = []
        for hypothesis in kept:
            key = coverage(hypothesis.state)
            seen[key] += 1
            if seen[key] <= limits.coverage_beam:
                chosen.append(hypothesis)
        kept = chosen
    return kept[: limits.beam]


def search_graph(space: SearchSpace[State], limits: BeamLimits) -> SearchGraph:
    """Searches from the start of a space, which covers 0, to the one state of its last level."""
    search: Beam[State] = Beam([{} for _ in range(space.levels + 1)], space.future)
    search.recombine(None, Move(space.start, 0, 0.0, -1))
    for stack in search.stacks[:-1]:
        for hypothesis in prune(stack.values(), limits, space.coverage):
            for move in space.expand(hypothesis.state):
                search.recombine(hypothesis, move)
    goals = list(search.stacks[-1].values())
    return search.graph(goals[0].node if goals else -1)
