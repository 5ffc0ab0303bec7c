"""A translation graph as an object: its paths, the parts they share, and the sources of their scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.errors import refuse_if
from xlate.kernels.search.best_paths import GraphArcs, Texts, k_best_paths
from xlate.kernels.search.lattice_passes import (
    DEAD,
    ArcGraph,
    SubLattice,
    arc_posteriors,
    best_path,
    best_through,
    product,
    trimmed,
)
from xlate.search.beam import SearchGraph, Words
from xlate.text.vocabulary import EncodedText, WordNumbers


class LatticeArcs(NamedTuple):
    """A graph whose A arcs have labels, scores and features: score = dense · w_D + Σ w_F[sparse ids] + base.

    The ids of arc a are `sparse_ids_M[sparse_offsets_A1[a]:sparse_offsets_A1[a + 1]]`. `base_A` is the part of the
    score not explained by the weights: minus the normaliser where a decoder has one, otherwise 0.
    """

    graph: ArcGraph
    label_A: Ints32
    score_A: Floats
    dense_AD: Floats
    sparse_offsets_A1: Ints
    sparse_ids_M: Ints32
    base_A: Floats


def useful_arcs(found: SearchGraph) -> LatticeArcs:
    """The arcs on complete paths, without features; nodes are numbered in order of expansion."""
    expanded, first = np.unique(found.source_A, return_index=True)
    number_N = np.full(len(found.score_N), -1, np.int32)
    number_N[expanded[np.argsort(first)]] = np.arange(len(expanded))
    number_N[found.goal] = len(expanded)
    arcs = np.flatnonzero(number_N[found.target_A] >= 0)
    # Cube pruning goes from hypothesis to hypothesis; in a lattice, the arcs of each node are together.
    arcs = arcs[np.argsort(number_N[found.source_A[arcs]], kind="stable")]
    source_A, target_A = number_N[found.source_A[arcs]], number_N[found.target_A[arcs]]
    graph, kept = trimmed(ArcGraph(source_A, target_A, len(expanded) + 1))
    arcs = arcs[kept]
    size = len(arcs)
    nothing = np.zeros((size, 0)), np.zeros(size + 1, np.int64), np.zeros(0, np.int32), np.zeros(size)
    return LatticeArcs(graph, found.label_A[arcs], found.score_A[arcs], *nothing)


def chosen_arcs(arcs: LatticeArcs, rows: AnyInts, graph: ArcGraph) -> LatticeArcs:
    """Arcs of a lattice, possibly with repetitions, connected in another way."""
    places_M, offsets_A1 = gathered(arcs.sparse_offsets_A1, rows)
    return LatticeArcs(
        graph,
        arcs.label_A[rows],
        arcs.score_A[rows],
        arcs.dense_AD[rows],
        offsets_A1,
        arcs.sparse_ids_M[places_M],
        arcs.base_A[rows],
    )


def linear_scores(arcs: LatticeArcs, dense_D: AnyFloats, sparse_F: AnyFloats) -> Floats:
    """dense · w_D + Σ w_F[sparse ids] of each arc, shape (A,)."""
    score_A = arcs.dense_AD @ dense_D
    if len(arcs.sparse_ids_M):
        weights_M = np.asarray(sparse_F, np.float64)[arcs.sparse_ids_M]
        score_A += np.bincount(row_numbers(arcs.sparse_offsets_A1), weights_M, minlength=len(score_A))
    return np.asarray(score_A, np.float64)


class LatticeExample(NamedTuple):
    """One instance of the global model (Tillmann & Zhang 2007, Eq. 4): all paths of a lattice, and the wanted ones.

    Attributes:
        arcs: one instance whose A candidates are the arcs: float features and sparse ids.
        graph: how they are connected.
        target: the wanted paths.
    """

    arcs: CandidateBatch
    graph: ArcGraph
    target: SubLattice


@dataclass(frozen=True)
class LatticePath:
    """A path through a lattice: its arcs, their target words, and the sum of their scores (natural log)."""

    score: float
    arcs: Ints
    words: Words


@dataclass(frozen=True)
class Lattice:
    """What a beam left of a translation graph (TZ07 section 5.2): A arcs, each with a phrase; every node is on a path.

    Scores are sums of weighted features (see `LatticeArcs`), so other weights give other scores for the same paths.

    Attributes:
        source: the sentence.
        arcs: nodes and arcs, node 0 the start, the last one the goal; labels are those of the search space.
        phrases, phrase_A: distinct target phrases, and that of each arc; the end has ().
        dense_names: of the float features.
    """

    source: Words
    arcs: LatticeArcs
    phrases: tuple[Words, ...]
    phrase_A: Ints32
    dense_names: tuple[str, ...]

    @classmethod
    def of(
        cls, source: Words, arcs: LatticeArcs, words_of: Callable[[int], Words], dense_names: tuple[str, ...]
    ) -> Lattice:
        """The lattice of some arcs, given the target words for each label."""
        used, place_A = np.unique(arcs.label_A, return_inverse=True)
        rows: dict[Words, int] = {}
        row_U = np.array([rows.setdefault(words_of(label), len(rows)) for label in used.tolist()], np.int32)
        return cls(source, arcs, tuple(rows), row_U[place_A.reshape(-1)], dense_names)

    @property
    def graph(self) -> ArcGraph:
        """How the arcs are connected."""
        return self.arcs.graph

    @property
    def score_A(self) -> Floats:
        """The score of each arc, natural logs."""
        return self.arcs.score_A

    def __len__(self) -> int:
        """The number of arcs A."""
        return len(self.score_A)

    @cached_property
    def length_A(self) -> Ints:
        """The number of target words of each arc."""
        return np.array([len(phrase) for phrase in self.phrases], np.int64)[self.phrase_A]

    @cached_property
    def spelled(self) -> EncodedText:
        """The phrases as numbers of words."""
        return WordNumbers().encode(self.phrases)

    def path(self, arcs: Sequence[int] | AnyInts) -> LatticePath:
        """Arcs that follow each other, with their words and score."""
        rows = np.asarray(arcs).astype(np.int64)
        words = tuple(word for arc in rows.tolist() for word in self.phrases[self.phrase_A[arc]])
        return LatticePath(float(self.score_A[rows].sum()), rows, words)

    def best(self) -> LatticePath:
        """The highest-scoring path."""
        return self.path(best_path(self.graph, self.score_A))

    def first(self, most: int) -> list[LatticePath]:
        """The best `most` paths with distinct words."""
        return first_paths(self, self.graph, self.score_A, np.arange(len(self)), most)

    def pruned(self, margin: float, keep: AnyInts | None = None) -> Lattice:
        """Only the arcs on a path with a score at most `margin` below the best one's (Sixtus & Ortmanns 1999).

        Args:
            margin: natural log, 0 or more.
            keep: arcs that are always kept, such as those of the wanted paths.
        """
        through_A = best_through(self.graph, self.score_A)
        # The best path itself is kept, however its scores are rounded when they are added in reverse.
        kept_A = through_A >= through_A.max(initial=-np.inf) - margin
        kept_A[self.best().arcs] = True
        if keep is not None:
            kept_A[keep] = True
        rows = np.flatnonzero(kept_A)
        source_A, target_A = self.graph.source_A[rows], self.graph.target_A[rows]
        graph, kept = trimmed(ArcGraph(source_A, target_A, self.graph.nodes))
        return replace(self, arcs=chosen_arcs(self.arcs, rows[kept], graph), phrase_A=self.phrase_A[rows[kept]])

    def derivations_of(self, words: Sequence[str]) -> SubLattice:
        """All paths with the given target words; empty when there is none."""
        target, rows = tuple(words), {phrase: row for row, phrase in enumerate(self.phrases)}
        lengths = {len(phrase) for phrase in rows}
        # An automaton over phrases that spells the words: its state is the number of words produced so far.
        next_SL = np.full((len(target) + 1, len(rows)), DEAD, np.int32)
        for start in range(len(target) + 1):
            for length in lengths:
                row = rows.get(target[start : start + length])
                if row is not None and start + length <= len(target):
                    next_SL[start, row] = start + length
        accepting_S = np.arange(len(target) + 1) == len(target)
        graph, arc_B, _ = product(self.graph, self.phrase_A, next_SL, accepting_S)
        small, kept = trimmed(graph)
        return SubLattice(small, arc_B[kept])

    def example(self, target: SubLattice) -> LatticeExample:
        """The lattice as one instance of the global model, with the wanted paths.

        Raises:
            InputError: the decoder normalised each step, so that scores are not linear in the weights.
        """
        refuse_if(
            self.arcs.base_A.any(),
            "the global model needs scores that are linear in the weights",
            "a lattice decoded with partition=local",
            None,
            "decode with partition=off",
        )
        arcs = CandidateBatch(
            candidate_offsets_I1=np.array([0, len(self)], np.int64),
            dense_CD=self.arcs.dense_AD.astype(np.float32),
            gain_CG=np.zeros((len(self), 0), np.float32),
            part_id_offsets_P1=self.arcs.sparse_offsets_A1,
            part_ids_N=self.arcs.sparse_ids_M,
        )
        return LatticeExample(arcs, self.graph, target)


def joined(parts: Sequence[SubLattice]) -> SubLattice:
    """The paths of several sub-lattices, which must have none in common, in parallel from one start to one goal.

    Raises:
        ValueError: no sub-lattice, or one that consists of a single node.
    """
    if not parts or any(part.graph.nodes < 2 for part in parts):
        raise ValueError("only sub-lattices with arcs can be joined")
    # Inner nodes come one after another; all starts become 0, all goals the last node.
    first = list(accumulate((part.graph.nodes - 2 for part in parts), initial=1))
    columns = []
    for shift, part in zip(first, parts, strict=False):
        for ends_B in (part.graph.source_A, part.graph.target_A):
            inner_B = ends_B + np.int32(shift - 1)
            inner_B[ends_B == 0] = 0
            inner_B[ends_B == part.graph.nodes - 1] = first[-1]
            columns.append(inner_B)
    source_B, target_B = np.concatenate(columns[::2]), np.concatenate(columns[1::2])
    order = np.argsort(source_B, kind="stable")
    arc_B = np.concatenate([part.arc_B for part in parts])
    return SubLattice(ArcGraph(source_B[order], target_B[order], first[-1] + 1), arc_B[order])


def first_paths(lattice: Lattice, graph: ArcGraph, score_B: Floats, arc_B: AnyInts, most: int) -> list[LatticePath]:
    """The first paths of a graph whose arcs stand for those of a lattice, with distinct words, best first.

    Args:
        lattice: whose arcs the paths have.
        graph: B arcs from node 0 to the last node.
        score_B: the score of each arc, which paths add up, (B,).
        arc_B: the lattice's arc that each stands for, (B,).
        most: how many paths there are at most.
    """
    goal = graph.nodes - 1
    words = lattice.spelled.select(lattice.phrase_A[arc_B])
    texts = Texts(words.offsets_S1, words.ids_T, distinct=True, newest_first=True)
    labels_B = np.arange(len(score_B), dtype=np.int32)
    # Memory is allocated for as many paths as requested, so request no more than there are.
    log_paths = float(arc_posteriors(graph, np.zeros(len(score_B)))[0])
    room = min(most, math.ceil(math.exp(min(log_paths, 40.0))) + 1)
    source_B, target_B = np.ascontiguousarray(graph.source_A), np.ascontiguousarray(graph.target_A)
    arcs = GraphArcs(source_B, target_B, labels_B, np.ascontiguousarray(score_B), goal, graph.nodes)
    offsets_N1, labels_L, _ = k_best_paths(arcs, texts, room)
    return [lattice.path(arc_B[labels_L[a:b]]) for a, b in pairwise(offsets_N1.tolist())]
