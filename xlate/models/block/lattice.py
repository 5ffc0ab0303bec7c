"""From the decoder's search graph to a lattice: what leads nowhere is dropped, every arc gets its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import places_of
from xlate.errors import InputError
from xlate.features.bigrams import families_of
from xlate.features.block import FLOATS
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.lattice_arcs import arc_language_costs, bigram_ids, live_contexts
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.decoder import BlockDecoder
from xlate.models.block.derivation import END_BLOCK
from xlate.models.block.model import FLOAT_COUNT, LEXICAL, LM_FIRST, LM_REST, ORIENTATION, UNIGRAM, BlockModel
from xlate.models.block.moves import NO_BLOCK, BlockMoves
from xlate.search.lattice import Lattice, Words
from xlate.search.lattice_graph import useful_graph
from xlate.text.vocabulary import END_ID

DENSE_NAMES = tuple(f"{kind}_{name}" for kind in ("linked", "neutral") for name in FLOATS)


def translation_lattice(decoder: BlockDecoder, words: Sequence[str]) -> Lattice:
    """The lattice of a sentence: all complete paths the decoder's beam went (TZ07 section 5.2).

    A node knows which block came last wherever that decides on a feature; nodes the decoder recombined because the
    weight of a block bigram is 0 are taken apart again, so that such weights can be trained.

    Raises:
        InputError: a sentence without words, or too long for the decoder; binary features other than block bigrams.
    """
    if not words:
        raise InputError("a lattice of a sentence without words", expected="one word or more")
    _check_families(decoder.model)
    moves = decoder.moves(words)
    graph, label_A, score_A = useful_graph(decoder.graph(words))
    option_A, orientation_A = label_A // 3, np.where(label_A < 0, RIGHT, label_A % 3)
    option_A[label_A < 0] = -1
    block_A = np.where(option_A < 0, END_BLOCK, moves.options.block_O[option_A]).astype(np.int32)
    dense_AD = _dense(moves, graph, option_A, orientation_A)
    split = _by_context(decoder.model, graph, block_A, orientation_A)
    arcs = split.arc_B
    phrases, phrase_A = _phrases(moves, option_A)
    spans_A2 = np.stack([moves.options.start_O[option_A], moves.options.end_O[option_A]], axis=1)
    spans_A2[option_A < 0] = len(words)
    lattice = Lattice(
        source=tuple(words),
        graph=split.graph,
        score_A=score_A[arcs],
        label_A=label_A[arcs],
        block_A=block_A[arcs],
        span_A2=spans_A2[arcs],
        phrases=phrases,
        phrase_A=phrase_A[arcs],
        dense_AD=dense_AD[arcs],
        dense_names=DENSE_NAMES,
        bigram_A=split.bigram_B,
        base_A=np.zeros(len(arcs)),
    )
    return lattice if decoder.search.partition == "off" else _with_normalizers(lattice, decoder.model)


def _check_families(model: BlockModel) -> None:
    """An arc of a lattice has at most one binary feature, its block bigram."""
    others = [family for family in families_of(np.asarray(model.feature_keys)) if family != "BB"]
    if others:
        raise InputError("lattices have block bigrams only", seen=", ".join(others), expected="model.binary=[BB] or []")


def _with_normalizers(lattice: Lattice, model: BlockModel) -> Lattice:
    """With what the weights do not explain as fixed scores: the normalisers, which w·f was subtracted by."""
    linear = lattice.rescored(np.concatenate([model.linked, model.neutral]), np.asarray(model.feature_weights))
    return replace(lattice, base_A=lattice.score_A - linear.score_A)


def _dense(
    moves: BlockMoves, graph: ArcGraph, option_A: NDArray[np.int32], orientation_A: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Floats (a)-(e) of every arc in the columns of its weights, linked ones first; shape (A, 10)."""
    options, model = moves.options, moves.model
    end_word = END_ID if moves.search.end_of_sentence else -1
    language_A2 = arc_language_costs(
        model.lm.arrays,
        int(model.lm.begin_state),
        end_word,
        graph,
        option_A,
        options.phrase_words_W,
        options.phrase_offsets_O1,
    )
    float_A5 = np.zeros((len(option_A), FLOAT_COUNT))
    float_A5[:, UNIGRAM] = options.unigram_O[option_A]
    float_A5[:, ORIENTATION] = options.orientation_O3[option_A, orientation_A]
    float_A5[:, LEXICAL] = options.lexical_O[option_A]
    float_A5[option_A < 0] = 0.0
    float_A5[:, [LM_FIRST, LM_REST]] = language_A2
    neutral_A = orientation_A == NEUTRAL
    linked_A5, neutral_A5 = float_A5 * ~neutral_A[:, None], float_A5 * neutral_A[:, None]
    if moves.search.mode == "swap":
        linked_A5[:, ORIENTATION] = 0.0
    return np.concatenate([linked_A5, neutral_A5], axis=1)


