"""The phrase-based decoder: stack search and cube pruning with Moses's features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.kernels.search.best_paths import Texts, k_best_paths
from xlate.kernels.search.hypotheses import Limits
from xlate.kernels.search.phrase_cube import search_cubes
from xlate.kernels.search.phrase_decoder import search_phrases
from xlate.kernels.search.phrase_moves import (
    FIVE_WAY,
    HIERARCHICAL,
    LONGEST_SENTENCE,
    NO_REORDERING,
    WORD_BASED,
    PhraseNumbers,
    PhraseSentence,
)
from xlate.kernels.search.phrase_orientation import GroupScores
from xlate.kernels.search.phrase_paths import Paths
from xlate.kernels.search.sampled_paths import sample_paths
from xlate.models.phrase.forced import PhraseDerivation, score_steps
from xlate.models.phrase.groups import GroupWeights, no_groups
from xlate.models.phrase.lists import PhraseList, target_ids
from xlate.models.phrase.model import DISTORTION, LM, SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel
from xlate.models.phrase.moves import END_LABEL, PhraseMoves
from xlate.models.phrase.options import PhraseOptions, collect_phrase_options
from xlate.models.phrase.parts import PhraseStep
from xlate.models.phrase.ranking import RankedPhrases
from xlate.models.phrase.settings import PhraseSearch
from xlate.models.pieces import in_pieces, joined_phrases
from xlate.search.beam import search_graph
from xlate.search.graph import SearchGraph
from xlate.search.nbest import best_paths
from xlate.text.vocabulary import END_ID

__all__ = ["PhraseDecoder", "PhraseDerivation", "PhraseModel", "PhraseSearch", "PhraseStep"]


class PhraseDecoder:
    """Translates sentences into the phrase sequences of the highest score w·h (C1).

    Args:
        model: phrases, language model, reordering.
        weights_D: in the order of `PhraseModel.features`, shape (D,); see `phrase_model.weight_vector`.
        search: settings.
        fast: the compiled search; the readable one, for stack search only, gives the same derivations and scores.
        sparse_F: weights of the model's sparse features; without them all are 0.

    Raises:
        InputError: weights of another shape or not finite, or cube pruning without `fast`.

    Example:
        >>> model, weights_D, _ = load_moses_model("moses.ini")                # doctest: +SKIP
        >>> decoder = PhraseDecoder(model, weights_D, PhraseSearch(beam=100))  # doctest: +SKIP
        >>> decoder.translate("das haus ist klein".split())[0].words           # doctest: +SKIP
        ['the', 'house', 'is', 'small']
    """

    def __init__(
        self,
        model: PhraseModel,
        weights_D: NDArray[np.float64],
        search: PhraseSearch | None = None,
        fast: bool = True,
        sparse_F: NDArray[np.float64] | None = None,
    ) -> None:
        self.model = model
        self.weights_D = np.asarray(weights_D, dtype=np.float64)
        self.search = search or PhraseSearch()
        self.fast = fast
        size = 0 if model.sparse is None else len(model.sparse)
        self.sparse_F = np.zeros(size) if sparse_F is None else np.asarray(sparse_F, dtype=np.float64)
        for weights, expected in ((self.weights_D, model.size), (self.sparse_F, size)):
            if weights.shape != (expected,) or not np.isfinite(weights).all():
                raise InputError("the weights cannot be used", seen=weights, expected=f"{expected} finite numbers")
        if self.search.algorithm == "cube" and not fast:
            raise InputError("cube pruning has no readable form", expected="the compiled search, or algorithm stack")

    @cached_property
    def ranked(self) -> RankedPhrases:
        """The best translations of source phrases under the weights, as far as they were asked for."""
        return RankedPhrases(self.model, self.weights_D, self.search.options, self.sparse_F)

    @cached_property
    def group_weights(self) -> GroupWeights | None:
        """Sparse weights of the words of the group before a phrase, None when no feature looks at them."""
        sparse, slots = self.model.sparse, self.model.slots
        if sparse is None or not (sparse.has_groups or sparse.has_bigrams):
            return None
        plain = float(self.weights_D[slots[SPARSE_PLAIN].start])
        return GroupWeights.of(sparse, self.sparse_F, self.weights_D[slots[SPARSE_REORDERING]], plain)

    @cached_property
    def has_sparse(self) -> bool:
        """Whether any sparse weight is not 0."""
        return bool(self.sparse_F.any())

    def prepare(self, sentences: Sequence[Sequence[str]]) -> None:
        """Makes what is made once, for all of these sentences together, so that forked processes share it."""
        ids = [self.model.source_vocabulary.ids(words) for words in sentences]
        self.ranked.prepare(ids, self.search.max_phrase)
        for part in (self.group_weights, self.has_sparse):
            assert part is not NotImplemented

    def translate(self, words: Sequence[str]) -> list[PhraseDerivation]:
        """The best derivation of a sentence, or the `nbest` best ones, best first; an empty one of no words.

        A sentence of more than `max_words` words is translated in pieces (see `pieces`).
        """
        search = self.search
        if len(words) > search.max_words:
            return in_pieces(words, search.max_words, search.nbest, search.distinct, self._translate, joined_phrases)
        return self._translate(words)

    def _translate(self, words: Sequence[str]) -> list[PhraseDerivation]:
        moves = self.moves(words)
        if not words:
            return [PhraseDerivation((), (), np.zeros(self.model.size), 0.0)]
        if self.search.nbest == 1:
            return [self._best(moves)]
        if self.fast:
            return self._list(moves).derivations()
        texts = moves.words_of if self.search.distinct else None
        paths = best_paths(self._graph(moves, every_arc=True), texts)
        return [self.derivation(moves, labels) for _, labels in islice(paths, self.search.nbest)]

    def _best(self, moves: PhraseMoves) -> PhraseDerivation:
        graph = self._graph(moves, every_arc=False)
        if not self.fast or graph.goal < 0:
            return self.derivation(moves, graph.best_labels())
        words, steps = moves.options.words, self._steps(moves, graph.best_labels())

        # It must not hold the search space: translations of a whole text are kept.
        def features_D() -> NDArray[np.float64]:
            return score_steps(self.model, self.weights_D, words, steps, self.sparse_F).features_D

        return PhraseDerivation(words, steps, features_D, float(graph.score_N[graph.goal]))

    def nbest_list(self, words: Sequence[str]) -> PhraseList:
        """The `nbest` best derivations of a sentence as arrays; the compiled search only.

        Raises:
            InputError: a sentence without words, or of more than the search can number.
        """
        if not words:
            raise InputError("an empty sentence has no n-best list", expected="one word or more")
        return self._list(self.moves(words))

    def drawn_list(
        self, words: Sequence[str], draws: int, scale: float, seed: int
    ) -> tuple[PhraseList, NDArray[np.int64]]:
        """Derivations drawn from the search graph with shares of exp(scale · score), best first.

        Returns:
            The N different ones, and how often each was drawn, shape (N,), `draws` in all.

        Raises:
            InputError: as `nbest_list`.
        """
        if not words:
            raise InputError("an empty sentence has no derivations to draw", expected="one word or more")
        moves = self.moves(words)
        graph = self._graph(moves, every_arc=True)
        arcs = graph.source_A, graph.target_A, graph.label_A, graph.score_A, graph.goal, len(graph.score_N)
        offsets_N1, labels_L, count_N = sample_paths(*arcs, scale, draws, np.random.default_rng(seed))
        return self._as_list(moves, offsets_N1, labels_L), count_N

    def _list(self, moves: PhraseMoves) -> PhraseList:
        graph, search = self._graph(moves, every_arc=True), self.search
        offsets_O1 = moves.options.phrases.offsets_O1
        ids_W = target_ids(self.model, moves.options) if search.distinct else np.zeros(0, np.int32)
        offsets_N1, labels_L, _ = k_best_paths(
            graph.source_A,
            graph.target_A,
            graph.label_A,
            graph.score_A,
            graph.goal,
            len(graph.score_N),
            Texts(offsets_O1, ids_W, search.distinct),
            search.nbest,
        )
        return self._as_list(moves, offsets_N1, labels_L)

    def _as_list(self, moves: PhraseMoves, offsets_N1: NDArray[np.int64], labels_L: NDArray[np.int32]) -> PhraseList:
        return PhraseList(self.model, moves, Paths(offsets_N1, labels_L), self.sparse_F if self.has_sparse else None)

    def moves(self, words: Sequence[str]) -> PhraseMoves:
        """The search space over a sentence."""
        if len(words) > LONGEST_SENTENCE:
            raise InputError("the sentence is too long", seen=f"{len(words)} words", expected=f"≤ {LONGEST_SENTENCE}")
        longest, model = self.search.max_phrase, self.model
        options = collect_phrase_options(model, self.weights_D, self.ranked, longest, words, self.sparse_F)
        return PhraseMoves(model, self.weights_D, self.search, options, self._groups(options))

    def _groups(self, options: PhraseOptions) -> GroupScores:
        if self.group_weights is None:
            return no_groups(self.model.orientations)
        return self.group_weights.of_sentence(options.source_n, options.first_O, options.last_O)

    def graph(self, words: Sequence[str]) -> SearchGraph:
        """The search graph of a sentence: every move the beam took; a label is a number of `moves(words).options`,
        -1 the end of the sentence.
        """
        return self._graph(self.moves(words), every_arc=True)

    def derivation(self, moves: PhraseMoves, labels: Sequence[int]) -> PhraseDerivation:
        """The derivation along the labels of a path, its features from their definitions."""
        return score_steps(self.model, self.weights_D, moves.options.words, self._steps(moves, labels), self.sparse_F)

    @staticmethod
    def _steps(moves: PhraseMoves, labels: Sequence[int]) -> tuple[PhraseStep, ...]:
        return tuple(moves.step(label) for label in labels if label != END_LABEL)

    def with_weights(
        self, weights_D: NDArray[np.float64], sparse_F: NDArray[np.float64] | None = None
    ) -> PhraseDecoder:
        """The same decoder under other weights."""
        return PhraseDecoder(self.model, weights_D, self.search, self.fast, sparse_F)

    def with_search(self, **settings: object) -> PhraseDecoder:
        """The same decoder with some settings changed."""
        search = replace(self.search, **settings)  # type: ignore[arg-type]
        return PhraseDecoder(self.model, self.weights_D, search, self.fast, self.sparse_F)

    def _graph(self, moves: PhraseMoves, *, every_arc: bool) -> SearchGraph:
        search = self.search
        if not self.fast:
            return search_graph(
                moves.start, moves.levels, moves.expand, moves.future, search.beam, search.log_threshold
            )
        kernel = search_cubes if search.algorithm == "cube" else search_phrases
        numbers = self._numbers(moves, every_arc)
        return SearchGraph.of_hypotheses(*kernel(self.model.lm.arrays, _sentence_arrays(moves), numbers))

    def _numbers(self, moves: PhraseMoves, every_arc: bool) -> PhraseNumbers:
        search, model = self.search, self.model
        reordering = WORD_BASED if model.reordering is not None else NO_REORDERING
        if model.hierarchical:
            reordering = HIERARCHICAL if model.orientations == 3 else FIVE_WAY
        return PhraseNumbers(
            lm_weight=float(self.weights_D[LM]),
            distortion_weight=float(self.weights_D[DISTORTION]),
            forward_FK=moves.options.forward_FK,
            reordering=reordering,
            groups=model.sparse is not None and model.sparse.has_groups,
            bigrams=model.sparse is not None and model.sparse.has_bigrams,
            begin_state=int(self.model.lm.begin_state),
            end_word=END_ID,
            limits=Limits(search.beam or 0, 0, search.log_threshold, every_arc),
            log_early_threshold=search.log_early_threshold,
            distortion_limit=-1 if search.distortion_limit is None else search.distortion_limit,
            distortion_future=search.distortion_future,
            pop_limit=search.pop_limit,
        )


def _sentence_arrays(moves: PhraseMoves) -> PhraseSentence:
    options = moves.options
    return PhraseSentence(
        words=len(options.words),
        longest=options.longest,
        cell_offsets_C1=options.cell_offsets_C1,
        static_O=options.static_O,
        alone_O=options.alone_O,
        backward_OK=options.backward_OK,
        forward_O=options.forward_O,
        phrases=options.phrases,
        future_nn=moves.future_nn,
        groups=moves.groups,
    )
