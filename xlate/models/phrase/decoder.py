"""The phrase-based decoder: stack search and cube pruning with Moses's features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.errors import InputError
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
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
from xlate.models.derivation import Derivation, Span, Step
from xlate.models.phrase.forced import score_steps
from xlate.models.phrase.groups import GroupWeights, no_groups
from xlate.models.phrase.lattice import phrase_arcs, sum_columns
from xlate.models.phrase.lists import PhraseList, target_ids
from xlate.models.phrase.model import DISTORTION, LM, SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel
from xlate.models.phrase.moves import PhraseMoves, occurring
from xlate.models.phrase.options import PhraseOptions, collect_phrase_options
from xlate.models.phrase.orientation import adjacent_orientation
from xlate.models.phrase.parts import sparse_ids
from xlate.models.phrase.ranking import RankedPhrases
from xlate.models.phrase.settings import PhraseSearch
from xlate.models.phrase.text import explain_phrases, shown_features, word_links
from xlate.models.unit_system import UnitSystem
from xlate.scoring.weights import Weights
from xlate.search.graph import SearchGraph
from xlate.search.lattice_graph import LatticeArcs
from xlate.search.space import END_LABEL
from xlate.text.vocabulary import END_ID

__all__ = ["PhraseDecoder", "PhraseModel", "PhraseSearch"]


class PhraseDecoder(UnitSystem[PhraseModel, PhraseMoves, PhraseSearch, PhraseList]):
    """Translates sentences into the phrase sequences of the highest score w·h (C1).

    Sparse weights are all there, or none: then all are 0.

    Example:
        >>> model, weights_D, _ = load_moses_model("moses.ini")                # doctest: +SKIP
        >>> decoder = PhraseDecoder(model, weights_D, PhraseSearch(beam=100))  # doctest: +SKIP
        >>> decoder.translate("das haus ist klein".split())[0].words           # doctest: +SKIP
        ['the', 'house', 'is', 'small']
    """

    SEARCH = PhraseSearch
    LONGEST = LONGEST_SENTENCE

    def _check(self) -> None:
        super()._check()
        held, known = len(self._sparse_F), 0 if self.model.sparse is None else len(self.model.sparse)
        if held not in (0, known):
            raise InputError("the weights cannot be used", seen=f"{held} sparse weights", expected=f"0 or {known}")

    @cached_property
    def sparse_F(self) -> Floats:
        """Weights of sparse features, shape (F,)."""
        return self._sparse_F if len(self._sparse_F) or self.model.sparse is None else np.zeros(len(self.model.sparse))

    @property
    def weights(self) -> Weights:
        """Float weights, 1 for the sums of sparse features, and the weights of those times what their sum weighed."""
        dense_D, sparse, slots = self.weights_D.copy(), self.model.sparse, self.model.slots
        if sparse is None:
            return Weights(dense_D, np.zeros(0), self.model.columns)
        sums_K1 = np.append(dense_D[slots[SPARSE_REORDERING]], dense_D[slots[SPARSE_PLAIN]])
        dense_D[slots[SPARSE_REORDERING]] = dense_D[slots[SPARSE_PLAIN]] = 1.0
        return Weights(dense_D, self.sparse_F * sums_K1[sum_columns(sparse)], self.model.columns)

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

    def best(self, space: PhraseMoves) -> Derivation[Step]:
        """The best derivation of a space; its features are added up when they are asked for."""
        graph = self.search_space(space, every_arc=False)
        if not self.fast or graph.goal < 0:
            return self.derivation(space, graph.best_labels())
        words, steps = space.options.words, self._steps(space, graph.best_labels())

        # It must not hold the search space: translations of a whole text are kept.
        def features_D() -> Floats:
            return score_steps(self.model, self.weights_D, words, steps, self.sparse_F).features_D

        return Derivation(words, steps, features_D, float(graph.score_N[graph.goal]))

    def drawn_list(self, words: Sequence[str], draws: int, scale: float, seed: int) -> tuple[PhraseList, Ints]:
        """Derivations drawn from the search graph with shares of exp(scale · score), best first.

        Returns:
            The N different ones, and how often each was drawn, shape (N,), `draws` in all.

        Raises:
            InputError: as `nbest_list`.
        """
        if not words:
            raise InputError("an empty sentence has no derivations to draw", expected="one word or more")
        moves = self.space(words)
        arcs = self.search_space(moves, every_arc=True).arcs
        offsets_N1, labels_L, count_N = sample_paths(arcs, scale, draws, np.random.default_rng(seed))
        return self._as_list(moves, offsets_N1, labels_L), count_N

    def space_list(self, space: PhraseMoves) -> PhraseList:
        """The `nbest` best derivations of a space as arrays; the compiled search only."""
        arcs, search = self.search_space(space, every_arc=True).arcs, self.search
        ids_W = target_ids(self.model, space.options) if search.distinct else np.zeros(0, np.int32)
        texts = Texts(space.options.phrases.offsets_O1, ids_W, search.distinct)
        offsets_N1, labels_L, _ = k_best_paths(arcs, texts, search.nbest)
        return self._as_list(space, offsets_N1, labels_L)

    def _as_list(self, moves: PhraseMoves, offsets_N1: Ints, labels_L: Ints32) -> PhraseList:
        return PhraseList(self.model, moves, Paths(offsets_N1, labels_L), self.sparse_F if self.has_sparse else None)

    def space(self, words: Sequence[str]) -> PhraseMoves:
        """The moves over a sentence."""
        self.check_length(words)
        longest, model = self.search.max_phrase, self.model
        options = collect_phrase_options(model, self.weights_D, self.ranked, longest, words, self.sparse_F)
        return PhraseMoves(model, self.weights_D, self.search, options, self._groups(options))

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> PhraseMoves:
        """The moves with all pairs of the table that stand in the target, whatever the search's limit of options."""
        return occurring(self.unlimited.space(words), target)

    def _groups(self, options: PhraseOptions) -> GroupScores:
        if self.group_weights is None:
            return no_groups(self.model.orientations)
        return self.group_weights.of_sentence(options.source_n, options.first_O, options.last_O)

    def derivation(self, space: PhraseMoves, labels: Sequence[int]) -> Derivation[Step]:
        """The derivation along the labels of a path, its features from their definitions."""
        return score_steps(self.model, self.weights_D, space.options.words, self._steps(space, labels), self.sparse_F)

    @staticmethod
    def _steps(moves: PhraseMoves, labels: Sequence[int]) -> tuple[Step, ...]:
        return tuple(moves.step(label) for label in labels if label != END_LABEL)

    def arc_features(self, space: PhraseMoves, found: LatticeArcs) -> LatticeArcs:
        """Floats and sparse features of the arcs."""
        return phrase_arcs(space, found)

    def with_tables(self, folder: Path, sentences: int) -> Callable[[int], PhraseDecoder]:
        """The decoder of each sentence's number; see `SentenceTables`."""
        from xlate.models.phrase.sentence_tables import SentenceTables

        tables = SentenceTables(self.model, folder, sentences)
        return lambda number: self.changed(model=tables.of(number))

    def step_features(self, derivation: Derivation[Step]) -> tuple[Ints, Ints32]:
        """Of each phrase."""
        if self.model.sparse is None or not derivation.steps:
            return super().step_features(derivation)
        return sparse_ids(self.model, derivation.source, derivation.steps)

    def explain(self, source: Sequence[str], derivation: Derivation[Step]) -> str:
        """Phrase by phrase, then feature by feature."""
        return explain_phrases(self.model, self.weights_D, source, derivation)

    def shown_features(self, derivation: Derivation[Step]) -> Iterator[tuple[str, Sequence[float]]]:
        """As Moses shows them."""
        return shown_features(derivation, self.model)

    def word_links(self, derivation: Derivation[Step]) -> list[Span]:
        """What the phrase pairs align."""
        return word_links(derivation, self.model)

    def orientations(self, derivation: Derivation[Step]) -> list[int]:
        """Of each phrase to the one before."""
        found, before = [], None
        for step in derivation.steps:
            found.append((RIGHT, LEFT, NEUTRAL)[adjacent_orientation(before, step.source_span)])
            before = step.source_span
        return found

    def compiled_search(self, space: PhraseMoves, *, every_arc: bool) -> SearchGraph:
        """By the kernel of the algorithm."""
        kernel = search_cubes if self.search.algorithm == "cube" else search_phrases
        numbers = self._numbers(space, every_arc)
        return SearchGraph.of_hypotheses(*kernel(self.model.lm.arrays, _sentence_arrays(space), numbers))

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
        place_OR=options.place_OR * moves.weights_D[moves.model.place_slot : moves.model.place_slot + 1].sum(),
        future_nn=moves.future_nn,
        groups=moves.groups,
    )
