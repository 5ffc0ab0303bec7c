"""The paths of a lattice one by one, for tests to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.kernels.search.lattices import all_paths
from xlate.array_types import Floats
from xlate.search.lattice import Lattice, LatticePath, linear_scores
from xlate.search.oracle import OraclePath, OracleSearch, _ranked


def nbest(lattice: Lattice, most: int = 10**6, *, distinct: bool = True) -> list[LatticePath]:
    """The best `most` paths, best first; with `distinct` only the best one of those with the same words."""
    if distinct:
        return lattice.first(most)
    return sorted(map(lattice.path, all_paths(lattice.graph)), key=lambda path: -path.score)[:most]


def rescored(lattice: Lattice, dense_D: Floats, sparse_F: Floats) -> Lattice:
    """The same paths under other weights."""
    score_A = linear_scores(lattice.arcs, dense_D, sparse_F) + lattice.arcs.base_A
    return replace(lattice, arcs=lattice.arcs._replace(score_A=score_A))


def nbest_oracle(lattice: Lattice, references: Sequence[Sequence[str]], most: int) -> list[OraclePath]:
    """The `most` distinct translations of the highest score, best by sentence BLEU first, then by score."""
    return _ranked(OracleSearch(lattice, references), lattice.first(most))
