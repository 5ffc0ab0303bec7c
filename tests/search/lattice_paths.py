"""The paths of a lattice one by one, and sums over them, for tests to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xlate.array_types import Floats
from xlate.kernels.search.lattice_passes import arc_posteriors
from xlate.search.graph import SearchGraph, linear_scores
from xlate.search.lattice import Lattice, LatticePath
from xlate.search.oracle import OraclePath, OracleSearch, _ranked


def nbest(lattice: Lattice, most: int = 10**6, *, distinct: bool = True) -> list[LatticePath]:
    """The best `most` paths, best first; with `distinct` only the best one of those with the same words."""
    if distinct:
        return lattice.first(most)
    arcs, nodes = np.arange(len(lattice), dtype=np.int32), lattice.graph.nodes
    nothing_N = np.zeros(nodes)
    ends = lattice.graph.source_A, lattice.graph.target_A
    found = SearchGraph(*ends, arcs, lattice.score_A, nothing_N, nothing_N.astype(np.int32), nodes - 1)
    return [lattice.path(labels) for _, labels in found.best_paths(most)]


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
