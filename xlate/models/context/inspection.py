"""How good predictions in context are, and what in a context favours a translation or a distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from xlate.array_types import AnyFloats, AnyInts, Bools, Floats, Ints, Ints32
from xlate.features.context import Bags
from xlate.kernels.learning.candidates import crossed_ids
from xlate.kernels.memory import best_of_each
from xlate.kernels.search.predictions import PhraseSpans
from xlate.models.context.model import Classifier
from xlate.text.vocabulary import EncodedText

BINS = 10
# Bands of source phrases by how often they were extracted from the training text: the upper bound of each.
BANDS = (9, 99, 999)


class Reliability(NamedTuple):
    """Predictions by their probability, in ten bins of equal width.

    `count_B` is the number of predictions in each bin, `said_B` the mean of their probabilities, `right_B` the share of
    them that were right; the last two are NaN for empty bins.
    """

    count_B: Ints
    said_B: Floats
    right_B: Floats

    @property
    def error(self) -> float:
        """The mean distance of probability and share over all predictions (Guo et al. 2017, Eq. 3); NaN without any."""
        if not self.count_B.sum():
            return float("nan")
        return float(np.nansum(self.count_B * np.abs(self.said_B - self.right_B)) / self.count_B.sum())


def reliability(probability_N: AnyFloats, right_N: Bools) -> Reliability:
    """The bins of N predictions; a probability on the border of two belongs to the upper one, 1 to the last."""
    bin_N = np.minimum((np.asarray(probability_N, np.float64) * BINS).astype(np.int64), BINS - 1)
    count_B = np.bincount(bin_N, minlength=BINS)
    with np.errstate(invalid="ignore"):
        said_B, right_B = (np.bincount(bin_N, values_N, BINS) / count_B for values_N in (probability_N, right_N))
    return Reliability(count_B, said_B, right_B)


@dataclass(frozen=True)
class Quality:
    """Predictions for I instances with C candidates, some of which are right.

    Instances are places with a choice: at least one candidate is right and at least one is not.

    Attributes:
        offsets_I1: where the candidates of each instance begin; none is empty.
        log_C: ln p of each in its context.
        share_C: ln p(e|f), which knows no context.
        right_C: whether it was extracted there.
        times_I: how often the source phrase was extracted.
    """

    offsets_I1: Ints
    log_C: Floats
    share_C: AnyFloats
    right_C: Bools
    times_I: AnyInts

    @property
    def accuracy(self) -> float:
        """The share of instances whose most probable candidate is right; NaN without any."""
        return _mean(self._right_2I[0])

    @property
    def baseline(self) -> float:
        """The same for the most frequent translation of each source phrase."""
        return _mean(self._right_2I[1])

    @property
    def every(self) -> Reliability:
        """For all candidates."""
        return reliability(np.exp(self.log_C), self.right_C)

    @property
    def best(self) -> Reliability:
        """For the most probable candidate of each instance."""
        return reliability(np.exp(self.log_C[self._best_I]), self.right_C[self._best_I])

    def by_times(self) -> Mapping[str, Mapping[str, Any]]:
        """The figures of each non-empty band of source phrases, the rarest first."""
        band_I = np.searchsorted(BANDS, self.times_I)
        lows = (1, *(most + 1 for most in BANDS))
        names = [f"{low}-{most}" for low, most in zip(lows, BANDS, strict=False)] + [f"{lows[-1]}-"]
        found = {}
        for band in np.unique(band_I).tolist():
            right_2I = self._right_2I[:, band_I == band]
            figures = right_2I.shape[1], *map(_mean, right_2I)
            found[names[band]] = dict(zip(("instances", "accuracy", "baseline_accuracy"), figures, strict=True))
        return found

    def __len__(self) -> int:
        """The number of instances I."""
        return len(self.times_I)

    @cached_property
    def _best_I(self) -> Ints:
        return best_of_each(self.log_C, self.offsets_I1)

    @cached_property
    def _right_2I(self) -> Bools:
        """Whether the most probable candidate of each instance is right, and the most frequent one, (2, I)."""
        return self.right_C[np.stack([self._best_I, best_of_each(self.share_C, self.offsets_I1)])]


def _mean(right_I: Bools) -> float:
    return float(right_I.mean()) if len(right_I) else float("nan")


# The name of p without a context among the features.
WITHOUT = "frequency"


def candidate_weights(model: Classifier, ids_X: AnyInts, candidates: Bags) -> Floats:
    """What each of X features of a context adds to the score of each of C candidates with these features, (X, C)."""
    offsets_C1, ids_N = candidates
    sparse_F = model.weights.sparse_F
    crossed_XN = crossed_ids(np.asarray(ids_X, np.int64)[:, None], ids_N.astype(np.int64)[None], len(sparse_F))
    return np.add.reduceat(sparse_F[crossed_XN].astype(np.float64), offsets_C1[:-1], axis=1)


def against_the_others(weight_XC: Floats, share_C: Floats) -> Floats:
    """The same minus their mean over the translations: whatever a softmax does not see cancels out.

    Args:
        weight_XC: what each feature adds to the score of each translation.
        share_C: how much each translation counts, 1 in all.
    """
    return weight_XC - (weight_XC @ share_C)[:, None]


@dataclass(frozen=True)
class Influences:
    """The X features of the contexts of a source phrase, and its C candidates, most frequent first.

    Attributes:
        names: of the features.
        count_X: in how many of the `places` each occurs.
        weight_XC: what each adds to the score of each candidate, for a softmax against the others.
        pair_C, share_C: the candidates as `Predicted` numbers them, and p of each without a context.
        places: where the phrase occurs in the text.
    """

    names: Sequence[str]
    count_X: Ints
    weight_XC: Floats
    pair_C: Ints
    share_C: Floats
    places: int


def influences(
    model: Classifier, phrase: int, text: EncodedText, factors: Sequence[Ints32], members: int = 0
) -> Influences:
    """The features of the contexts in which a source phrase of the table occurs in a text.

    Features that are in every place, such as the phrase itself, do not distinguish contexts and are left out. `factors`
    are those of the text's tokens; see `ContextFeatures.of`. Names of word classes show `members` of their words.
    """
    words = model.targets.table.source_phrases[phrase]
    begin_I = np.flatnonzero((sliding_window_view(text.ids_T, len(words)) == words).all(axis=1))
    sentence_I = np.searchsorted(text.offsets_S1, begin_I, side="right") - 1
    start_I = begin_I - text.offsets_S1[sentence_I]
    spans = PhraseSpans(sentence_I, start_I, start_I + len(words), np.full(len(start_I), phrase))
    spans = spans.select(begin_I + len(words) <= text.offsets_S1[sentence_I + 1])
    _, ids = model.contexts.of(text, factors, spans)
    ids_X, count_X = np.unique(ids, return_counts=True)
    differing_X = count_X < len(spans.start_I)
    ids_X, count_X = ids_X[differing_X], count_X[differing_X]
    chosen = model.choices.of(np.array([phrase]))
    share_C = np.exp(chosen.log_share_C)
    share_C = share_C / share_C.sum() if len(share_C) else share_C
    weight_XC = candidate_weights(model, ids_X, chosen.ids)
    if not model.alone:
        weight_XC = against_the_others(weight_XC, share_C)
    order = np.argsort(-share_C, kind="stable")
    names = model.context_names(ids_X, members)
    return Influences(names, count_X, weight_XC[:, order], chosen.number_C[order], share_C[order], len(spans.start_I))


@dataclass(frozen=True)
class SpanChange:
    """A source phrase in a sentence, its C candidates with and without the context, and why.

    Attributes:
        start, end: the span.
        pair_C: the candidates as `Predicted` numbers them.
        share_C: p of each without the context.
        probability_C: in the context.
        names: of the X features there; for a softmax the first is that p, by how much its weight differs from 1.
        weight_XC: what each adds to the score of each candidate, for a softmax against the others.
    """

    start: int
    end: int
    pair_C: Ints
    share_C: Floats
    probability_C: Floats
    names: Sequence[str]
    weight_XC: Floats

    @property
    def change_C(self) -> Floats:
        """How much more probable each is in the context."""
        return self.probability_C - self.share_C

    @property
    def largest(self) -> float:
        """The largest change either way."""
        return float(np.abs(self.change_C).max(initial=0.0))


def changes(model: Classifier, words: Sequence[str], members: int = 0) -> list[SpanChange]:
    """What the context changes in a sentence, the phrases with the largest changes first.

    Names of word classes show `members` of their words.
    """
    found = model.predict(words)
    _, batch, _ = model.instances(words)
    offsets_I1, contexts_X = batch.contexts
    chosen = model.choices.of(found.spans.phrase_I)
    listed = []
    for i, (start, end) in enumerate(zip(found.spans.start_I.tolist(), found.spans.end_I.tolist(), strict=True)):
        part = slice(found.offsets_I1[i], found.offsets_I1[i + 1])
        pair_C, probability_C, share_C = found.pair_C[part], np.exp(found.log_C[part]), found.share_C[part]
        ids_X = contexts_X[offsets_I1[i] : offsets_I1[i + 1]]
        offsets, ids_N = chosen.ids
        some = offsets[part.start : part.stop + 1]
        candidates = some - some[0], ids_N[some[0] : some[-1]]
        rows, names = candidate_weights(model, ids_X, candidates), model.context_names(ids_X, members)
        if not model.alone:
            forward_C = (float(model.weights.dense_D[0]) - 1.0) * share_C
            # Half way from p(e|f) to p in the context, so that the sums of columns are close to the changes of ln p.
            middle_C = 0.5 * (np.exp(share_C) / np.exp(share_C).sum() + probability_C)
            rows = against_the_others(np.vstack([forward_C, rows]), middle_C)
            names = [WITHOUT, *names]
        listed.append(SpanChange(start, end, pair_C, np.exp(share_C), probability_C, names, rows))
    return sorted(listed, key=lambda change: -change.largest)
