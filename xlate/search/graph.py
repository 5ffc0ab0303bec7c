"""What a search leaves behind: hypotheses, the steps between them, the best paths, and the arcs that lattices have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, AnyFloats, AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of, row_numbers
from xlate.kernels.search.best_paths import GraphArcs, Texts, k_best_paths
from xlate.kernels.search.lattice_passes import ArcGraph, trimmed

# The last label of every path: the end of the sentence.
END_LABEL = -1


@dataclass(frozen=True)
class SearchGraph:
    """All ways of a finished search: N nodes (hypotheses) and A arcs (steps), arcs in the order of their expansion.

    An arc's source was expanded before its target, so reading arcs backwards is a reverse topological order. Node 0 is
    the start. Arcs into pruned nodes are there, but lead nowhere. `goal` is -1 when the search reached no end.
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
        """The graph of what a compiled search gave; see `xlate.kernels.search.hypotheses.finished`."""
        return cls(
            source_A=arcs["source"],
            target_A=arcs["target"],
            label_A=arcs["label"],
            score_A=arcs["score"],
            score_N=nodes["score"],
            best_arc_N=nodes["arc"],
            goal=int(goal),
        )

    @property
    def arcs(self) -> GraphArcs:
        """As kernels take them, each number beside the next, so that there is one version of each kernel."""
        source_A, target_A, label_A = map(np.ascontiguousarray, (self.source_A, self.target_A, self.label_A))
        return GraphArcs(source_A, target_A, label_A, np.ascontiguousarray(self.score_A), self.goal, len(self.score_N))

    def best_labels(self) -> list[int]:
        """The labels along the best path, first to last."""
        labels: list[int] = []
        node = self.goal
        while node > 0:
            arc = int(self.best_arc_N[node])
            labels.append(int(self.label_A[arc]))
            node = int(self.source_A[arc])
        return labels[::-1]

    def best_paths(
        self, most: int, words_of: Callable[[int], tuple[str, ...]] | None = None
    ) -> list[tuple[float, list[int]]]:
        """Score and labels of the best `most` paths from start to goal, best first.

        Where arcs are labelled with the end of the sentence, `END_LABEL` is the last label of every path.
        With `words_of`, the target words of a label, of the paths with equal words only the best is there.
        """
        if self.goal == 0:
            # The start is the goal: there is one path, which has no arcs.
            return [(0.0, [])]
        labels, place_A = np.unique(self.label_A, return_inverse=True)
        ends = int((labels < 0).sum())
        numbers: dict[str, int] = {}
        spelled = [] if words_of is None else [words_of(label) for label in labels[ends:].tolist()]
        ids = [numbers.setdefault(word, len(numbers)) for words in spelled for word in words]
        texts = Texts(offsets_of([len(words) for words in spelled]), np.array(ids, dtype=np.int32), bool(words_of))
        arcs = self.arcs._replace(label_A=place_A.astype(np.int32) - np.int32(ends))
        offsets_N1, places_L, score_N = k_best_paths(arcs, texts, most)
        found = labels[ends:][places_L].tolist()
        paths = [[*found[a:b], *[END_LABEL][:ends]] for a, b in pairwise(offsets_N1.tolist())]
        return list(zip(score_N.tolist(), paths, strict=True))


class LatticeArcs(NamedTuple):
    """A graph whose A arcs have labels, scores and features: score = dense · w_D + Σ w_F[sparse ids] + base.

    The ids of arc a are `sparse_ids_M[sparse_offsets_A1[a]:sparse_offsets_A1[a + 1]]`. `base_A` is what the weights do
    not explain: minus the normaliser where a decoder has one, else 0.
    """

    graph: ArcGraph
    label_A: Ints32
    score_A: Floats
    dense_AD: Floats
    sparse_offsets_A1: Ints
    sparse_ids_M: Ints32
    base_A: Floats


def useful_arcs(found: SearchGraph) -> LatticeArcs:
    """The arcs on complete paths, without features; nodes are numbered in the order in which they were expanded."""
    expanded, first = np.unique(found.source_A, return_index=True)
    number_N = np.full(len(found.score_N), -1, dtype=np.int32)
    number_N[expanded[np.argsort(first)]] = np.arange(len(expanded))
    number_N[found.goal] = len(expanded)
    arcs = np.flatnonzero(number_N[found.target_A] >= 0)
    # Cube pruning goes from hypothesis to hypothesis; a lattice has the arcs of each node together.
    arcs = arcs[np.argsort(number_N[found.source_A[arcs]], kind="stable")]
    source_A, target_A = number_N[found.source_A[arcs]], number_N[found.target_A[arcs]]
    graph, kept = trimmed(ArcGraph(source_A, target_A, len(expanded) + 1))
    arcs = arcs[kept]
    size = len(arcs)
    nothing = np.zeros((size, 0)), np.zeros(size + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(size)
    return LatticeArcs(graph, found.label_A[arcs], found.score_A[arcs], *nothing)


def chosen_arcs(arcs: LatticeArcs, rows: AnyInts, graph: ArcGraph) -> LatticeArcs:
    """Arcs of a lattice, perhaps some several times, hung together in another way."""
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
        weights_M = np.asarray(sparse_F, dtype=np.float64)[arcs.sparse_ids_M]
        score_A += np.bincount(row_numbers(arcs.sparse_offsets_A1), weights_M, minlength=len(score_A))
    return np.asarray(score_A, dtype=np.float64)
