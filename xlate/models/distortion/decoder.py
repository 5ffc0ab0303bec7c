"""The phrase-distortion decoder: block sequences with skipped source intervals, by beam search (TZ07 section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice

from xlate.errors import InputError
from xlate.features.block import DISTORTION_FLOATS
from xlate.kernels.search.block_model import ModelArrays
from xlate.kernels.search.distortion_decoder import JumpNumbers, JumpSentence, search_jumps
from xlate.kernels.search.hypotheses import Limits
from xlate.models.block.derivation import Derivation
from xlate.models.distortion.model import LM_FIRST, LM_REST, DistortionModel
from xlate.models.distortion.moves import JumpMoves, read_jumps
from xlate.models.distortion.options import collect_jump_options
from xlate.models.distortion.settings import DistortionSearch
from xlate.models.pieces import in_pieces, joined_blocks
from xlate.search.beam import search_graph
from xlate.search.graph import SearchGraph
from xlate.search.nbest import best_paths
from xlate.text.vocabulary import END_ID

LONGEST_SENTENCE = 32_767


class DistortionDecoder:
    """Translates sentences into the block sequences of the highest score Σ_i w·f(b_i; b_{i-1}) + v(b_{i-1}, b_i).

    f are the seven floats of TZ07, Table V, v the summed weights of the binary features; the sequences cover the source
    once, in an order that `DistortionSearch` allows. Behind the last block comes w_c · -ln p(</s> | history).

    Args:
        model: blocks, language model, weights.
        search: settings.
        fast: the compiled search; the readable one gives the same derivations and scores.
    """

    def __init__(self, model: DistortionModel, search: DistortionSearch | None = None, fast: bool = True) -> None:
        self.model = model
        self.search = search or DistortionSearch()
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
        if not words:
            return [Derivation((), (), 0.0, DISTORTION_FLOATS)]
        moves = self.moves(words)
        if self.search.nbest == 1:
            return [read_jumps(moves, self._graph(moves, every_arc=False).best_labels())]
        return [self.derivation(moves, labels) for labels in self.nbest_labels(moves)]

    def nbest_labels(self, moves: JumpMoves) -> list[list[int]]:
        """The labels of the `nbest` best paths through a search space, best first."""
        texts = moves.texts if self.search.distinct else None
        paths = best_paths(self._graph(moves, every_arc=True), texts)
        return [list(labels) for _, labels in islice(paths, self.search.nbest)]

    def derivation(self, moves: JumpMoves, labels: Sequence[int]) -> Derivation:
        """The derivation of a path's labels."""
        return read_jumps(moves, labels)

    def moves(self, words: Sequence[str]) -> JumpMoves:
        """The search space over a sentence."""
        if len(words) > LONGEST_SENTENCE:
            raise InputError("the sentence is too long", seen=f"{len(words)} words", expected=f"≤ {LONGEST_SENTENCE}")
        return JumpMoves(self.model, self.search, collect_jump_options(self.model, self.search, words))

    def graph(self, words: Sequence[str]) -> SearchGraph:
        """The translation graph of a sentence: every step the beam took. Labels are option numbers, -1 the end."""
        return self._graph(self.moves(words), every_arc=True)

    def _graph(self, moves: JumpMoves, *, every_arc: bool) -> SearchGraph:
        search, options, weights = self.search, moves.options, self.model.weights
        if not self.fast:
            return search_graph(
                moves.start,
                moves.levels,
                moves.expand,
                moves.future,
                search.beam,
                search.log_threshold,
                group=moves.coverage,
                group_beam=search.coverage_beam,
            )
        numbers = JumpNumbers(
            first_weight=float(weights[LM_FIRST]),
            rest_weight=float(weights[LM_REST]),
            max_skips=search.max_skips,
            window=search.window,
            limits=Limits(search.beam or 0, search.coverage_beam or 0, search.log_threshold, every_arc),
            end_word=END_ID if search.end_of_sentence else -1,
        )
        sentence = JumpSentence(
            words=len(options.words),
            longest=options.longest,
            cell_offsets_C1=options.cell_offsets_C1,
            block_O=options.block_O,
            static_O=options.static_O,
            phrase_offsets_O1=options.phrase_offsets_O1,
            phrase_words_W=options.phrase_words_W,
            jump_1n=options.jump_1n,
            future_nn=moves.future_nn,
        )
        return SearchGraph.of_hypotheses(*search_jumps(self._arrays, sentence, numbers))

    @cached_property
    def _arrays(self) -> ModelArrays:
        model = self.model
        return ModelArrays(model.lm.arrays, int(model.lm.begin_state), *model.weighted_features, model.context_B)
