"""The phrase-based model as the decoder sees it, with Moses's features, and its binary form, mapped when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from xlate.array_types import AnyArray, AnyInts, Floats
from xlate.arrays.ranges import check_hash_table, check_lengths, check_within
from xlate.arrays.stored import (
    HEADER,
    StoredArrays,
    begin_folder,
    check_seals,
    open_arrays,
    save_arrays,
    seal_of,
    unusable,
)
from xlate.errors import InputError, refuse_if
from xlate.features.index import slots_of
from xlate.features.phrase_sparse import SparseFeatures
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.memory import EMPTY, HashTable
from xlate.kernels.search.spans import find_rows
from xlate.lm.model import KIND as LM_KIND
from xlate.lm.model import NgramModel
from xlate.models.phrase.history import HistoryFeature
from xlate.models.unit_model import UnitModel, floored_log
from xlate.phrases.table import PhraseTable, phrase_finder
from xlate.text.vocabulary import Vocabulary


class SentencePhrases(NamedTuple):
    """O phrases of a sentence.

    Attributes:
        words: the sentence.
        start_O, end_O: the source spans, half-open.
        pair_O: the phrase pairs, `COPIED` for copied words.
    """

    words: Sequence[str]
    start_O: AnyInts
    end_O: AnyInts
    pair_O: AnyInts


class SentenceScores(Protocol):
    """Gives phrases of a sentence E more floats."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the floats."""

    def of(self, phrases: SentencePhrases) -> Floats:
        """The floats of phrases, shape (O, E), natural logs; -inf where one is no option there, 0 for copied words."""

    def anywhere(self, pair_N: AnyInts) -> Floats:
        """The floats of pairs that are the same everywhere, NaN for the others; (N, E)."""


class SentencePlaces(Protocol):
    """Scores the place where a decoder puts a phrase: one more float, which depends on what is already translated.

    A phrase that begins at source word j, placed when c source words are translated, is at c - j: above 0 if that is
    later than in the order of the source, below 0 if earlier. Distances beyond `reach` count as `reach`.
    """

    @property
    def name(self) -> str:
        """The name of the float."""

    @property
    def reach(self) -> int:
        """How many words to either side are distinguished."""

    def of(self, phrases: SentencePhrases) -> Floats:
        """The float of phrases at each distance from -reach to +reach, shape (O, 2 · reach + 1), natural logs."""


def shift_of(reach: int, covered: int, start: int) -> int:
    """The column of `SentencePlaces.of` for a phrase placed when `covered` source words are translated.

    >>> [shift_of(2, covered, 3) for covered in (0, 2, 3, 9)]
    [0, 1, 2, 4]
    """
    return min(max(covered - start, -reach), reach) + reach


