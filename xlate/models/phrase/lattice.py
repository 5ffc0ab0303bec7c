"""The arcs of the phrase model's lattices, with their features."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of
from xlate.features.phrase_sparse import SparseFeatures
from xlate.kernels.search.lattice_arcs import arc_language_costs, arc_prefixes
from xlate.kernels.search.phrase_paths import Paths
from xlate.models.phrase.lists import PhraseList
from xlate.models.phrase.model import DISTORTION, LM, PHRASE_PENALTY, TABLE, UNKNOWN, WORD_PENALTY
from xlate.models.phrase.moves import PhraseMoves
from xlate.models.unit_model import UNKNOWN_PENALTY
from xlate.search.lattice_graph import LatticeArcs
from xlate.text.vocabulary import END_ID


def phrase_arcs(moves: PhraseMoves, found: LatticeArcs) -> LatticeArcs:
    """The arcs with floats and sparse features, sums of the latter left at 0.

    Whatever a feature looks at before a phrase is that of the best way to it. The decoder keeps apart what features
    look at, but for orientations of the phrase before whose weights are 0.
    """
    prefixes = Paths(*arc_prefixes(found.graph, found.score_A, found.label_A))
    listed = PhraseList(moves.model, moves, prefixes, None)
    dense_AD = np.zeros((len(found.label_A), moves.model.size))
    dense_AD[:, LM] = -_language_costs(moves, found)
    arcs = np.flatnonzero(found.label_A >= 0)
    last_L = prefixes.offsets_N1[arcs + 1] - 1
    first = last_L == prefixes.offsets_N1[arcs]
    before = np.where(first, -1, prefixes.labels_L[np.maximum(last_L - 1, 0)])
    dense_AD[arcs] += _floats(moves, found.label_A[arcs], before)
    if moves.model.placed is not None:
        place_K = moves.options.place_OR[found.label_A[arcs], listed.shift_L[last_L]]
        dense_AD[arcs, moves.model.place_slot] = place_K
    if moves.model.reordering is not None:
        dense_AD[arcs] += _orientations(listed, found.label_A[arcs], before, last_L)
    offsets_A1, ids_M = found.sparse_offsets_A1, found.sparse_ids_M
    if moves.model.sparse is not None:
        offsets_A1, ids_M = _sparse_ids(moves.model.sparse, listed, arcs, last_L)
    return found._replace(dense_AD=dense_AD, sparse_offsets_A1=offsets_A1, sparse_ids_M=ids_M)


def _language_costs(moves: PhraseMoves, found: LatticeArcs) -> Floats:
    """-ln p of the words of each arc, and of the end."""
    lm, phrases = moves.model.lm, moves.options.phrases
    state, words = int(lm.begin_state), (phrases.words_W, phrases.offsets_O1)
    costs_A2 = arc_language_costs(lm.arrays, state, END_ID, found.graph, found.label_A, *words)
    return np.asarray(costs_A2.sum(axis=1), dtype=np.float64)


def _floats(moves: PhraseMoves, option_K: Ints32, before_K: Ints32) -> Floats:
    """What options score behind others, -1 for none: distortion, penalties and table; shape (K, D)."""
    model, options = moves.model, moves.options
    floats_KD = np.zeros((len(option_K), model.size))
    end_K = np.where(before_K < 0, 0, options.end_O[before_K])
    floats_KD[:, DISTORTION] = -np.abs(options.start_O[option_K] - end_K)
    floats_KD[:, WORD_PENALTY] = -np.diff(options.phrases.offsets_O1)[option_K]
    floats_KD[:, PHRASE_PENALTY] = 1.0
    pair_K = options.pair_O[option_K]
    copied_K = pair_K < 0
    floats_KD[copied_K, UNKNOWN] = UNKNOWN_PENALTY
    floats_KD[:, model.sentence_slots] = options.more_OE[option_K]
    floats_KD[:, TABLE] = np.where(copied_K[:, None], 0.0, model.log_scores(np.maximum(pair_K, 0)))
    return floats_KD


def _orientations(listed: PhraseList, option_K: Ints32, before_K: Ints32, last_K: Ints) -> Floats:
    """What reordering scores of options, steps `last_K` of a list, and of the options before them; shape (K, D)."""
    model, pair_O = listed.model, listed.moves.options.pair_O
    floats_KD, rows = np.zeros((len(option_K), model.size)), np.arange(len(option_K))
    backward_K, forward_K = listed.oriented.backward_L[last_K], listed.oriented.forward_L[last_K]
    before_pair_K = np.where(before_K < 0, -1, pair_O[before_K])
    for pair_K, orientation_K, skipped, start in (
        (pair_O[option_K], backward_K, 0, model.backward.start),
        (before_pair_K, forward_K, model.orientations, model.forward.start),
    ):
        logs_K = model.log_reordering(np.maximum(pair_K, 0))[rows, skipped + orientation_K]
        floats_KD[rows, start + orientation_K] += np.where(pair_K < 0, 0.0, logs_K)
    return floats_KD


def _sparse_ids(sparse: SparseFeatures, listed: PhraseList, arcs: Ints, last_K: Ints) -> tuple[Ints, Ints32]:
    """The features of arcs, steps `last_K` of a list, none of the other arcs: offsets and ids."""
    parts = listed.parts
    offsets_P1, ids_M = sparse.ids(parts.applications, parts.groups)
    places, offsets_K1 = gathered(offsets_P1, parts.part_L[last_K])
    lengths_A = np.zeros(len(listed), dtype=np.int64)
    lengths_A[arcs] = np.diff(offsets_K1)
    return offsets_of(lengths_A), ids_M[places]


def sum_columns(sparse: SparseFeatures) -> Ints:
    """Which of the K + 1 sums each of F features is in: that of its orientation, or the last one; shape (F,)."""
    column_F = np.full(len(sparse), sparse.orientations, dtype=np.int64)
    for family in sparse.families:
        if family.crossed > 1:
            column_F[family.first : family.end] = np.arange(family.end - family.first) % family.crossed
    return column_F
