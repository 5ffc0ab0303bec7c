"""The decoders MON, SWAP and SWAP & OR: block sequences by dynamic-programming beam search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.kernels.pairs import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.block_decoder import LONGEST_SENTENCE
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.model import LEXICAL, LM_FIRST, LM_REST, ORIENTATION, UNIGRAM, BlockModel
from xlate.models.block.moves import BlockDerivation, BlockMoves, BlockStep
from xlate.models.block.options import SentenceOptions, linked_weights, options_of_cells
from xlate.models.block.system import BlockSystem
from xlate.models.derivation import COPIED
from xlate.scoring.weights import Weights
from xlate.search.graph import LatticeArcs, linear_scores
from xlate.search.settings import BlockSearch

__all__ = ["BlockDecoder", "BlockModel", "BlockSearch"]
PARTITION = "partition"


class BlockDecoder(BlockSystem[BlockModel, BlockMoves, BlockSearch]):
    """Translates sentences into the block sequences of the highest score.

    With blocks b_1 … b_m, orientations o_1 … o_m and b_0 = `<s>`, the decoder maximises

        Σ_i w(o_i)·f(b_i, o_i; b_{i-1}) + [o_i ∈ {L, R}] v(b_{i-1}, b_i) - Z_i   +   w_c · -ln p(</s> | history)

    over all sequences that cover the source once and in the order `mode` allows (`BlockMoves`). f are the costs (a)-(e)
    of A3 and the optional floats, w(L) = w(R) = `linked`, w(N) = `neutral`, v the summed weights of the binary
    features, w_c the linked weight of (c); Z_i is 0, or with `partition="local"`
    ln Σ_{b ∈ Γ(b_i)} exp(w·f(b, o_i; b_{i-1}) + v). (TZ07 Eq. 1 and 6, section 5.1.)

    Example:
        >>> decoder = BlockDecoder(model, BlockSearch(mode="swap_or"))     # doctest: +SKIP
        >>> decoder.translate("das haus ist klein".split())[0].words       # doctest: +SKIP
        ['the', 'house', 'is', 'small']
    """

    SEARCH = BlockSearch
    MOVES = BlockMoves
    LONGEST = LONGEST_SENTENCE

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The floats of L and R steps (the end among them), of N steps, the sum of binary features, the partition."""
        return (*self.model.dense_names, "binary", PARTITION)

    @property
    def weights_D(self) -> Floats:
        """The linked weights as this search uses them, the neutral ones, and 1 for what is a sum of weights."""
        return np.concatenate([linked_weights(self.model, self.search), self.model.neutral, [1.0, 1.0]])

    @property
    def weights(self) -> Weights:
        """The linked floats' weights, then the neutral ones', and those of the binary features."""
        dense_D = np.concatenate([self.model.linked, self.model.neutral])
        return Weights(dense_D, np.asarray(self.model.feature_weights), self.model.dense_names)

    def with_weights(self, weights: Weights) -> BlockDecoder:
        linked, neutral = np.split(np.array(weights.dense_D), 2)
        model = self.model.reweighted(linked=linked, neutral=neutral, feature_weights=weights.sparse_F)
        return self.changed(model=model)

    def options(self, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32) -> SentenceOptions:
        """The options of cells: their costs and target words, and their weighted sums."""
        model, search = self.model, self.search
        common, first_O, rest_O = options_of_cells(model, words, longest, cells, block_O)
        copied_O, more_OX = block_O == COPIED, common["more_OX"]
        known_O = np.where(copied_O, 0, block_O)
        orientation_O3 = np.zeros((len(block_O), 3))
        if len(model.blocks.table):
            unigram_O = model.blocks.unigram_cost_B[known_O].astype(np.float64)
            lexical_O = model.blocks.lexical_B[known_O].astype(np.float64)
            left_O = model.blocks.left_B[known_O] >= search.min_left_count
            orientation_O3[:, [LEFT, RIGHT]] = model.orientation_cost_B2[known_O]
        else:
            unigram_O, lexical_O, left_O = np.zeros(len(block_O)), np.zeros(len(block_O)), np.zeros(len(block_O), bool)
        unigram_O[copied_O], lexical_O[copied_O] = search.unknown_unigram, search.unknown_lexical
        orientation_O3[copied_O, :NEUTRAL] = np.log(2.0)
        left_O[copied_O] = search.min_left_count <= 0
        unigram_O /= (cells % longest + 1).astype(np.int32)
        linked, own = linked_weights(model, search), len(model.own_floats)
        static_O3 = np.stack(
            [
                w[UNIGRAM] * unigram_O + w[ORIENTATION] * side_O + w[LEXICAL] * lexical_O + more_OX @ w[own:]
                for side_O, w in zip(orientation_O3.T, (linked, linked, np.asarray(model.neutral)), strict=True)
            ],
            axis=1,
        )
        alone_O = linked[UNIGRAM] * unigram_O + linked[LEXICAL] * lexical_O + linked[LM_FIRST] * first_O
        return SentenceOptions(
            **common,
            unigram_O=unigram_O,
            orientation_O3=orientation_O3,
            lexical_O=lexical_O,
            left_O=left_O,
            static_O3=static_O3,
            alone_O=alone_O + linked[LM_REST] * rest_O + more_OX @ linked[own:],
        )

    def asks(self, label_A: AnyInts) -> Bools:
        """All but those of N steps."""
        return np.asarray(_orientations(label_A) != NEUTRAL)

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> BlockMoves:
        """The moves with all blocks of the model that stand in the target; a partition needs those of the search."""
        return super().forced_space(words, target) if self.search.partition == "off" else self.space(words)

    def orientation(self, space: BlockMoves, label: int, before: BlockStep | None) -> int:  # noqa: ARG002
        return RIGHT if label < 0 else label % 3

    def weights_of(self, label_A: AnyInts) -> Floats:
        linked = linked_weights(self.model, self.search)
        return np.where(self.asks(label_A)[:, None], linked, np.asarray(self.model.neutral, dtype=np.float64))

    def own_floats(self, space: BlockMoves, graph: ArcGraph, label_A: Ints32) -> Floats:  # noqa: ARG002
        options, option_A = space.options, label_A // 3
        float_AD = np.zeros((len(option_A), len(self.model.float_names)))
        float_AD[:, UNIGRAM] = options.unigram_O[option_A]
        float_AD[:, ORIENTATION] = options.orientation_O3[option_A, _orientations(label_A)]
        float_AD[:, LEXICAL] = options.lexical_O[option_A]
        return float_AD

    def columns(self, float_AD: Floats, label_A: AnyInts) -> Floats:
        """The floats of arcs in the columns of its weights, linked ones first; shape (A, 2 · (5 + X))."""
        asks_A1 = self.asks(label_A)[:, None]
        return np.concatenate([np.where(asks_A1, float_AD, 0.0), np.where(asks_A1, 0.0, float_AD)], axis=1)

    def step_floats(self, space: BlockMoves, graph: ArcGraph, label_A: Ints32) -> Floats:
        float_AD = super().step_floats(space, graph, label_A)
        if self.search.mode == "swap":
            float_AD[:, ORIENTATION] = 0.0
        return float_AD

    def arc_features(self, space: BlockMoves, found: LatticeArcs) -> LatticeArcs:
        """Floats and binary features of the arcs; the normalisers of a partition are fixed scores."""
        arcs, weights = super().arc_features(space, found), self.weights
        if not space.local:
            return arcs
        return arcs._replace(base_A=arcs.score_A - linear_scores(arcs, weights.dense_D, weights.sparse_F))

    def shown_features(self, derivation: BlockDerivation) -> Iterator[tuple[str, Sequence[float]]]:
        """All features; the partition where there is one."""
        for name, values in super().shown_features(derivation):
            if name != PARTITION or any(values):
                yield name, values


def _orientations(label_A: AnyInts) -> AnyInts:
    """The orientation of each label; the end is to the right."""
    return np.where(label_A < 0, RIGHT, label_A % 3)
