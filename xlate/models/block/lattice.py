"""The arcs of the block models' lattices: a node knows the last block wherever a feature may ask for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import places_of
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.lattice_passes import ArcGraph, arc_bigrams, arc_language_costs, live_contexts
from xlate.lm.model import NgramModel
from xlate.models.block.lexicon import BlockLexicon
from xlate.models.block.model import LEXICAL, LM_FIRST, LM_REST, ORIENTATION, UNIGRAM
from xlate.models.block.moves import NO_BLOCK, BlockMoves
from xlate.models.block.options import SpanOptions
from xlate.models.block.settings import BlocksSearch
from xlate.models.derivation import END
from xlate.search.lattice_graph import LatticeArcs, chosen_arcs, linear_scores
from xlate.text.vocabulary import END_ID


def block_arcs(moves: BlockMoves, found: LatticeArcs) -> LatticeArcs:
    """The arcs with the floats of L and R steps, those of N steps, and the binary features.

    Nodes the decoder recombined because the weight of a feature is 0 are taken apart, so that it can be trained. The
    normalisers of a partition are fixed scores.
    """
    option_A, orientation_A = found.label_A // 3, np.where(found.label_A < 0, RIGHT, found.label_A % 3)
    option_A[found.label_A < 0] = -1
    dense_AD = arc_floats(moves, found.graph, option_A, orientation_A)
    block_A = np.where(option_A < 0, END, moves.options.block_O[option_A]).astype(np.int32)
    # An N step asks for no predecessor; behind a block generated to the left the next one is neutral.
    successor_A = np.where(orientation_A == NEUTRAL, NO_BLOCK, block_A).astype(np.int32)
    predecessor_A = np.where(orientation_A == LEFT, NO_BLOCK, block_A).astype(np.int32)
    arcs = with_bigrams(moves.model, found._replace(dense_AD=dense_AD), predecessor_A, successor_A)
    if moves.search.partition == "off":
        return arcs
    model = moves.model
    linear_A = linear_scores(arcs, np.concatenate([model.linked, model.neutral]), np.asarray(model.feature_weights))
    return arcs._replace(base_A=arcs.score_A - linear_A)


def arc_floats(moves: BlockMoves, graph: ArcGraph, option_A: Ints32, orientation_A: Ints32) -> Floats:
    """The floats of every arc in the columns of its weights, linked ones first; shape (A, 2 · (5 + X)).

    Option -1 is the end of the sentence.
    """
    options, model = moves.options, moves.model
    language_A2 = language_costs(model.lm, moves.search, options, graph, option_A)
    float_AD = np.zeros((len(option_A), len(model.float_names)))
    float_AD[:, UNIGRAM] = options.unigram_O[option_A]
    float_AD[:, ORIENTATION] = options.orientation_O3[option_A, orientation_A]
    float_AD[:, LEXICAL] = options.lexical_O[option_A]
    float_AD[:, len(model.own_floats) :] = options.more_OX[option_A]
    float_AD[option_A < 0] = 0.0
    float_AD[:, [LM_FIRST, LM_REST]] = language_A2
    neutral_A = orientation_A == NEUTRAL
    linked_AD, neutral_AD = float_AD * ~neutral_A[:, None], float_AD * neutral_A[:, None]
    if moves.search.mode == "swap":
        linked_AD[:, ORIENTATION] = 0.0
    return np.concatenate([linked_AD, neutral_AD], axis=1)


def with_bigrams(model: BlockLexicon, found: LatticeArcs, predecessor_A: Ints32, successor_A: Ints32) -> LatticeArcs:
    """Arcs with their binary features, nodes taken apart by the last block where an arc from there has one with it.

    Args:
        model: whose features they are.
        found: the arcs without.
        predecessor_A: the block that each arc is to the arcs behind it, negative for none.
        successor_A: the block whose features with the block before an arc has, negative for none.
    """
    families, standing_B = model.families, model.standing_B
    context_A = np.where(predecessor_A < 0, NO_BLOCK, standing_B[predecessor_A]) if len(standing_B) else predecessor_A
    context_A = np.maximum(context_A, NO_BLOCK)
    node_P, context_P, place_A = _pairs(found.graph.target_A, context_A)
    live_P = live_contexts(found.graph, successor_A, families, node_P, context_P)
    split = _by_context(found.graph, np.where(live_P[place_A], context_A, NO_BLOCK))
    offsets_B1, ids_M = arc_bigrams(families, split.before_B, successor_A[split.arc_B])
    arcs = chosen_arcs(found, split.arc_B, split.graph)
    return arcs._replace(sparse_offsets_A1=offsets_B1, sparse_ids_M=ids_M)


class _Split(NamedTuple):
    """A graph whose nodes know the last block, the arc each of its arcs was, and the block before each."""

    graph: ArcGraph
    arc_B: Ints
    before_B: Ints32


def _by_context(graph: ArcGraph, context_A: AnyInts) -> _Split:
    """A graph with a node for each pair of node and last block."""
    targets_A = np.concatenate([[0], graph.target_A])
    node_M, context_M, place_A = _pairs(targets_A, np.concatenate([[NO_BLOCK], context_A]))
    offsets_N1 = np.searchsorted(graph.source_A, np.arange(graph.nodes + 1))
    arc_B = places_of(offsets_N1, node_M)
    source_B = np.repeat(np.arange(len(node_M), dtype=np.int32), np.diff(offsets_N1)[node_M])
    split = ArcGraph(source_B, place_A[1:][arc_B].astype(np.int32), len(node_M))
    return _Split(split, arc_B, context_M[source_B])


def _pairs(node_A: AnyInts, context_A: AnyInts) -> tuple[Ints32, Ints32, Ints]:
    """The different pairs of node and context, sorted by node, and which of them each arc has."""
    both_A = (node_A.astype(np.int64) << 32) | (context_A.astype(np.int64) + 1)
    pairs, place_A = np.unique(both_A, return_inverse=True)
    node_P, context_P = (pairs >> 32).astype(np.int32), ((pairs & 0xFFFFFFFF) - 1).astype(np.int32)
    return node_P, context_P, place_A.reshape(-1)


def language_costs(
    lm: NgramModel, search: BlocksSearch, options: SpanOptions, graph: ArcGraph, option_A: Ints32
) -> Floats:
    """The costs of the first and of the other target words of every arc, shape (A, 2).

    Option -1 is the end of the sentence, which costs nothing where the search leaves it out.
    """
    place = int(lm.begin_state), END_ID if search.end_of_sentence else -1, graph, option_A
    return np.asarray(arc_language_costs(lm.arrays, *place, options.phrase_words_W, options.phrase_offsets_O1))
