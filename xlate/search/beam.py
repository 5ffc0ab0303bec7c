"""What a search needs to know about a sentence, and the readable beam search: expand, recombine, prune, read back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints32
from xlate.kernels.search.best_paths import GraphArcs, Paths, Texts, k_best_paths, path_scores
from xlate.kernels.search.hypotheses import Hypotheses, Limits
from xlate.text.vocabulary import EncodedText, WordNumbers

State = TypeVar("State", bound=Hashable)
Words = tuple[str, ...]


# The label of the last arc of every path, the end of the sentence, which is left out of the labels of a path.
END_LABEL = -1
# The readable search does its own pruning.
EVERY_MOVE = Limits(0, 0, -np.inf, True)


@dataclass(frozen=True)
class SearchGraph:
    """All paths of a finished search: N nodes (hypotheses) and A arcs (steps), arcs in order of expansion.

    An arc's source was expanded before its target, so reading arcs backwards is a reverse topological order. Node 0 is
    the start. Arcs into pruned nodes are included, but lead nowhere. `goal` is -1 when the search reached no end.
    """

    source_A: Ints32
    target_A: Ints32
    label_A: Ints32
    score_A: Floats
    score_N: Floats
    best_arc_N: Ints32
    goal: int

    @classmethod
    def of_hypotheses(cls, nodes: AnyArray, arcs: AnyArray, goal: int) -> SearchGraph:
        """The graph of a compiled search's results; see `xlate.kernels.search.hypotheses.finished`."""
        return cls(
            source_A=arcs["source"],
            target_A=arcs["target"],
            label_A=arcs["label"],
            score_A=arcs["score"],
            score_N=nodes["score"],
            best_arc_N=nodes["arc"],
            goal=int(goal),
        )

    @classmethod
    def of_arcs(
        cls, arcs: Sequence[tuple[int, int, int, float]], score_N: Sequence[float], best_arc_N: Sequence[int], goal: int
    ) -> SearchGraph:
        """The graph of arcs with source, target, label and score."""
        *numbers, score_A = zip(*arcs, strict=True) if arcs else [()] * 4
        source_A, target_A, label_A = (np.array(column, np.int32) for column in numbers)
        columns = np.array(score_A, np.float64), np.array(score_N), np.array(best_arc_N, np.int32)
        return cls(source_A, target_A, label_A, *columns, goal)

    @property
    def arcs(self) -> GraphArcs:
        """The arcs as kernels take them, with contiguous numbers, so that each kernel has only one version."""
        source_A, target_A, label_A = map(np.ascontiguousarray, (self.source_A, self.target_A, self.label_A))
        return GraphArcs(source_A, target_A, label_A, np.ascontiguousarray(self.score_A), self.goal, len(self.score_N))

    def best_labels(self) -> list[int]:
        """The labels along the best path, first to last, without the end of the sentence."""
        labels: list[int] = []
        node = self.goal
        while node > 0:
            arc = int(self.best_arc_N[node])
            labels.append(int(self.label_A[arc]))
            node = int(self.source_A[arc])
        return [label for label in labels[::-1] if label != END_LABEL]

    def best_paths(self, most: int, texts_of: TextsOf | None = None) -> tuple[Paths, Floats]:
        """The best `most` paths from start to goal, best first, without the end of the sentence, and their scores.

        With `texts_of`, only the best of the paths with equal words is included.
        """
        # Only the labels of arcs are spelled out, because a sentence may have far more. The last place is of the end.
        used_O1 = np.zeros(int(self.label_A.max(initial=END_LABEL)) + 2, np.bool_)
        used_O1[self.label_A] = True
        labels, number_O1 = np.flatnonzero(used_O1[:-1]).astype(np.int32), np.cumsum(used_O1, dtype=np.int32) - 1
        number_O1[END_LABEL] = END_LABEL
        words = WordNumbers().encode([]) if texts_of is None else texts_of(labels)
        texts = Texts(words.offsets_S1, words.ids_T, distinct=texts_of is not None)
        arcs = self.arcs._replace(label_A=number_O1[self.label_A])
        offsets_N1, numbers_L, score_N = k_best_paths(arcs, texts, most)
        return Paths(offsets_N1, labels[numbers_L]), score_N


def path_of(labels: Sequence[int]) -> Paths:
    """One path with these labels."""
    return Paths(np.array([0, len(labels)]), np.array(labels, np.int32))