def _phrases(moves: BlockMoves, option_A: NDArray[np.int32]) -> tuple[tuple[Words, ...], NDArray[np.int32]]:
    """Distinct target phrases, and that of each arc."""
    used, place_A = np.unique(option_A, return_inverse=True)
    rows: dict[Words, int] = {}
    words = [moves.option_words(option) if option >= 0 else () for option in used.tolist()]
    row_U = np.array([rows.setdefault(phrase, len(rows)) for phrase in words], dtype=np.int32)
    return tuple(rows), row_U[place_A]


class _Split(NamedTuple):
    """A graph whose nodes know the last block, the arc each of its arcs was, and the block bigrams."""

    graph: ArcGraph
    arc_B: NDArray[np.int64]
    bigram_B: NDArray[np.int32]


def _by_context(
    model: BlockModel, graph: ArcGraph, block_A: NDArray[np.int32], orientation_A: NDArray[np.int32]
) -> _Split:
    """Takes nodes apart by the last block where an arc from there is a block bigram with it."""
    keys_U = np.asarray(model.feature_keys)
    successor_A = np.where(orientation_A == NEUTRAL, NO_BLOCK, block_A).astype(np.int32)
    # Behind a block generated to the left the next one is neutral, and needs no predecessor.
    context_A = np.where(orientation_A == LEFT, NO_BLOCK, np.maximum(block_A, NO_BLOCK))
    pairs, place_A = np.unique(_pair(graph.target_A, context_A), return_inverse=True)
    node_P, context_P = (pairs >> 32).astype(np.int32), ((pairs & 0xFFFFFFFF) - 1).astype(np.int32)
    live_P = live_contexts(graph, successor_A, keys_U, node_P, context_P)
    context_A = np.where(live_P[place_A], context_A, NO_BLOCK)
    start = np.array([_pair(0, NO_BLOCK)], dtype=np.int64)
    pairs, place_A = np.unique(np.concatenate([start, _pair(graph.target_A, context_A)]), return_inverse=True)
    node_M, context_M = (pairs >> 32).astype(np.int32), ((pairs & 0xFFFFFFFF) - 1).astype(np.int32)
    offsets_N1 = np.searchsorted(graph.source_A, np.arange(graph.nodes + 1))
    arc_B = places_of(offsets_N1, node_M)
    source_B = np.repeat(np.arange(len(pairs), dtype=np.int32), np.diff(offsets_N1)[node_M])
    split = ArcGraph(source_B, place_A[1:][arc_B].astype(np.int32), len(pairs))
    return _Split(split, arc_B, bigram_ids(keys_U, context_M[source_B], successor_A[arc_B]))


def _pair(node: NDArray[np.int32] | int, context: NDArray[np.int32] | int) -> NDArray[np.int64]:
    """One number of a node and a context, sorted by node."""
    return (np.asarray(node, dtype=np.int64) << 32) | (np.asarray(context, dtype=np.int64) + 1)
