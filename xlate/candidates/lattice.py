"""A sentence whose candidates are the paths of a lattice: arcs with features, and the paths that are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Ints32
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.search.lattice_passes import ArcGraph, trimmed


class SubLattice(NamedTuple):
    """Some of the paths of a lattice as a graph of their own; its arc b is arc `arc_B[b]` of the lattice.

    One arc of the lattice may stand in it several times, so that it can hold any set of paths.
    """

    graph: ArcGraph
    arc_B: Ints32

    @property
    def is_empty(self) -> bool:
        """Whether there is no path at all; a path without arcs counts as one."""
        return self.graph.nodes > 1 and not len(trimmed(self.graph)[1])


def marked_paths(graph: ArcGraph, marked_A: Bools) -> SubLattice:
    """The paths all of whose arcs are marked."""
    marked = np.flatnonzero(marked_A)
    small, kept = trimmed(ArcGraph(graph.source_A[marked], graph.target_A[marked], graph.nodes))
    return SubLattice(small, marked[kept].astype(np.int32))


def joined(parts: Sequence[SubLattice]) -> SubLattice:
    """The paths of several sub-lattices, which must have none in common, side by side from one start to one goal.

    Raises:
        ValueError: no sub-lattice, or one that consists of a single node.
    """
    if not parts or any(part.graph.nodes < 2 for part in parts):
        raise ValueError("only sub-lattices with arcs can be joined")
    # Inner nodes follow each other; all starts become 0, all goals the last node.
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


@dataclass(frozen=True)
class LatticeExample:
    """One instance of the global model (Tillmann & Zhang 2007, Eq. 4): all paths of a lattice, and the wanted ones.

    Attributes:
        arcs: one instance whose A candidates are the arcs: float features and sparse ids.
        graph: how they hang together.
        target: the wanted paths.
    """

    arcs: CandidateBatch
    graph: ArcGraph
    target: SubLattice

    def validate(self) -> LatticeExample:
        """Returns itself when every part fits the others.

        Raises:
            ValueError: saying which does not.
        """
        self.arcs.validate()
        for name, graph, arcs in (
            ("graph", self.graph, self.arcs.candidates),
            ("target", self.target.graph, len(self.target.arc_B)),
        ):
            source_A, target_A = graph.source_A, graph.target_A
            if not len(source_A) == len(target_A) == arcs:
                raise ValueError(f"{name}: {len(source_A)} sources, {len(target_A)} targets, {arcs} arcs")
            ordered = (np.diff(source_A) >= 0).all() and (source_A >= 0).all() and (source_A < target_A).all()
            if not (ordered and (target_A < graph.nodes).all()):
                raise ValueError(f"{name}: arcs are not in topological order within {graph.nodes} nodes")
        arc_B = self.target.arc_B
        if self.target.is_empty or (len(arc_B) and not 0 <= arc_B.min() <= arc_B.max() < self.arcs.candidates):
            raise ValueError("target: no path, or arcs that the lattice does not have")
        return self
