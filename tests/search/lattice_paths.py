"""The paths of a lattice one by one, and sums over them, for tests to compare with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from xlate.array_types import AnyInts, Floats
from xlate.kernels.search.lattice_passes import ArcGraph, arc_posteriors
from xlate.search.graph import SearchGraph
from xlate.search.lattice import Lattice, LatticePath
from xlate.search.lattice_graph import linear_scores
from xlate.search.lattice_oracle import OraclePath, OracleSearch, _ranked
from xlate.search.nbest import best_paths
from xlate.search.space import Words


def nbest(lattice: Lattice, *, distinct: bool = True) -> Iterator[LatticePath]:
    """All paths, best first, one by one; with `distinct` only the best one of those with the same words."""
    return paths_by_score(lattice, lattice.graph, lattice.score_A, np.arange(len(lattice)), distinct=distinct)


def paths_by_score(
    lattice: Lattice, graph: ArcGraph, score_B: Floats, arc_B: AnyInts, *, distinct: bool
) -> Iterator[LatticePath]:
    """Paths of a graph whose arcs stand for those of a lattice (`arc_B`), by the sum of `score_B`."""
    nothing_N = np.zeros(graph.nodes)
    labels_B = np.arange(len(score_B), dtype=np.int32)
    search = SearchGraph(
        graph.source_A, graph.target_A, labels_B, score_B, nothing_N, nothing_N.astype(np.int32), graph.nodes - 1
    )

    def words_of(label: int) -> Words:
        return lattice.arc_words(int(arc_B[label]))

    for _, labels in best_paths(search, words_of if distinct else None, newest_first=True):
        yield lattice.path(arc_B[labels])


def count_paths(lattice: Lattice) -> int:
    """How many paths there are, exactly."""
    ways = [1] + [0] * (lattice.graph.nodes - 1)
    for source, target in zip(lattice.graph.source_A.tolist(), lattice.graph.target_A.tolist(), strict=True):
        ways[target] += ways[source]
    return ways[-1]


def log_sum(lattice: Lattice, scale: float = 1.0) -> float:
    """ln Z = ln Σ exp(scale · score) over all paths (TZ07 Eq. 4)."""
    return float(arc_posteriors(lattice.graph, scale * lattice.score_A)[0])


def posteriors(lattice: Lattice, scale: float = 1.0) -> Floats:
    """The probability of passing each arc when a path has p ∝ exp(scale · score); shape (A,)."""
    return np.asarray(arc_posteriors(lattice.graph, scale * lattice.score_A)[1])


def rescored(lattice: Lattice, dense_D: Floats, sparse_F: Floats) -> Lattice:
    """The same paths under other weights."""
    score_A = linear_scores(lattice.arcs, dense_D, sparse_F) + lattice.arcs.base_A
    return replace(lattice, arcs=lattice.arcs._replace(score_A=score_A))


def nbest_oracle(lattice: Lattice, references: Sequence[Sequence[str]], most: int) -> list[OraclePath]:
    """The `most` distinct translations of the highest score, best by sentence BLEU first, then by score."""
    return _ranked(OracleSearch(lattice, references), lattice.first(most))
