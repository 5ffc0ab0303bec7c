"""A classifier that says how far the translation of a source phrase stands from its place (Kolachina et al. 2010).

Section 3.1.2: with or without the translation that is to be placed. What it says of a phrase is a score of the place
where a decoder puts it (`models/phrase/model.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints
from xlate.arrays.ragged import places_of_keys
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.context_instances import Places
from xlate.features.context import Distances, Spans
from xlate.kernels.learning.candidates import crossed_ids
from xlate.models.context.model import Classifier, log_probabilities
from xlate.models.context.predicted import OtherTable, rows_of
from xlate.models.phrase.model import SentencePhrases
from xlate.phrases.table import DIRECT_PHRASE
from xlate.text.factors import told_apart
from xlate.text.vocabulary import Vocabulary

NAME = "Displacement0"


@dataclass(frozen=True, kw_only=True)
class DistanceModel(Classifier):
    """Predicts distances.

    Attributes:
        choices: the classes, and ln p of each without a context.
        target_vocabulary: the words of translations.
    """

    what: ClassVar[str] = "distance"
    without: ClassVar[str] = "p(r|f)"
    choices: Places
    target_vocabulary: Vocabulary

    def named(self, number: int, vocabulary: Vocabulary) -> str:
        """The words of a class."""
        del vocabulary
        return next(self.distances.names(np.array([number])))

    @property
    def distances(self) -> Distances:
        """The R classes."""
        return self.choices.distances

    def instances(self, words: Sequence[str], pair_P: Ints | None = None) -> tuple[Spans, CandidateBatch, Ints]:
        """All known phrases of a sentence, each with its most frequent translation, and the classes of candidates."""
        return super().instances(words, self._frequent_P if pair_P is None else pair_P)

    @cached_property
    def _frequent_P(self) -> Ints:
        """The pair of highest p(e|f) of each source phrase of the table."""
        table = self.targets.table
        order = np.lexsort((-table.scores_B4[:, DIRECT_PHRASE], table.source_B))
        sources = np.arange(len(table.source_phrases))
        return np.asarray(order[np.searchsorted(table.source_B[order], sources)], dtype=np.int64)

    def context_names(self, ids_X: AnyInts, members: int = 0) -> list[str]:
        """The names of features of contexts, and of translations: `to pair=a house`, `to word=house`."""
        behind_X = np.asarray(ids_X, np.int64) - len(self.contexts)
        names = super().context_names(ids_X[behind_X < 0], members)
        # Those of translations stand behind those of the context, in each instance.
        return [*names, *(f"to {name}" for name in self.targets.names(behind_X[behind_X >= 0], self.target_vocabulary))]

    def span_scores(self, words: Sequence[str]) -> tuple[Spans, Floats]:
        """All I known phrases of a sentence, and the score of each class, whatever the translation; (I, R)."""
        spans, batch, _ = super().instances(words)
        return spans, self.scores(batch).reshape(len(spans), len(self.distances))

    def pair_scores(self, pair_N: AnyInts) -> Floats:
        """What translations add to the score of each class, (N, R); 0 where they are not looked at."""
        size = len(self.distances)
        if self.beside is None or not len(pair_N):
            return np.zeros((len(pair_N), size))
        offsets_N1, ids = self.beside.of(np.asarray(pair_N, np.int64))
        known = (ids.astype(np.int64) + len(self.contexts))[:, None]
        weight_KR = self.weights.sparse_F[crossed_ids(known, np.arange(size)[None], len(self.weights.sparse_F))]
        return np.asarray(np.add.reduceat(weight_KR.astype(np.float64), offsets_N1[:-1], axis=0))

    def log_probabilities(self, score_NR: Floats) -> Floats:
        """ln p of the classes, (N, R)."""
        offsets = np.arange(len(score_NR) + 1) * len(self.distances)
        return log_probabilities(score_NR.reshape(-1), offsets, alone=self.alone).reshape(score_NR.shape)


@dataclass(frozen=True)
class PredictedPlaces:
    """ln p of the places of each phrase in its sentence, as the phrase model asks for it.

    Phrases that the classifier knows nothing of, since they are too long or copied, have 0 everywhere. `own` is as in
    `PredictedScores`.
    """

    model: DistanceModel
    own: OtherTable | None = None
    _known: dict[tuple[object, ...], tuple[Spans, Floats]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def name(self) -> str:
        """What the float is called."""
        return NAME

    @property
    def reach(self) -> int:
        """So many words to either side are told apart."""
        return self.model.distances.reach

    def of(self, phrases: SentencePhrases) -> Floats:
        """ln p of each distance of each phrase, (O, 2 · reach + 1); see `SentencePlaces`."""
        words, start_O, end_O, pair_O = phrases
        key = told_apart(words)
        if key not in self._known:
            found = self.model.span_scores(words)
            self._known.clear()
            self._known[key] = found
        spans, score_IR = self._known[key]
        wide = len(words) + 1
        order = np.argsort(spans.start_I * wide + spans.end_I)
        at_O = places_of_keys(
            (spans.start_I * wide + spans.end_I)[order], np.asarray(start_O, np.int64) * wide + np.asarray(end_O)
        )
        known = np.flatnonzero((at_O >= 0) & (np.asarray(pair_O) >= 0))
        logs_OR = np.zeros((len(pair_O), 2 * self.reach + 1))
        if len(known):
            pair_U, of_K = np.unique(rows_of(self.own, pair_O)[known], return_inverse=True)
            score_KR = score_IR[order[at_O[known]]] + self.model.pair_scores(pair_U)[of_K]
            logs_OR[known] = self.model.log_probabilities(score_KR)[:, :-1]
        return logs_OR
