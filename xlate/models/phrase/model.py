"""The phrase-based model as the decoder sees it: phrase pairs, reordering, language model, and Moses's features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints32
from xlate.errors import InputError
from xlate.features.phrase_sparse import SparseFeatures
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.search.spans import span_rows
from xlate.models.phrase.history import HistoryFeature
from xlate.models.phrase.sentence_scores import SentencePhrases, SentencePlaces, SentenceScores
from xlate.models.unit_model import UnitModel, floored_log, slots_of
from xlate.phrases.matching import phrase_finder
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText

# Features in the order of Moses's n-best lists, and how many numbers each has; a model may have more behind them.
PHRASE_FEATURES = {
    "LexicalReordering0": 6,
    "Distortion0": 1,
    "LM0": 1,
    "WordPenalty0": 1,
    "PhrasePenalty0": 1,
    "TranslationModel0": 4,
    "UnknownWordPenalty0": 1,
}
SLOTS = slots_of(PHRASE_FEATURES)
SIZE = sum(PHRASE_FEATURES.values())
BACKWARD, FORWARD = slice(0, 3), slice(3, 6)
DISTORTION, LM, WORD_PENALTY, PHRASE_PENALTY = (
    SLOTS[name].start for name in ("Distortion0", "LM0", "WordPenalty0", "PhrasePenalty0")
)
TABLE, UNKNOWN = SLOTS["TranslationModel0"], SLOTS["UnknownWordPenalty0"].start
REORDERINGS = {"wbe": 3, "hier": 3, "hier5": 5}
FIVE_WAY, SPARSE_REORDERING, SPARSE_PLAIN = "FiveWayReordering0", "SparseReordering0", "SparsePhrase0"


@dataclass(frozen=True)
class Reordering:
    """Lexicalised reordering, K orientations, bidirectional, conditioned on both phrases.

    Attributes:
        kind: `wbe` (word-based; so is `phrase` when decoding) compares with the neighbouring phrase in target order,
            `hier` with the neighbouring group of phrases; `hier5` tells where a jump goes, and whether all other
            phrases are one group (Auli, Galley & Gao 2014, section 7).
        probability_BK2: monotone, swap, discontinuous with respect to the phrase before, then the same with respect to
            the phrase after; NaN for pairs without. With five orientations: monotone, swap, discontinuous with what is
            before on the left, on the right, monotone with everything before in one group.
    """

    kind: str
    probability_BK2: Floats

    @property
    def orientations(self) -> int:
        """The number of orientations K."""
        return REORDERINGS[self.kind]


@dataclass(frozen=True)
class PhraseModel(UnitModel[PhraseTable]):
    """Phrase pairs with scores, a language model and, when given, lexicalised reordering and sparse features.

    There are no weights in it. Features are those of Moses, then the ten of the five-way reordering model (the six of
    Moses's are 0 then), those of phrases in their sentence, that of their places there, those with history, then the
    sums of sparse features by orientation and of the plain ones.

    Raises:
        InputError: reordering probabilities of another number of pairs; sparse features that do not fit the reordering.
    """

    reordering: Reordering | None = None
    sparse: SparseFeatures | None = None
    in_sentence: SentenceScores | None = None
    placed: SentencePlaces | None = None
    histories: tuple[HistoryFeature, ...] = ()

    def __post_init__(self) -> None:
        """Checks that the parts fit each other."""
        shape = (len(self.table), 2 * self.orientations)
        if self.reordering is not None and self.reordering.probability_BK2.shape != shape:
            raise InputError(
                "reordering probabilities do not fit the phrase table",
                seen=self.reordering.probability_BK2.shape,
                expected=str(shape),
            )
        if self.sparse is not None and self.sparse.has_orientations:
            if self.reordering is not None and self.reordering.kind == "wbe" and self.sparse.has_groups:
                raise InputError(
                    "sparse features of the group before a phrase need the hierarchical model",
                    seen="a word-based reordering model",
                    expected="model.reordering=hier, hier5 or none",
                )
            if self.sparse.orientations != self.orientations:
                seen = f"sparse features of {self.sparse.orientations} orientations"
                raise InputError("sparse features do not fit", seen=seen, expected=f"{self.orientations}")

    @property
    def sparse_features(self) -> SparseFeatures | None:
        """Those of phrases."""
        return self.sparse

    @property
    def source_sides(self) -> EncodedText:
        """The source phrases."""
        return self.table.source_phrases

    @property
    def orientations(self) -> int:
        """The number of orientations K."""
        return 3 if self.reordering is None else self.reordering.orientations

    @property
    def hierarchical(self) -> bool:
        """Whether orientation is that of the shift-reduce stack."""
        sparse = self.sparse is not None and (self.sparse.has_orientations or self.sparse.has_groups)
        return sparse if self.reordering is None else self.reordering.kind != "wbe"

    @cached_property
    def features(self) -> dict[str, int]:
        """The D float features by name, and how many numbers each has."""
        k = self.orientations
        five = {FIVE_WAY: 2 * k} if k > 3 else {}
        more = dict.fromkeys(() if self.in_sentence is None else self.in_sentence.names, 1)
        place = {} if self.placed is None else {self.placed.name: 1}
        histories = {feature.name: 1 for feature in self.histories}
        sums = {SPARSE_REORDERING: k, SPARSE_PLAIN: 1} if self.sparse is not None else {}
        return {**PHRASE_FEATURES, **five, **more, **place, **histories, **sums}

    @property
    def backward(self) -> slice:
        """Where the logs of orientation with respect to the phrase before stand."""
        start = self.slots[FIVE_WAY].start if self.orientations > 3 else BACKWARD.start
        return slice(start, start + self.orientations)

    @property
    def forward(self) -> slice:
        """Where the logs of orientation with respect to the phrase after stand."""
        return slice(self.backward.stop, self.backward.stop + self.orientations)

    @property
    def step_slots(self) -> slice:
        """Where the floats of phrases in their sentence stand, and that of their places behind them."""
        end = self.history_slots.start
        size = (0 if self.in_sentence is None else len(self.in_sentence.names)) + (self.placed is not None)
        return slice(end - size, end)

    @property
    def sentence_slots(self) -> slice:
        """Where the floats of phrases in their sentence stand."""
        return slice(self.step_slots.start, self.step_slots.stop - (self.placed is not None))

    @property
    def place_slots(self) -> slice:
        """Where the float of places stands, if there is one."""
        return slice(self.sentence_slots.stop, self.step_slots.stop)

    @property
    def history_slots(self) -> slice:
        """Where the floats with history stand."""
        return slice(self.sums.start - len(self.histories), self.sums.start)

    def place_logs(self, phrases: SentencePhrases) -> Floats:
        """What O phrases of a sentence score at each place, shape (O, R); see `SentencePlaces`. Without it (O, 0)."""
        return np.zeros((len(phrases.pair_O), 0)) if self.placed is None else self.placed.of(phrases)

    def sentence_floats(self, phrases: SentencePhrases) -> Floats:
        """The floats that O phrases of a sentence have there, shape (O, E); see `SentenceScores`."""
        return np.zeros((len(phrases.pair_O), 0)) if self.in_sentence is None else self.in_sentence.of(phrases)

    def log_reordering(self, pair_N: AnyInts) -> Floats:
        """Natural logs of the reordering probabilities of pairs, 0 where there are none, as Moses adds nothing there.

        Shape (N, 2K).
        """
        if self.reordering is None:
            return np.zeros((len(pair_N), 2 * self.orientations))
        logs_N2 = floored_log(self.reordering.probability_BK2[pair_N])
        logs_N2[np.isnan(logs_N2)] = 0.0
        return logs_N2

    def static_scores(self, weights_D: Floats, pair_N: AnyInts) -> Floats:
        """The weighted sum of what pairs score wherever they stand: table and penalties; shape (N,)."""
        target_N, offsets_S1 = self.table.target_B[pair_N], self.table.target_phrases.offsets_S1
        lengths_N = offsets_S1[target_N + 1] - offsets_S1[target_N]
        static_N = weights_D[PHRASE_PENALTY] - weights_D[WORD_PENALTY] * lengths_N
        # Not a matrix product, whose last bits depend on which pairs are looked at together.
        for weight, logs_N in zip(weights_D[TABLE], self.log_scores(pair_N).T, strict=True):
            static_N += weight * logs_N
        return np.asarray(static_N, dtype=np.float64)

    def pair_number(self, source: Sequence[str], target: Sequence[str]) -> int | None:
        """The number of the pair of two phrases, None when the table lacks it."""
        p = _row(self.source_finder, self.source_vocabulary.ids(source))
        q = _row(self._target_finder, self.target_vocabulary.ids(target))
        if p < 0 or q < 0:
            return None
        first, last = self.unit_offsets_P1[p : p + 2].tolist()
        pair = first + int(np.searchsorted(self.table.target_B[first:last], q))
        return pair if pair < last and self.table.target_B[pair] == q else None

    @cached_property
    def _target_finder(self) -> PhraseFinder:
        return phrase_finder(self.table.target_phrases)


def _row(finder: PhraseFinder, ids: Ints32) -> int:
    """The row of a phrase, -1 when there is none."""
    return int(span_rows(finder, ids, len(ids))[len(ids) - 1]) if len(ids) else -1
