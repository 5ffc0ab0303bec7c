"""The decoders MON, SWAP and SWAP & OR: block sequences by dynamic-programming beam search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.kernels.orientation import NEUTRAL, RIGHT
from xlate.kernels.search.block_decoder import LONGEST_SENTENCE, SearchNumbers, SentenceArrays, search_blocks
from xlate.kernels.search.hypotheses import Limits
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.lattice import arc_floats, block_arcs
from xlate.models.block.model import LM_FIRST, LM_REST, BlockModel
from xlate.models.block.moves import BlockMoves
from xlate.models.block.options import collect_options, linked_weights
from xlate.models.block.settings import BlockSearch
from xlate.models.block.steps import BlockDerivation, read_derivation, step_bigrams
from xlate.models.block.system import BlockSystem
from xlate.scoring.weights import Weights
from xlate.search.graph import SearchGraph
from xlate.search.lattice_graph import LatticeArcs
from xlate.text.vocabulary import END_ID

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
    LABELS = 3
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
        """The same decoder under other weights."""
        linked, neutral = np.split(np.array(weights.dense_D), 2)
        model = self.model.reweighted(linked=linked, neutral=neutral, feature_weights=weights.sparse_F)
        return self.changed(model=model)

    def space(self, words: Sequence[str]) -> BlockMoves:
        """The moves over a sentence."""
        self.check_length(words)
        return BlockMoves(self.model, self.search, collect_options(self.model, self.search, words))

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> BlockMoves:
        """The moves with all blocks of the model that stand in the target; a partition needs those of the search."""
        if self.search.partition != "off":
            return self.space(words)
        self.check_length(words)
        return BlockMoves(self.model, self.search, collect_options(self.model, self.search, words, target))

    def compiled_search(self, space: BlockMoves, *, every_arc: bool) -> SearchGraph:
        """By the kernel."""
        search = self.search
        numbers = SearchNumbers(
            lm_weights_32=np.array([w[[LM_FIRST, LM_REST]] for w in (space.linked, space.linked, space.neutral)]),
            limits=Limits(search.beam or 0, 0, search.log_threshold, every_arc),
            swaps=search.swaps,
            local=search.partition == "local",
            end_word=END_ID if search.end_of_sentence else -1,
        )
        return SearchGraph.of_hypotheses(*search_blocks(self.model.arrays, _sentence_arrays(space), numbers))

    def derivation(self, space: BlockMoves, labels: Sequence[int]) -> BlockDerivation:
        """The derivation of a path's labels."""
        return read_derivation(space, labels)

    def arc_features(self, space: BlockMoves, found: LatticeArcs) -> LatticeArcs:
        """Floats and binary features of the arcs."""
        return block_arcs(space, found)

    def step_floats(self, space: BlockMoves, graph: ArcGraph, label_A: Ints32) -> tuple[Floats, Bools]:
        """The floats of arcs, those of L and R steps first, (A, 10), and which ask for the block before, (A,)."""
        end_A = label_A < 0
        orientation_A = np.where(end_A, RIGHT, label_A % 3)
        option_A = np.where(end_A, -1, label_A // 3).astype(np.int32)
        return arc_floats(space, graph, option_A, orientation_A), orientation_A != NEUTRAL

    def step_features(self, derivation: BlockDerivation) -> tuple[Ints, Ints32]:
        """Of each block to the left or right of the one before."""
        steps = derivation.steps
        return step_bigrams(self.features, steps, [step.orientation != NEUTRAL for step in steps])

    def shown_features(self, derivation: BlockDerivation) -> Iterator[tuple[str, Sequence[float]]]:
        """All features; the partition where there is one."""
        for name, values in super().shown_features(derivation):
            if name != PARTITION or any(values):
                yield name, values


def _sentence_arrays(moves: BlockMoves) -> SentenceArrays:
    options = moves.options
    return SentenceArrays(
        words=len(options.words),
        longest=options.longest,
        cell_offsets_C1=options.cell_offsets_C1,
        block_O=options.block_O,
        context_O=moves.context_O,
        left_O=options.left_O,
        static_O3=options.static_O3,
        phrase_offsets_O1=options.phrase_offsets_O1,
        phrase_words_W=options.phrase_words_W,
        future_nn=moves.future_nn,
    )
