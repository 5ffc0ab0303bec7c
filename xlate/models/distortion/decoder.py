"""The phrase-distortion decoder: block sequences with skipped source intervals, by beam search (TZ07 section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.kernels.search.distortion_decoder import JumpNumbers, JumpSentence, search_jumps
from xlate.kernels.search.hypotheses import Limits
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.model import LM_FIRST, LM_REST
from xlate.models.block.options import options_of_cells
from xlate.models.block.system import BlockSystem
from xlate.models.derivation import COPIED
from xlate.models.distortion.model import (
    DIRECT,
    INBOUND,
    LENGTH,
    MODEL1,
    OUTBOUND,
    DistortionModel,
    JumpOptions,
)
from xlate.models.distortion.moves import JumpMoves
from xlate.scoring.weights import Weights
from xlate.search.beam import BeamLimits
from xlate.search.graph import SearchGraph
from xlate.search.settings import DistortionSearch
from xlate.text.vocabulary import BEGIN_ID, END_ID


class DistortionDecoder(BlockSystem[DistortionModel, JumpMoves, DistortionSearch]):
    """Translates sentences into the block sequences of the highest score Σ_i w·f(b_i; b_{i-1}) + v(b_{i-1}, b_i).

    f are the seven floats of TZ07, Table V, and the optional ones, v the summed weights of the binary features; the
    sequences cover the source once, in an order that `DistortionSearch` allows. Behind the last block comes
    w_c · -ln p(</s> | history).
    """

    SEARCH = DistortionSearch
    MOVES = JumpMoves
    LONGEST = 32_767

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The floats, and the sum of binary features."""
        return (*self.model.float_names, "binary")

    @property
    def weights_D(self) -> Floats:
        """The floats' weights, and 1 for what is a sum of weights."""
        return np.append(self.model.weights, 1.0)

    @property
    def weights(self) -> Weights:
        """The weights of floats and binary features."""
        model = self.model
        return Weights(np.asarray(model.weights), np.asarray(model.feature_weights), model.float_names)

    def with_weights(self, weights: Weights) -> DistortionDecoder:
        dense_D = np.array(weights.dense_D)
        return self.changed(model=self.model.reweighted(weights=dense_D, feature_weights=weights.sparse_F))

    def options(self, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32) -> JumpOptions:
        """Costs of the options and of the jumps between all positions, and their weighted sums.

        A word that is copied has the fixed costs of the search settings.
        """
        model, search = self.model, self.search
        common, first_O, rest_O = options_of_cells(model, words, longest, cells, block_O)
        copied_O, weights = block_O == COPIED, np.asarray(model.weights, dtype=np.float64)
        known_O = np.where(copied_O, 0, block_O)
        floats_O3 = np.zeros((len(block_O), 3))
        if len(model.blocks.table):
            floats_O3[:, 0] = model.direct_cost_B[known_O]
            floats_O3[:, 1] = model.model1_B[known_O]
        floats_O3[copied_O, 0], floats_O3[copied_O, 1] = search.unknown_direct, search.unknown_model1
        floats_O3[:, 2] = -np.diff(common["phrase_offsets_O1"])
        static_O = floats_O3 @ weights[[DIRECT, MODEL1, LENGTH]] + common["more_OX"] @ weights[len(model.own_floats) :]
        ids_n, reach = model.source_vocabulary.ids(words).astype(np.int64), model.distortion.reach
        left_1 = np.concatenate([[BEGIN_ID], ids_n])
        jump_1n = np.arange(len(words))[None, :] - np.arange(len(words) + 1)[:, None] + 1
        column_1n = np.clip(jump_1n, -reach, reach) + reach
        inbound_1n = model.distortion.inbound_VK[ids_n[None, :], column_1n].astype(np.float64)
        outbound_1n = model.distortion.outbound_VK[left_1[:, None], column_1n].astype(np.float64)
        return JumpOptions(
            **common,
            floats_O3=floats_O3,
            static_O=static_O,
            alone_O=static_O + weights[LM_FIRST] * first_O + weights[LM_REST] * rest_O,
            inbound_1n=inbound_1n,
            outbound_1n=outbound_1n,
            jump_1n=weights[INBOUND] * inbound_1n + weights[OUTBOUND] * outbound_1n,
        )

    def limits(self) -> BeamLimits:
        return BeamLimits(self.search.beam, self.search.log_threshold, self.search.coverage_beam)

    def compiled_search(self, space: JumpMoves, *, every_arc: bool) -> SearchGraph:
        search, options, weights = self.search, space.options, self.model.weights
        numbers = JumpNumbers(
            first_weight=float(weights[LM_FIRST]),
            rest_weight=float(weights[LM_REST]),
            max_skips=search.max_skips,
            window=search.window,
            limits=Limits(search.beam, search.coverage_beam, search.log_threshold, every_arc),
            end_word=END_ID if search.end_of_sentence else -1,
        )
        sentence = JumpSentence(
            words=len(options.words),
            longest=options.longest,
            cell_offsets_C1=options.cell_offsets_C1,
            block_O=options.block_O,
            context_O=space.context_O,
            static_O=options.static_O,
            phrase_offsets_O1=options.phrase_offsets_O1,
            phrase_words_W=options.phrase_words_W,
            jump_1n=options.jump_1n,
            future_nn=space.future_nn,
        )
        return SearchGraph.of_hypotheses(*search_jumps(self.model.arrays, sentence, numbers))

    def own_floats(self, space: JumpMoves, graph: ArcGraph, label_A: Ints32) -> Floats:
        options = space.options
        # All ways to a node end at the same source word.
        last_N = np.zeros(graph.nodes, dtype=np.int64)
        last_N[graph.target_A] = np.where(label_A < 0, 0, options.end_O[label_A])
        place = last_N[graph.source_A], options.start_O[label_A]
        dense_AD = np.zeros((len(label_A), len(self.model.float_names)))
        dense_AD[:, [DIRECT, MODEL1, LENGTH]] = options.floats_O3[label_A]
        dense_AD[:, INBOUND], dense_AD[:, OUTBOUND] = options.inbound_1n[place], options.outbound_1n[place]
        return dense_AD
