"""The decoders MON, SWAP and SWAP & OR: block sequences by dynamic-programming beam search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from xlate.errors import InputError
from xlate.kernels.search.block_coverage import LONGEST_SENTENCE
from xlate.kernels.search.block_decoder import SearchNumbers, SentenceArrays, search_blocks
from xlate.kernels.search.block_model import ModelArrays
from xlate.kernels.search.hypotheses import Limits
from xlate.models.block.derivation import Derivation, Step, read_derivation
from xlate.models.block.model import LM_FIRST, LM_REST, BlockModel
from xlate.models.block.moves import BlockMoves
from xlate.models.block.options import collect_options
from xlate.models.block.settings import BlockSearch
from xlate.models.pieces import in_pieces, joined_blocks
from xlate.search.beam import search_graph
from xlate.search.graph import SearchGraph
from xlate.search.nbest import best_paths
from xlate.text.vocabulary import END_ID

__all__ = ["BlockDecoder", "BlockModel", "BlockSearch", "Derivation", "Step"]


class BlockDecoder:
    """Translates sentences into the block sequences of the highest score.

    With blocks b_1 … b_m, orientations o_1 … o_m and b_0 = `<s>`, the decoder maximises

        Σ_i w(o_i)·f(b_i, o_i; b_{i-1}) + [o_i ∈ {L, R}] v(b_{i-1}, b_i) - Z_i   +   w_c · -ln p(</s> | history)

    over all sequences that cover the source once and in the order `mode` allows (`BlockMoves`). f are the costs (a)-(e)
    of A3, w(L) = w(R) = `linked`, w(N) = `neutral`, v the summed weights of the binary features, w_c the linked weight
    of (c); Z_i is 0, or with `partition="local"` ln Σ_{b ∈ Γ(b_i)} exp(w·f(b, o_i; b_{i-1}) + v). (TZ07 Eq. 1 and 6,
    section 5.1.)

    Args:
        model: blocks, language model, weights.
        search: settings.
        fast: the compiled search; the readable one gives the same derivations and scores.

    Example:
        >>> decoder = BlockDecoder(model, BlockSearch(mode="swap_or"))     # doctest: +SKIP
        >>> decoder.translate("das haus ist klein".split())[0].words       # doctest: +SKIP
        ['the', 'house', 'is', 'small']
    """

    def __init__(self, model: BlockModel, search: BlockSearch | None = None, fast: bool = True) -> None:
        self.model = model
        self.search = search or BlockSearch()
        self.fast = fast

    def translate(self, words: Sequence[str]) -> list[Derivation]:
        """The best derivation of a sentence, or the `nbest` best ones, best first; one empty one of no words.

        A sentence of more than `max_words` words is translated in pieces (see `pieces`).
        """
        search = self.search
        if len(words) > search.max_words:
            return in_pieces(words, search.max_words, search.nbest, search.distinct, self._translate, joined_blocks)
        return self._translate(words)

    def _translate(self, words: Sequence[str]) -> list[Derivation]:
        moves = self.moves(words)
        if not words:
            return [Derivation((), (), 0.0)]
        if self.search.nbest == 1:
            return [read_derivation(moves, self._graph(moves, every_arc=False).best_labels())]
        return [self.derivation(moves, labels) for labels in self.nbest_labels(moves)]

    def nbest_labels(self, moves: BlockMoves) -> list[list[int]]:
        """The labels of the `nbest` best paths through a search space, best first."""
        texts = moves.texts if self.search.distinct else None
        paths = best_paths(self._graph(moves, every_arc=True), texts)
        return [list(labels) for _, labels in islice(paths, self.search.nbest)]

    def derivation(self, moves: BlockMoves, labels: Sequence[int]) -> Derivation:
        """The derivation of a path's labels."""
        return read_derivation(moves, labels)

    def moves(self, words: Sequence[str]) -> BlockMoves:
        """The search space over a sentence."""
        if len(words) > LONGEST_SENTENCE:
            raise InputError("the sentence is too long", seen=f"{len(words)} words", expected=f"≤ {LONGEST_SENTENCE}")
        return BlockMoves(self.model, self.search, collect_options(self.model, self.search, words))

    def graph(self, words: Sequence[str]) -> SearchGraph:
        """The translation graph of a sentence: every step the beam took (TZ07 section 5.2).

        A label is option · 3 + orientation, options numbered as in `moves(words).options`; -1 is the end.
        """
        return self._graph(self.moves(words), every_arc=True)

    def _graph(self, moves: BlockMoves, *, every_arc: bool) -> SearchGraph:
        search = self.search
        if not self.fast:
            return search_graph(
                moves.start, moves.levels, moves.expand, moves.future, search.beam, search.log_threshold
            )
        numbers = SearchNumbers(
            lm_weights_32=np.array([w[[LM_FIRST, LM_REST]] for w in (moves.linked, moves.linked, moves.neutral)]),
            limits=Limits(search.beam or 0, 0, search.log_threshold, every_arc),
            swaps=search.swaps,
            local=search.partition == "local",
            end_word=END_ID if search.end_of_sentence else -1,
        )
        return SearchGraph.of_hypotheses(*search_blocks(self._arrays, _sentence_arrays(moves), numbers))

    @cached_property
    def _arrays(self) -> ModelArrays:
        model = self.model
        return ModelArrays(model.lm.arrays, int(model.lm.begin_state), *model.weighted_features, model.context_B)


def _sentence_arrays(moves: BlockMoves) -> SentenceArrays:
    options = moves.options
    return SentenceArrays(
        words=len(options.words),
        longest=options.longest,
        cell_offsets_C1=options.cell_offsets_C1,
        block_O=options.block_O,
        left_O=options.left_O,
        static_O3=options.static_O3,
        phrase_offsets_O1=options.phrase_offsets_O1,
        phrase_words_W=options.phrase_words_W,
        future_nn=moves.future_nn,
    )
