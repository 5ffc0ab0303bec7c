"""Classifiers of source phrases in their sentence (Kolachina et al. 2010).

One predicts translations (section 3.1.1), one how far a translation is from its place (section 3.1.2), with or without
considering the translation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import places_in_rows, places_of_keys, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.context_instances import Choices, ContextInstances, Places, Translations
from xlate.features.context import ContextFeatures, Distances, TargetFeatures
from xlate.kernels.learning.candidates import crossed_ids, crossed_scores
from xlate.kernels.memory import best_of_each
from xlate.kernels.search.predictions import PhraseSpans, Predicted, Predictor, predicted_sentence
from xlate.kernels.search.spans import span_rows
from xlate.models.phrase.model import SentencePhrases
from xlate.phrases.table import DIRECT_PHRASE
from xlate.scoring.weights import Weights
from xlate.text.vocabulary import EncodedText, Vocabulary

# Marks a part of a list that nothing is predicted for.
NO_CHOICE = -1
# The values of a sentence's words in the layers that belong to tokens, not to words.
FactorsOf = Callable[[Sequence[str]], Sequence[Ints32]]


@dataclass(frozen=True, kw_only=True)
class Classifier(ABC):
    """Makes predictions for source phrases of at most `longest` words in their sentence.

    Attributes:
        contexts: the features of contexts.
        choices: the possible choices.
        targets: the features of translations.
        vocabulary: the source words.
        longest: the most words of a source phrase.
        weights: one for `forward`, ln p without a context, and 2^bits for pairs of features.
        alone: each candidate is judged on its own, so probabilities need not add up to 1.
        factors: finds the values of layers that belong to tokens.
        beside: the features of the translation, if it is considered too; else None.
        what: a word for what is predicted.
        without: how p without a context is written.
    """

    what: ClassVar[str]
    without: ClassVar[str]
    contexts: ContextFeatures
    choices: Choices
    targets: TargetFeatures
    vocabulary: Vocabulary
    longest: int
    weights: Weights
    alone: bool
    factors: FactorsOf
    beside: TargetFeatures | None = None

    def spans(self, text: EncodedText) -> PhraseSpans:
        """All source phrases of the table in a sentence."""
        ids_n = text.ids_T
        longest = max(1, min(self.longest, len(ids_n)))
        row_C = span_rows(self.targets.table.source_finder, ids_n, longest)
        cells = np.flatnonzero(row_C >= 0)
        start = cells // longest
        return PhraseSpans(np.zeros(len(cells), np.int64), start, start + cells % longest + 1, row_C[cells])

    def scores(self, batch: CandidateBatch) -> Floats:
        """The scores of C candidates, (C,)."""
        return crossed_scores(batch.arrays(), self.weights.dense_D, self.weights.sparse_F)

    @abstractmethod
    def named(self, number: int, vocabulary: Vocabulary) -> str:
        """A candidate in words, by its number and the target words."""

    def instances(self, words: Sequence[str], pair_P: Ints | None = None) -> tuple[PhraseSpans, CandidateBatch, Ints]:
        """All known phrases of a sentence as instances, and the number of each of their C candidates.

        `pair_P` is the pair that is considered with each of the P source phrases of the table.
        """
        text = EncodedText(self.vocabulary.ids(words), np.array([0, len(words)]))
        spans = self.spans(text)
        made = ContextInstances(self.contexts, self.choices, text, self.factors(words), self.beside)
        return spans, *made.of(spans, None if pair_P is None else pair_P[spans.phrase_I])

    def context_names(self, ids_X: AnyInts, members: int = 0) -> list[str]:
        """The names of features of contexts, with `members` words after that of a word class."""
        return list(self.contexts.names(ids_X, self.targets.table.source_phrases, self.vocabulary, members))

    def predict(self, words: Sequence[str]) -> Predicted:
        """The candidates of all known phrases of a sentence with their probabilities in it."""
        spans, batch, number_C = self.instances(words)
        log_C = log_probabilities(self.scores(batch), batch.candidate_offsets_I1, alone=self.alone)
        share_C = batch.dense_CD[:, 0].astype(np.float64)
        return Predicted(spans, batch.candidate_offsets_I1, number_C, log_C, share_C)


@dataclass(frozen=True, kw_only=True)
class ContextModel(Classifier):
    """Predicts translations; the candidates are listed by their counts in the whole text."""

    what = "translation"
    without = "p(e|f)"
    choices: Translations

    def predict(self, words: Sequence[str]) -> Predicted:
        """The same in one compiled call."""
        ids_n = self.vocabulary.ids(words)
        return predicted_sentence(self._predictor, ids_n, self.contexts.values(ids_n, self.factors(words)))

    @cached_property
    def _predictor(self) -> Predictor:
        listed = self.choices.listed
        return Predictor(
            self.targets.table.source_finder,
            self.contexts.arrays,
            self.targets.arrays,
            listed.offsets_P1,
            listed.pair_N,
            listed.log_share_N,
            np.asarray(self.weights.dense_D, np.float64),
            self.weights.sparse_F,
            self.longest,
            self.alone,
        )

    def places_of_pairs(self, found: Predicted, phrases: SentencePhrases) -> Ints:
        """Where each of O pairs at a span is among the C that were found, -1 if it is not predicted; (O,)."""
        size, spans = len(phrases.words) + 1, found.spans
        span_I, span_O = (start * size + end for start, end in (spans[1:3], phrases[1:3]))
        # Spans are sorted.
        at_O = places_of_keys(span_I, span_O)
        known = np.flatnonzero((at_O >= 0) & (phrases.pair_O >= 0))
        at_K, pair_K = at_O[known], phrases.pair_O[known]
        listed_K = self.listed_place_B[pair_K]
        listed = (listed_K >= 0) & (self.targets.table.source_B[pair_K] == spans.phrase_I[at_K])
        place_O = np.full(len(span_O), -1, np.int64)
        place_O[known[listed]] = found.offsets_I1[at_K[listed]] + listed_K[listed]
        return place_O

    @cached_property
    def listed_place_B(self) -> Ints32:
        """The place of each pair of the table in the list of its source phrase, -1 if it is not listed; (B,)."""
        place_B = np.full(len(self.targets.table), -1, np.int32)
        place_B[self.choices.listed.pair_N] = places_in_rows(self.choices.listed.offsets_P1)
        return place_B

    def named(self, number: int, vocabulary: Vocabulary) -> str:
        """The target words of a pair."""
        table = self.targets.table
        return " ".join(vocabulary.words_of(table.target_phrases[int(table.target_B[number])]))

    def spans(self, text: EncodedText) -> PhraseSpans:
        """All source phrases in a sentence that have listed translations."""
        spans, offsets_P1 = super().spans(text), self.choices.listed.offsets_P1
        phrase_I = np.asarray(spans.phrase_I, np.int64)
        return spans.select(offsets_P1[phrase_I + 1] > offsets_P1[phrase_I])


@dataclass(frozen=True, kw_only=True)
class DistanceModel(Classifier):
    """Predicts distances.

    Attributes:
        choices: the classes, and ln p of each without a context.
        target_vocabulary: the words of translations.
    """

    what = "distance"
    without = "p(r|f)"
    choices: Places
    target_vocabulary: Vocabulary

    def named(self, number: int, vocabulary: Vocabulary) -> str:  # noqa: ARG002
        """The name of a class."""
        return next(self.distances.names(np.array([number])))

    @property
    def distances(self) -> Distances:
        """The R classes."""
        return self.choices.distances

    def instances(self, words: Sequence[str], pair_P: Ints | None = None) -> tuple[PhraseSpans, CandidateBatch, Ints]:
        """All known phrases of a sentence, each with its most frequent translation, and the classes of candidates."""
        return super().instances(words, self._frequent_P if pair_P is None else pair_P)

    @cached_property
    def _frequent_P(self) -> Ints:
        """The pair of highest p(e|f) of each source phrase of the table."""
        table = self.targets.table
        offsets_P1 = np.searchsorted(table.source_B, np.arange(len(table.source_phrases) + 1))
        return best_of_each(table.scores_B4[:, DIRECT_PHRASE], offsets_P1)

    def context_names(self, ids_X: AnyInts, members: int = 0) -> list[str]:
        """The names of features of contexts, and of translations: `to pair=a house`, `to word=house`."""
        behind_X = np.asarray(ids_X, np.int64) - len(self.contexts)
        names = super().context_names(ids_X[behind_X < 0], members)
        # Those of translations follow those of the context, in each instance.
        return [*names, *(f"to {name}" for name in self.targets.names(behind_X[behind_X >= 0], self.target_vocabulary))]

    def span_scores(self, words: Sequence[str]) -> tuple[PhraseSpans, Floats]:
        """All I known phrases of a sentence, and the score of each class, whatever the translation; (I, R)."""
        spans, batch, _ = super().instances(words)
        return spans, self.scores(batch).reshape(len(spans.start_I), len(self.distances))

    def pair_scores(self, pair_N: AnyInts) -> Floats:
        """What translations add to the score of each class, (N, R); 0 if they are not considered."""
        size = len(self.distances)
        if self.beside is None or not len(pair_N):
            return np.zeros((len(pair_N), size))
        offsets_N1, ids = self.beside.of(np.asarray(pair_N, np.int64))
        known = (ids.astype(np.int64) + len(self.contexts))[:, None]
        weight_KR = self.weights.sparse_F[crossed_ids(known, np.arange(size)[None], len(self.weights.sparse_F))]
        return np.add.reduceat(weight_KR.astype(np.float64), offsets_N1[:-1], axis=0)

    def log_probabilities(self, score_NR: Floats) -> Floats:
        """ln p of the classes, (N, R)."""
        offsets = np.arange(len(score_NR) + 1) * len(self.distances)
        return log_probabilities(score_NR.reshape(-1), offsets, alone=self.alone).reshape(score_NR.shape)


def log_probabilities(score_C: Floats, offsets_I1: Ints, *, alone: bool) -> Floats:
    """ln p of the C candidates of I instances: of each on its own, or of all of an instance together; (C,)."""
    if alone:
        return -np.logaddexp(0.0, -score_C)
    if not len(score_C):
        return score_C
    # The softmax of the scores of each instance, none of which is empty.
    sizes = np.diff(offsets_I1)
    top_C = np.repeat(np.maximum.reduceat(score_C, offsets_I1[:-1]), sizes)
    total_I = np.add.reduceat(np.exp(score_C - top_C), offsets_I1[:-1])
    return np.asarray(score_C - top_C - np.log(np.repeat(total_I, sizes)))


def chosen_in(
    model: ContextModel, words: Sequence[str], start_P: AnyInts, end_P: AnyInts, pair_P: AnyInts
) -> tuple[CandidateBatch, Ints]:
    """The S spans of a sentence that P parts translate, and which of their C candidates each part is, (P,).

    `base_C` of the spans holds the scores of the classifier. A span of one candidate, which is certain whatever the
    weights are, is left out. Parts from which nothing can be learned are `NO_CHOICE`.

    Args:
        model: the classifier.
        words: the sentence.
        start_P, end_P: source spans, half-open.
        pair_P: pairs by their numbers in the classifier's table; below 0 for copied words.
    """
    spans, batch, number_C = model.instances(words)
    offsets_S1, share_C = batch.candidate_offsets_I1, batch.dense_CD[:, 0].astype(np.float64)
    found = Predicted(spans, offsets_S1, number_C, share_C, share_C)
    place_P = model.places_of_pairs(found, SentencePhrases(words, start_P, end_P, pair_P))
    span_C = row_numbers(offsets_S1)
    used_S = np.zeros(len(spans.start_I), np.bool_)
    used_S[span_C[place_P[place_P >= 0]]] = True
    if not model.alone:
        used_S &= np.diff(offsets_S1) > 1
    used_C = used_S[span_C]
    new_C = np.where(used_C, np.cumsum(used_C) - 1, NO_CHOICE)
    choice_P = np.where(place_P >= 0, np.append(new_C, NO_CHOICE)[place_P], NO_CHOICE)
    kept = batch.select(np.flatnonzero(used_S))
    return replace(kept, base_C=model.scores(kept).astype(np.float32), dense_CD=kept.dense_CD[:, :0]), choice_P
