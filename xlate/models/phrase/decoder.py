"""The phrase-based decoder: stack search and cube pruning with Moses's features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.errors import InputError
from xlate.kernels.search.best_paths import Texts, k_best_paths, sample_paths
from xlate.kernels.search.hypotheses import Limits
from xlate.kernels.search.phrase_decoder import search_cubes, search_phrases
from xlate.kernels.search.phrase_moves import LONGEST_SENTENCE
from xlate.kernels.search.phrase_paths import Paths
from xlate.models.derivation import COPIED, Derivation, Span, Step, explained, side_of, unit_scores
from xlate.models.phrase.lists import PhraseList, list_of_steps, phrase_arcs, target_ids
from xlate.models.phrase.model import FIVE_WAY, SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel
from xlate.models.phrase.moves import PhraseMoves
from xlate.models.phrase.options import GroupWeights, RankedPhrases, collect_phrase_options, no_groups
from xlate.models.unit_system import UnitSystem
from xlate.scoring.weights import Weights
from xlate.search.graph import END_LABEL, LatticeArcs, SearchGraph
from xlate.search.settings import PhraseSearch

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
        # Which of the sums each feature is in: that of its orientation, or the last one.
        column_F = np.full(len(sparse), sparse.orientations, dtype=np.int64)
        for family in sparse.families:
            if family.crossed > 1:
                column_F[family.first : family.end] = np.arange(family.end - family.first) % family.crossed
        return Weights(dense_D, self.sparse_F * sums_K1[column_F], self.model.columns)

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
        return Derivation(words, steps, partial(self._features_D, words, steps), float(graph.score_N[graph.goal]))

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
        return PhraseList(
            self.model,
            moves.options,
            Paths(offsets_N1, labels_L),
            self.weights_D,
            self.sparse_F if self.has_sparse else None,
        )

    def space(self, words: Sequence[str]) -> PhraseMoves:
        """The moves over a sentence."""
        self.check_length(words)
        options, weights = collect_phrase_options(self.ranked, self.search.max_phrase, words), self.group_weights
        if weights is None:
            groups = no_groups(self.model.orientations)
        else:
            groups = weights.of_sentence(options.source_n, options.first_O, options.last_O)
        return PhraseMoves(self.model, self.weights_D, self.search, options, groups)

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> PhraseMoves:
        """The moves with all pairs of the table that stand in the target, whatever the search's limit of options."""
        return self.unlimited.space(words).occurring(target)

    def derivation(self, space: PhraseMoves, labels: Sequence[int]) -> Derivation[Step]:
        """The derivation along the labels of a path."""
        words, steps = space.options.words, self._steps(space, labels)
        features_D = self._features_D(words, steps)
        return Derivation(words, steps, features_D, float(self.weights_D @ features_D))

    def _features_D(self, words: Sequence[str], steps: Sequence[Step]) -> Floats:
        features_D: Floats = list_of_steps(self.model, self.weights_D, words, steps, self.sparse_F).features_ND[0]
        return features_D

    def _steps(self, space: PhraseMoves, labels: Sequence[int]) -> tuple[Step, ...]:
        return tuple(space.options.step(self.model, label) for label in labels if label != END_LABEL)

    def arc_features(self, space: PhraseMoves, found: LatticeArcs) -> LatticeArcs:
        """Floats and sparse features of the arcs."""
        return phrase_arcs(space, found)

    def with_tables(self, folder: Path, sentences: int) -> Callable[[int], PhraseDecoder]:
        """The decoder of each sentence's number; see `sentence_models`."""
        from xlate.models.phrase.sentence_tables import sentence_models

        model_of = sentence_models(self.model, folder, sentences)
        return lambda number: self.changed(model=model_of(number))

    def step_features(self, derivation: Derivation[Step]) -> tuple[Ints, Ints32]:
        """Of each phrase."""
        if self.model.sparse is None or not derivation.steps:
            return super().step_features(derivation)
        parts = list_of_steps(self.model, self.weights_D, derivation.source, derivation.steps).parts
        return self.model.sparse.ids(parts.steps)

    def explain(self, source: Sequence[str], derivation: Derivation[Step]) -> str:
        """Phrase by phrase, then weight × value of every feature, strongest first, then the sum.

        Example: `[0,2)  das haus -> the house  p(f|e) 0.6, lex 0.4, p(e|f) 0.8, lex 0.5  (N=12)`
        """
        shown = []
        for step in derivation.steps:
            start, end = step.source_span
            words = f"[{start},{end})  {' '.join(source[start:end])} -> {' '.join(step.target_words)}"
            shown.append(f"{words}  {unit_scores(self.model.table, step.unit)}")
        return explained(shown, self.model.columns, self.weights_D, derivation)

    def shown_features(self, derivation: Derivation[Step]) -> Iterator[tuple[str, Sequence[float]]]:
        """By Moses's names, without a reordering model that is not used and what Moses leaves out of n-best lists."""
        model = self.model
        left_out = {"UnknownWordPenalty0"}
        if model.reordering is None or FIVE_WAY in model.slots:
            left_out.add("LexicalReordering0")
        for name, part in model.slots.items():
            if name not in left_out:
                yield name, derivation.features_D[part].tolist()

    def word_links(self, derivation: Derivation[Step]) -> list[Span]:
        """What the phrase pairs align, in target order of phrases; a copied word is linked."""
        links = []
        for step, (target_start, _) in zip(derivation.steps, derivation.target_spans, strict=True):
            inside = [(0, 0)] if step.unit == COPIED else self.model.table.links(step.unit)
            links += [(step.source_span[0] + s, target_start + t) for s, t in inside]
        return links

    def orientations(self, derivation: Derivation[Step]) -> list[int]:
        """Of each phrase to the one before."""
        spans = [step.source_span for step in derivation.steps]
        return [side_of(before, span) for before, span in zip([(0, 0), *spans], spans, strict=False)]

    def compiled_search(self, space: PhraseMoves, *, every_arc: bool) -> SearchGraph:
        """By the kernel of the algorithm."""
        search = self.search
        limits = Limits(search.stack, 0, search.log_threshold, every_arc)
        kernel = search_cubes if search.algorithm == "cube" else search_phrases
        found = kernel(self.model.lm.arrays, space.sentence, space.numbers._replace(limits=limits))
        return SearchGraph.of_hypotheses(*found)
