"""A sentence whose candidates are the paths of a lattice: arcs with features, and the paths that are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints32
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.search.lattice_passes import ArcGraph


class SubLattice(NamedTuple):
    """Some of the paths of a lattice as a graph of their own; its arc b is arc `arc_B[b]` of the lattice.

    One arc of the lattice may stand in it several times, so that it can hold any set of paths.
    """

    graph: ArcGraph
    arc_B: Ints32


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


class LatticeExample(NamedTuple):
    """One instance of the global model (Tillmann & Zhang 2007, Eq. 4): all paths of a lattice, and the wanted ones.

    Attributes:
        arcs: one instance whose A candidates are the arcs: float features and sparse ids.
        graph: how they hang together.
        target: the wanted paths.
    """

    arcs: CandidateBatch
    graph: ArcGraph
    target: SubLattice
