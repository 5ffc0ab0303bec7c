"""A lattice of phrases as one of words, for the files that other tools read."""

from __future__ import annotations

import numpy as np

from xlate.decode.lattice import Lattice
from xlate.formats.lattice import EPSILON, WordLattice
from xlate.kernels.lattice_passes import ArcGraph


def word_lattice(lattice: Lattice) -> WordLattice:
    """The same paths with one word an arc, the score of a phrase on its first word.

    Nodes inside phrases stand behind the node where the phrase begins, so the order stays topological. An arc without
    words, the end of the sentence, stays as one without.
    """
    inner_A = np.maximum(lattice.length_A - 1, 0)
    source_A, target_A = lattice.graph.source_A, lattice.graph.target_A
    # A node comes behind the nodes before it and the inner nodes of all phrases from those.
    inner_N = np.bincount(source_A, inner_A, minlength=lattice.graph.nodes).astype(np.int64)
    number_N = np.arange(lattice.graph.nodes) + np.cumsum(inner_N) - inner_N
    arcs: list[tuple[int, int, str, float]] = []
    inside, last = 0, -1
    for arc in range(len(lattice)):
        source, target = int(source_A[arc]), int(number_N[target_A[arc]])
        inside = int(number_N[source]) + 1 if source != last else inside
        words = lattice.arc_words(arc) or (EPSILON,)
        stops = [int(number_N[source]), *range(inside, inside + len(words) - 1), target]
        scores = [float(lattice.score_A[arc])] + [0.0] * (len(words) - 1)
        arcs += zip(stops, stops[1:], words, scores, strict=False)
        inside, last = inside + len(words) - 1, source
    arcs.sort(key=lambda row: row[0])
    sources, targets, spelled, values = zip(*arcs, strict=True)
    graph = ArcGraph(np.array(sources, dtype=np.int32), np.array(targets, dtype=np.int32), int(number_N[-1]) + 1)
    return WordLattice(graph, tuple(spelled), np.array(values))
