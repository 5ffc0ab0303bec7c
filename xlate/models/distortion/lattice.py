"""The arcs of the phrase-distortion model's lattices, with their features."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Ints32
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.lattice import language_costs, with_bigrams
from xlate.models.derivation import END
from xlate.models.distortion.model import DIRECT, INBOUND, LENGTH, LM_FIRST, LM_REST, MODEL1, OUTBOUND
from xlate.models.distortion.moves import JumpMoves
from xlate.search.lattice_graph import LatticeArcs


def jump_arcs(moves: JumpMoves, found: LatticeArcs) -> LatticeArcs:
    """The arcs with floats and binary features; nodes know the last block wherever a feature may ask."""
    option_A = found.label_A
    block_A = np.where(option_A < 0, END, moves.options.block_O[option_A]).astype(np.int32)
    found = found._replace(dense_AD=arc_floats(moves, found.graph, option_A))
    return with_bigrams(moves.model, found, block_A, block_A)


def arc_floats(moves: JumpMoves, graph: ArcGraph, option_A: Ints32) -> Floats:
    """The floats of every arc, shape (A, 7); option -1 is the end of the sentence."""
    options, model = moves.options, moves.model
    language_A2 = language_costs(model.lm, moves.search, options, graph, option_A)
    # All ways to a node end at the same source word.
    last_N = np.zeros(graph.nodes, dtype=np.int64)
    last_N[graph.target_A] = np.where(option_A < 0, 0, options.end_O[option_A])
    place = last_N[graph.source_A], options.start_O[option_A]
    dense_AD = np.zeros((len(option_A), len(model.float_names)))
    dense_AD[:, [DIRECT, MODEL1, LENGTH]] = options.floats_O3[option_A]
    dense_AD[:, len(model.own_floats) :] = options.more_OX[option_A]
    dense_AD[:, INBOUND], dense_AD[:, OUTBOUND] = options.inbound_1n[place], options.outbound_1n[place]
    dense_AD[option_A < 0] = 0.0
    dense_AD[:, [LM_FIRST, LM_REST]] = language_A2
    return dense_AD