def ended(paths: Paths) -> Paths:
    """The paths with the end of the sentence."""
    label_L = np.insert(paths.labels_L, paths.offsets_N1[1:], END_LABEL)
    return Paths(paths.offsets_N1 + np.arange(len(paths.offsets_N1)), label_L)


def labels_of(paths: Paths) -> list[list[int]]:
    """The labels of each path."""
    labels = paths.labels_L.tolist()
    return [labels[a:b] for a, b in pairwise(paths.offsets_N1.tolist())]


# Gives the target words of labels, equal words by equal numbers.
TextsOf = Callable[[Ints32], EncodedText]


@dataclass(frozen=True, slots=True)
class Move(Generic[State]):
    """One step forward: the state it leads to, how much that covers, what the step adds, and what was done."""

    state: State
    covered: int
    score: float
    label: int


class SearchSpace(ABC, Generic[State]):
    """The moves over one sentence. States are hashable: equal ones have the same future and are recombined."""

    @property
    @abstractmethod
    def start(self) -> State:
        """The state that covers nothing."""

    @property
    @abstractmethod
    def levels(self) -> int:
        """Coverage runs from 0 to this number; only the goal state has this coverage."""

    @abstractmethod
    def expand(self, state: State) -> Iterable[Move[State]]:
        """All moves from a state, each to a higher coverage."""

    @abstractmethod
    def future(self, state: State) -> float:
        """An estimate of the score still to come from a state; 0 everywhere switches it off."""

    @abstractmethod
    def words_of(self, label: int) -> Words:
        """The target words of the step with this label."""

    def texts(self, labels: Ints32) -> EncodedText:
        """The target words of the steps with these labels; equal words have equal numbers."""
        return WordNumbers().encode(self.words_of(label) for label in labels.tolist())

    def coverage(self, state: State) -> Hashable:  # noqa: ARG002
        """What coverage pruning groups states by; by default, all states are one group."""
        return None


class CompiledSpace(SearchSpace[int]):
    """The moves of a compiled search over one sentence: states are numbers of hypotheses of one search, which grows.

    Attributes:
        KERNEL: the module of the compiled search. Its functions `search` and, for cube pruning, `search_cubes` take the
            task and return what `SearchGraph.of_hypotheses` takes. The readable search calls `begun(task)`, which gives
            a search that has translated nothing, and `extended(task, held, state, level)`, which adds the moves of a
            hypothesis of a level to such a search. A search is a tuple that begins with its hypotheses.
        options: what the words may be translated into; it has the words.
        search: settings.
    """

    KERNEL: Any
    options: Any
    search: Any

    @property
    @abstractmethod
    def task(self) -> Any:
        """The sentence in the form that the compiled search takes, with `EVERY_MOVE` as its `limits`."""

    def graph(self, limits: Limits) -> SearchGraph:
        """What the compiled search finds."""
        cubes = getattr(self.search, "algorithm", None) == "cube"
        kernel = self.KERNEL.search_cubes if cubes else self.KERNEL.search
        found = SearchGraph.of_hypotheses(*kernel(self.task._replace(limits=limits)))
        self._found[:] = [found]
        return found

    @cached_property
    def _found(self) -> list[SearchGraph]:
        """The graph of the latest compiled search, if there was one."""
        return []

    @property
    def start(self) -> int:
        return 0

    @property
    def levels(self) -> int:
        return len(self.options.words) + 1

    @cached_property
    def _held(self) -> list[Any]:
        """The search, in arrays that grow."""
        return [self.KERNEL.begun(self.task)]

    @property
    def hypotheses(self) -> Hypotheses:
        """The hypotheses so far."""
        found: Hypotheses = self._held[0][0]
        return found

    @cached_property
    def _moves(self) -> dict[int, AnyArray]:
        return {}

    @cached_property
    def _level_of(self) -> dict[int, int]:
        """How much each hypothesis covers."""
        return {self.start: 0}

    def moves(self, state: int) -> AnyArray:
        """The moves of a hypothesis as records of `target`, `label` and `score`."""
        if state not in self._moves:
            nodes, first = self.hypotheses.counts.tolist()
            self._held[0] = self.KERNEL.extended(self.task, self._held[0], state, self._level_of[state])
            found = self.hypotheses
            self._moves[state] = found.arcs[first : found.counts[1]]
            for level, node in enumerate(found.heads_L.tolist()):
                # The newest ones come first in the stack of their level.
                while node >= nodes:
                    self._level_of[node] = level
                    node = int(found.nodes["next"][node])
        return self._moves[state]

    def expand(self, state: int) -> Iterator[Move[int]]:
        for _, target, label, score in self.moves(state).tolist():
            yield Move(target, self._level_of[target], score, label)

    def future(self, state: int) -> float:
        return float(self.hypotheses.nodes["future"][state])

    def scores(self, paths: Paths) -> Floats:
        """What each of the L steps along some paths scores, (L,); labels include that of the end."""
        for graph in self._found:
            score_L = path_scores(graph.arcs, paths)
            if not np.isnan(score_L).any():
                return score_L
        return np.array([score for labels in labels_of(paths) for score in self._walked(labels)])

    def _walked(self, labels: Sequence[int]) -> Iterator[float]:
        """The scores along a path that the search may not have taken."""
        state = self.start
        for label in labels:
            moves = self.moves(state)
            place = int(np.flatnonzero(moves["label"] == label)[0])
            state = int(moves["target"][place])
            yield float(moves["score"][place])


