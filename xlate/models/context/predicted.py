"""Predictions of classifiers as floats of phrases and of their places, and to limit options (section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints
from xlate.arrays.ragged import places_in_rows, places_of_keys
from xlate.kernels.memory import best_of_rows
from xlate.kernels.search.predictions import PhraseSpans, Predicted
from xlate.models.context.model import ContextModel, DistanceModel
from xlate.models.phrase.model import SentencePhrases
from xlate.models.unit_model import LOWEST_LOG
from xlate.phrases.table import DIRECT_PHRASE, PhraseTable
from xlate.search.settings import log_share
from xlate.text.factors import told_apart

# The names of the floats.
CONTEXT_NAME, DISPLACEMENT_NAME = "Context0", "Displacement0"


Found = TypeVar("Found")
# What is remembered of a sentence.
Known = dict[tuple[object, ...], Found]


class OtherTable(NamedTuple):
    """A phrase table of a part of the text, and the row of each of its pairs in the table of the whole text."""

    table: PhraseTable
    row_B: Ints


def rows_of(own: OtherTable | None, pair_O: AnyInts) -> Ints:
    """The rows of pairs in the table of the whole text; negative numbers are kept."""
    pairs_O = np.asarray(pair_O, np.int64)
    return pairs_O if own is None or not len(own.row_B) else np.where(pairs_O < 0, pairs_O, own.row_B[pairs_O])


@dataclass(frozen=True)
class PredictedScores:
    """The log probability of each phrase in its sentence.

    A phrase that the classifier does not cover, because it is too long or too rare, has ln p(e|f) of the table.

    Attributes:
        model: the classifier.
        only: such phrases are no options.
        threshold: predicted phrases below this probability are no options, except the best of a word.
        best: how many of the predicted phrases of a span are options, the best ones; 0 for all.
        share: how much the prediction counts against p(e|f) of the table: `share` · p + (1 - share) · p(e|f).
        own: the phrases to score, if they are those of another table than the classifier's.
    """

    names = (CONTEXT_NAME,)
    model: ContextModel
    only: bool = False
    threshold: float = 0.0
    best: int = 0
    share: float = 1.0
    own: OtherTable | None = None

    @cached_property
    def _known(self) -> Known[Predicted]:
        return {}

    def of(self, phrases: SentencePhrases) -> Floats:
        """ln p of each phrase, (O, 1)."""
        found, pair_O = self.predicted(phrases.words), phrases.pair_O
        place_O = self.model.places_of_pairs(found, phrases._replace(pair_O=rows_of(self.own, pair_O)))
        value_O, missing = np.empty(len(place_O)), np.flatnonzero(place_O < 0)
        if len(found.log_C):
            value_O = _floored(self._options(found))[place_O]
        value_O[missing] = self._of_table(np.asarray(pair_O)[missing])
        return value_O[:, None]

    def anywhere(self, pair_N: AnyInts) -> Floats:
        """ln p(e|f) of pairs that the classifier does not cover, NaN for others; (N, 1)."""
        row_N, table = rows_of(self.own, pair_N), self.model.targets.table
        phrase_N, offsets_S1 = table.source_B[np.maximum(row_N, 0)], table.source_phrases.offsets_S1
        short_N = offsets_S1[phrase_N + 1] - offsets_S1[phrase_N] <= self.model.longest
        asked_N = (row_N >= 0) & (self.model.listed_place_B[row_N] >= 0) & short_N
        return np.where(asked_N, np.nan, self._of_table(pair_N))[:, None]

    def _of_table(self, pair_N: AnyInts) -> Floats:
        """The scores of pairs that the classifier does not cover."""
        if self.only:
            return np.where(np.asarray(pair_N) < 0, 0.0, -np.inf)
        table = self.model.targets.table if self.own is None else self.own.table
        with np.errstate(divide="ignore"):
            value_N = np.maximum(np.log(table.scores_B4[np.maximum(pair_N, 0), DIRECT_PHRASE]), LOWEST_LOG)
        return np.where(np.asarray(pair_N) < 0, 0.0, value_N)

    def _options(self, found: Predicted) -> Floats:
        """The scores of the C predictions, -inf for those that are no options."""
        log_C = found.log_C
        if self.share < 1.0:
            log_C = np.logaddexp(log_C + log_share(self.share), found.share_C + log_share(1.0 - self.share))
        if self.threshold <= 0.0 and not self.best:
            return log_C
        sizes = np.diff(found.offsets_I1)
        order = best_of_rows(found.log_C, found.offsets_I1, len(found.log_C))
        rank_C = np.empty(len(order), np.int64)
        rank_C[order] = places_in_rows(found.offsets_I1)
        allowed_C = found.log_C >= log_share(self.threshold)
        if self.best:
            allowed_C &= rank_C < self.best
        # A word must have a translation, however unlikely.
        alone_C = np.repeat(found.spans.end_I - found.spans.start_I == 1, sizes)
        return np.where(allowed_C | (alone_C & (rank_C == 0)), log_C, -np.inf)

    def predicted(self, words: Sequence[str]) -> Predicted:
        """The output of the classifier for a sentence; the last one is remembered."""
        return _remembered(self._known, words, self.model.predict)


def _remembered(known: Known[Found], words: Sequence[str], made: Callable[[Sequence[str]], Found]) -> Found:
    """The result for a sentence; `known` holds that of the last one."""
    key = told_apart(words)
    if key not in known:
        found = made(words)
        known.clear()
        known[key] = found
    return known[key]


def _floored(value_N: Floats) -> Floats:
    """Logs, raised to a minimum; -inf stays."""
    return np.where(value_N > -np.inf, np.maximum(value_N, LOWEST_LOG), value_N)


@dataclass(frozen=True)
class PredictedPlaces:
    """ln p of the places of each phrase in its sentence, as the phrase model needs it.

    Phrases that the classifier does not cover, because they are too long or copied, have 0 everywhere. `own` is as in
    `PredictedScores`.
    """

    name = DISPLACEMENT_NAME
    model: DistanceModel
    own: OtherTable | None = None

    @cached_property
    def _known(self) -> Known[tuple[PhraseSpans, Floats]]:
        return {}

    @property
    def reach(self) -> int:
        """How many words to either side are distinguished."""
        return self.model.distances.reach

    def of(self, phrases: SentencePhrases) -> Floats:
        """ln p of each distance of each phrase, (O, 2 · reach + 1); see `SentencePlaces`."""
        words, start_O, end_O, pair_O = phrases
        spans, score_IR = _remembered(self._known, words, self.model.span_scores)
        wide = len(words) + 1
        span_I = spans.start_I * wide + spans.end_I
        order = np.argsort(span_I)
        at_O = places_of_keys(span_I[order], np.asarray(start_O, np.int64) * wide + np.asarray(end_O))
        known = np.flatnonzero((at_O >= 0) & (np.asarray(pair_O) >= 0))
        logs_OR = np.zeros((len(pair_O), 2 * self.reach + 1))
        if len(known):
            pair_U, of_K = np.unique(rows_of(self.own, pair_O)[known], return_inverse=True)
            score_KR = score_IR[order[at_O[known]]] + self.model.pair_scores(pair_U)[of_K]
            logs_OR[known] = self.model.log_probabilities(score_KR)[:, :-1]
        return logs_OR
