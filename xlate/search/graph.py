"""What a search leaves behind: hypotheses, the steps between them, and the best way to each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints32
from xlate.kernels.search.best_paths import GraphArcs


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
