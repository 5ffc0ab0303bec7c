"""The phrase-based decoder: stack search and cube pruning with Moses's features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.errors import refuse_if
from xlate.kernels.search.best_paths import Paths
from xlate.kernels.search.phrase_moves import LONGEST_SENTENCE
from xlate.models.derivation import Derivation, Step
from xlate.models.phrase.lists import PhraseList, list_of_steps
from xlate.models.phrase.model import FIVE_WAY, PhraseModel
from xlate.models.phrase.moves import PhraseMoves
from xlate.models.phrase.options import GroupWeights, RankedPhrases, collect_phrase_options
from xlate.models.unit_system import UnitSystem
from xlate.scoring.weights import Weights
from xlate.search.settings import PhraseSearch

__all__ = ["PhraseDecoder", "PhraseModel", "PhraseSearch"]


class PhraseDecoder(UnitSystem[PhraseModel, PhraseMoves, PhraseSearch, PhraseList]):
    """Translates sentences into the phrase sequences of the highest score w·h (C1).

    Either all sparse weights are given, or none: then all are 0.

    Example:
        >>> model, weights_D = moses_model(read_moses_ini("moses.ini"))        # doctest: +SKIP
        >>> decoder = PhraseDecoder(model, weights_D, PhraseSearch(beam=100))  # doctest: +SKIP
        >>> decoder.translate("das haus ist klein".split())[0].words           # doctest: +SKIP
        ['the', 'house', 'is', 'small']
    """

    NAME = "phrase"
    LONGEST = LONGEST_SENTENCE

    def _check(self) -> None:
        super()._check()
        held, known = len(self.sparse_F), 0 if self.model.sparse is None else len(self.model.sparse)
        refuse_if(held not in (0, known), "the weights cannot be used", f"{held} sparse weights", f"0 or {known}")
        if not held:
            self.sparse_F = np.zeros(known)

    @property
    def weights(self) -> Weights:
        """Float weights, 1 for the sums of sparse features, and their weights multiplied by that of their sum."""
        dense_D, sparse, sums = self.weights_D.copy(), self.model.sparse, self.model.sums
        if sparse is None:
            return super().weights
        # The sum that each feature belongs to: that of its orientation, or the last one.
        column_F = np.full(len(sparse), sparse.orientations, np.int64)
        for family in sparse.families:
            if family.crossed > 1:
                column_F[family.first : family.end] = np.arange(family.end - family.first) % family.crossed
        sparse_F = self.sparse_F * dense_D[sums][column_F]
        dense_D[sums] = 1.0
        return Weights(dense_D, sparse_F, self.model.columns)

    @cached_property
    def ranked(self) -> RankedPhrases:
        """The best translations of source phrases under the weights, as far as requested."""
        return RankedPhrases(self.model, self.weights_D, self.search.options, self.sparse_F)

    @cached_property
    def group_scores(self) -> GroupWeights:
        """The scores of the words of the group before a phrase in a sentence."""
        return GroupWeights(self.model, self.weights_D, self.sparse_F)

    def prepare(self, sentences: Sequence[Sequence[str]]) -> None:
        """Computes what is shared by all of these sentences once, so that forked processes share it."""
        ids = [self.model.source_vocabulary.ids(words) for words in sentences]
        self.ranked.prepare(ids, self.search.max_phrase)
        _ = self.group_scores, self.has_sparse

    def best(self, space: PhraseMoves) -> Derivation[Step]:
        """The best derivation of a space; its features are added up on demand."""
        graph = self.search_space(space, every_arc=False)
        if not self.fast or graph.goal < 0:
            return self.derivation(space, graph.best_labels())
        words, steps = space.options.words, self.steps(space, graph.best_labels())

        # It must not hold the search space, because translations of a whole text are kept.
        return Derivation(words, steps, partial(self._features_D, words, steps), float(graph.score_N[graph.goal]))

    def list_of(self, space: PhraseMoves, paths: Paths) -> PhraseList:
        return PhraseList(self.model, space.options, paths, self.weights_D, self.sparse_F if self.has_sparse else None)

    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> PhraseMoves:
        """The moves; with a target, all pairs that occur in it, whatever the search's limit of options."""
        self.check_length(words)
        ranked = (self if target is None else self.unlimited).ranked
        options = collect_phrase_options(ranked, self.search.max_phrase, words, target)
        return PhraseMoves(self.model, self.weights_D, self.search, options, self.group_scores(options))

    def derivation(self, space: PhraseMoves, labels: Sequence[int]) -> Derivation[Step]:
        words, steps = space.options.words, self.steps(space, labels)
        features_D = self._features_D(words, steps)
        return Derivation(words, steps, features_D, float(self.weights_D @ features_D))

    def _features_D(self, words: Sequence[str], steps: Sequence[Step]) -> Floats:
        features_D: Floats = list_of_steps(self.model, self.weights_D, words, steps, self.sparse_F).features_ND[0]
        return features_D

    def steps(self, space: PhraseMoves, labels: Sequence[int]) -> tuple[Step, ...]:
        return space.steps(labels)

    def with_tables(self, folder: Path, sentences: int) -> Callable[[int], PhraseDecoder]:
        """The decoder for each sentence number; see `sentence_models`."""
        from xlate.models.phrase.moses import sentence_models

        model_of = sentence_models(self.model, folder, sentences)
        return lambda number: self.changed(model=model_of(number))

    def step_features(self, derivation: Derivation[Step]) -> tuple[Ints, Ints32]:
        if self.model.sparse is None or not derivation.steps:
            return super().step_features(derivation)
        _, steps = list_of_steps(self.model, self.weights_D, derivation.source, derivation.steps).parts
        return self.model.sparse.ids(steps)

    def shown_features(self, derivation: Derivation[Step]) -> Iterator[tuple[str, Sequence[float]]]:
        """By Moses's names, without an unused reordering model and without what Moses leaves out of n-best lists."""
        left_out = {"UnknownWordPenalty0"}
        if self.model.reordering is None or FIVE_WAY in self.model.slots:
            left_out.add("LexicalReordering0")
        return (part for part in super().shown_features(derivation) if part[0] not in left_out)