# Features in the order of Moses's n-best lists, with the number of values of each; a model may add more after them.
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

    It holds no weights. Features are those of Moses, then the ten of the five-way reordering model (the six of
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
            held = self.reordering.probability_BK2.shape
            raise InputError("reordering probabilities do not fit the phrase table", held, str(shape))
        if self.sparse is not None and self.sparse.has_orientations:
            refuse_if(
                self.reordering is not None and self.reordering.kind == "wbe" and self.sparse.has_groups,
                "sparse features of the group before a phrase need the hierarchical model",
                "a word-based reordering model",
                "model.reordering=hier, hier5 or none",
            )
            seen = f"sparse features of {self.sparse.orientations} orientations"
            refuse_if(
                self.sparse.orientations != self.orientations,
                "sparse features do not match the reordering model",
                seen,
                f"{self.orientations}",
            )

    @property
    def orientations(self) -> int:
        """The number of orientations K."""
        return 3 if self.reordering is None else self.reordering.orientations

    @property
    def hierarchical(self) -> bool:
        """Whether orientation comes from the shift-reduce stack."""
        sparse = self.sparse is not None and (self.sparse.has_orientations or self.sparse.has_groups)
        return sparse if self.reordering is None else self.reordering.kind != "wbe"

    @cached_property
    def features(self) -> dict[str, int]:
        """The D float features by name, with the number of values of each."""
        k = self.orientations
        five = {FIVE_WAY: 2 * k} if k > 3 else {}
        more = dict.fromkeys(self.sentence_names, 1)
        place = {} if self.placed is None else {self.placed.name: 1}
        histories = {feature.name: 1 for feature in self.histories}
        sums = {SPARSE_REORDERING: k, SPARSE_PLAIN: 1} if self.sparse is not None else {}
        return {**PHRASE_FEATURES, **five, **more, **place, **histories, **sums}

    @property
    def backward(self) -> slice:
        """The slice of the logs of orientation with respect to the phrase before."""
        start = self.slots[FIVE_WAY].start if self.orientations > 3 else 0
        return slice(start, start + self.orientations)

    @property
    def forward(self) -> slice:
        """The slice of the logs of orientation with respect to the phrase after."""
        return slice(self.backward.stop, self.backward.stop + self.orientations)

    @property
    def sentence_names(self) -> tuple[str, ...]:
        """The names of the floats of phrases in their sentence."""
        return () if self.in_sentence is None else self.in_sentence.names

    @property
    def step_slots(self) -> slice:
        """The slice of the floats of phrases in their sentence and, after them, that of their places."""
        return slice(self.sentence_slots.start, self.place_slots.stop)

    @property
    def sentence_slots(self) -> slice:
        """The slice of the floats of phrases in their sentence."""
        end = self.place_slots.start
        return slice(end - len(self.sentence_names), end)

    @property
    def place_slots(self) -> slice:
        """The slice of the float of places, if there is one."""
        end = self.history_slots.start
        return slice(end - (self.placed is not None), end)

    @property
    def history_slots(self) -> slice:
        """The slice of the floats with history."""
        return slice(self.sums.start - len(self.histories), self.sums.start)

    def place_logs(self, phrases: SentencePhrases) -> Floats:
        """What O phrases of a sentence score at each place, shape (O, R); see `SentencePlaces`. Without it (O, 0)."""
        return np.zeros((len(phrases.pair_O), 0)) if self.placed is None else self.placed.of(phrases)

    def sentence_floats(self, phrases: SentencePhrases) -> Floats:
        """The floats that O phrases of a sentence have there, shape (O, E); see `SentenceScores`."""
        return np.zeros((len(phrases.pair_O), 0)) if self.in_sentence is None else self.in_sentence.of(phrases)

    def log_reordering(self, pair_N: AnyInts) -> Floats:
        """Natural logs of the reordering probabilities of pairs, 0 without any, because Moses adds nothing there.

        Shape (N, 2K).
        """
        if self.reordering is None:
            return np.zeros((len(pair_N), 2 * self.orientations))
        logs_N2 = floored_log(self.reordering.probability_BK2[pair_N])
        logs_N2[np.isnan(logs_N2)] = 0.0
        return logs_N2

    def static_scores(self, weights_D: Floats, pair_N: AnyInts) -> Floats:
        """The weighted sum of what pairs score in any context: table and penalties; shape (N,)."""
        target_N, offsets_S1 = self.table.target_B[pair_N], self.table.target_phrases.offsets_S1
        lengths_N = offsets_S1[target_N + 1] - offsets_S1[target_N]
        static_N = weights_D[PHRASE_PENALTY] - weights_D[WORD_PENALTY] * lengths_N
        # Not a matrix product, whose last bits depend on which pairs are computed together.
        for weight, logs_N in zip(weights_D[TABLE], self.log_scores(pair_N).T, strict=True):
            static_N += weight * logs_N
        return np.asarray(static_N, np.float64)

    def pair_number(self, source: Sequence[str], target: Sequence[str]) -> int | None:
        """The number of the pair of two phrases, None when the table lacks it."""
        sides = (
            (self.table.source_finder, self.source_vocabulary.ids(source)),
            (self._target_finder, self.target_vocabulary.ids(target)),
        )
        p, q = (int(find_rows(finder, ids, np.array([0, len(ids)]))[0]) for finder, ids in sides)
        if p < 0 or q < 0:
            return None
        first, size = (int(number[0]) for number in self.table.pairs_of(np.array([p])))
        pair = first + int(np.searchsorted(self.table.target_B[first : first + size], q))
        return pair if pair < first + size and self.table.target_B[pair] == q else None

    @cached_property
    def _target_finder(self) -> PhraseFinder:
        return phrase_finder(self.table.target_phrases)


KIND = "phrase model"
VOCABULARIES = ("vocabulary.source", "vocabulary.target")
FINDER = {"finder.keys_H": ("<u8", 1), "finder.rows_H": ("<i4", 1), "finder.row_N": ("<i4", 1)}
REORDERING = "reordering"


def save_phrase_model(folder: str | Path, model: PhraseModel) -> None:
    """Writes a model into a folder: the finder of its source phrases and its reordering, table and LM below."""
    folder = begin_folder(folder)
    model.table.save(folder / "table")
    for name, vocabulary in zip(VOCABULARIES, (model.source_vocabulary, model.target_vocabulary), strict=True):
        vocabulary.save(folder / name)
    model.lm.save(folder / "lm")
    finder, reordering = model.table.source_finder, model.reordering
    arrays: dict[str, AnyArray] = dict(
        zip(FINDER, (finder.table.keys_H, finder.table.rows_H, finder.row_N), strict=True)
    )
    if reordering is not None:
        arrays[REORDERING] = reordering.probability_BK2
    described = {
        "source_phrases": len(model.table.source_phrases),
        "reordering": None if reordering is None else reordering.kind,
        "table": seal_of(folder / "table", PhraseTable.KIND),
        "lm": seal_of(folder / "lm", LM_KIND),
    }
    save_arrays(folder, KIND, arrays, described, VOCABULARIES)


def load_phrase_model(folder: str | Path) -> PhraseModel:
    """Reads what `save_phrase_model` wrote; arrays stay on disk until they are used, and processes share them.

    Raises:
        InputError: a file is missing, damaged or of another kind, or ids are outside of their ranges.
    """
    stored = open_arrays(folder, KIND, {**FINDER, REORDERING: ("<f8", 2)}, _check, optional=[REORDERING])
    check_seals(stored, table=PhraseTable.KIND, lm=LM_KIND)
    source, target = (Vocabulary.load(stored.folder / name) for name in VOCABULARIES)
    table = PhraseTable.load(stored.folder / "table", (len(source), len(target)))
    if stored.number("source_phrases") != len(table.source_phrases):
        path, seen = stored.folder / HEADER, f"{stored.number('source_phrases')} source phrases"
        raise unusable(path, "not a full phrase model", seen, f"{len(table.source_phrases)}, as in the table")
    reordering, kind = None, stored.metadata["reordering"]
    if kind is not None:
        check_lengths(stored, reordering=(len(table), 2 * REORDERINGS[kind]))
        reordering = Reordering(kind, stored[REORDERING])
    keys_H, rows_H, row_N = (stored[name] for name in FINDER)
    # It would otherwise be made on first use.
    table.__dict__["source_finder"] = PhraseFinder(HashTable(keys_H, rows_H), row_N)
    return PhraseModel(table, source, target, NgramModel.load(stored.folder / "lm"), reordering)


def _check(stored: StoredArrays) -> None:
    """Checks that the finder leads to existing phrases, and that a reordering model has its array."""
    kind = stored.metadata.get("reordering")
    if kind not in (None, *REORDERINGS) or (kind is None) == (REORDERING in stored.arrays):
        raise unusable(stored.folder / HEADER, "not a full phrase model", f"reordering {kind}", "a kind and its array")
    check_hash_table(stored, "finder.keys_H", "finder.rows_H", len(stored["finder.row_N"]), int(EMPTY))
    check_within(stored, "finder.row_N", -1, stored.number("source_phrases"))