@dataclass(frozen=True)
class ForcedSpace(SearchSpace[tuple[State, int]]):
    """The moves of a sentence that continue a given translation, and its end once the translation is complete.

    A state is a state of the free search, and how many words of the translation have been produced.

    Args:
        free: the space without the restriction.
        target: the translation.
    """

    free: SearchSpace[State]
    target: Words

    @property
    def start(self) -> tuple[State, int]:
        return self.free.start, 0

    @property
    def levels(self) -> int:
        return self.free.levels

    def future(self, state: tuple[State, int]) -> float:
        return self.free.future(state[0])

    def words_of(self, label: int) -> Words:
        return self.free.words_of(label)

    def coverage(self, state: tuple[State, int]) -> Hashable:
        return self.free.coverage(state[0])

    def expand(self, state: tuple[State, int]) -> Iterator[Move[tuple[State, int]]]:
        for move in self.free.expand(state[0]):
            words = self.free.words_of(move.label)
            behind = state[1] + len(words)
            fits = self.target[state[1] : behind] == words
            if fits and (move.covered < self.levels or behind == len(self.target)):
                yield Move((move.state, behind), move.covered, move.score, move.label)


def phrases_in(target: Sequence[str]) -> set[Words]:
    """All phrases of a translation."""
    words = tuple(target)
    return {words[start:end] for start in range(len(words)) for end in range(start + 1, len(words) + 1)}


def _pruned(estimate_by_node: Mapping[int, float], limits: Limits, group_of: Callable[[int], Hashable]) -> list[int]:
    """The hypotheses within the limits, best first; ties in order of creation."""
    ordered = sorted(estimate_by_node, key=lambda node: -estimate_by_node[node])
    kept, seen = list[int](), Counter[Hashable]()
    for node in ordered:
        if estimate_by_node[node] < estimate_by_node[ordered[0]] + limits.log_threshold:
            break
        group = group_of(node)
        seen[group] += 1
        if limits.group_beam == 0 or seen[group] <= limits.group_beam:
            kept.append(node)
    return kept[: limits.beam or None]


def search_graph(space: SearchSpace[State], limits: Limits) -> SearchGraph:
    """Searches from the start of a space, which covers 0, to the one state of its last level.

    Equal states of a coverage are recombined: they have the same continuations, so the better score is kept, and so are
    both arcs, whatever `Limits.every_arc` says; its groups are those of `SearchSpace.coverage`.
    """
    stacks: list[dict[State, int]] = [{} for _ in range(space.levels + 1)]
    stacks[0][space.start] = 0
    state_N, score_N, future_N, best_arc_N = [space.start], [0.0], [space.future(space.start)], [-1]
    arcs = list[tuple[int, int, int, float]]()
    for stack in stacks[:-1]:
        estimates = {node: score_N[node] + future_N[node] for node in stack.values()}
        for node in _pruned(estimates, limits, lambda node: space.coverage(state_N[node])):
            for move in space.expand(state_N[node]):
                score, known = score_N[node] + move.score, stacks[move.covered].get(move.state)
                if known is None:
                    known = stacks[move.covered][move.state] = len(state_N)
                    state_N.append(move.state)
                    score_N.append(-np.inf)
                    future_N.append(space.future(move.state))
                    best_arc_N.append(-1)
                if score > score_N[known]:
                    score_N[known], best_arc_N[known] = score, len(arcs)
                arcs.append((node, known, move.label, move.score))
    return SearchGraph.of_arcs(arcs, score_N, best_arc_N, next(iter(stacks[-1].values()), -1))
