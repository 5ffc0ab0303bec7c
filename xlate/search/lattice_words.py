"""A lattice of phrases as one of words, for the files that other tools read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import Floats
from xlate.formats.lattice import EPSILON, WordLattice
from xlate.kernels.search.lattice_passes import ArcGraph


def spelled_out(graph: ArcGraph, score_A: Floats, arc_words: Sequence[Sequence[str]]) -> WordLattice:
    """Paths of phrases as paths of words: one word an arc, the score of a phrase on its first word.

    An arc without words, the end of the sentence, stays as one without. Nodes inside phrases stand behind the node
    where the phrase begins, so the order stays topological.
    """
    length_A = np.array([len(words) for words in arc_words], dtype=np.int64)
    inner_A = np.maximum(length_A - 1, 0)
    # A node comes behind the nodes before it and the inner nodes of all phrases from those.
    inner_N = np.bincount(graph.source_A, inner_A, minlength=graph.nodes).astype(np.int64)
    number_N = np.arange(graph.nodes) + np.cumsum(inner_N) - inner_N
    arcs: list[tuple[int, int, str, float]] = []
    inside, last = 0, -1
    for arc, phrase in enumerate(arc_words):
        source, target = int(graph.source_A[arc]), int(number_N[graph.target_A[arc]])
        inside = int(number_N[source]) + 1 if source != last else inside
        words = phrase or (EPSILON,)
        stops = [int(number_N[source]), *range(inside, inside + len(words) - 1), target]
        scores = [float(score_A[arc])] + [0.0] * (len(words) - 1)
        arcs += zip(stops, stops[1:], words, scores, strict=False)
        inside, last = inside + len(words) - 1, source
    arcs.sort(key=lambda row: row[0])
    sources, targets, spelled, values = zip(*arcs, strict=True)
    words_graph = ArcGraph(np.array(sources, dtype=np.int32), np.array(targets, dtype=np.int32), int(number_N[-1]) + 1)
    return WordLattice(words_graph, tuple(spelled), np.array(values))
