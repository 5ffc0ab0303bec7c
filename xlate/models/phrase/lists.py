"""The n-best list of a sentence as arrays: paths, features, words, and the parts that sparse features come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of, places_of
from xlate.features.phrase_sparse import STEP, Steps
from xlate.kernels.lm import PhrasesAlone
from xlate.kernels.search.best_paths import Paths
from xlate.kernels.search.phrase_paths import (
    Oriented,
    PathOptions,
    history_features,
    number_parts,
    orient_paths,
    path_features,
    path_logprobs,
)
from xlate.models.derivation import Step
from xlate.models.phrase.history import histories_of
from xlate.models.phrase.model import (
    DISTORTION,
    LM,
    PHRASE_PENALTY,
    TABLE,
    UNKNOWN,
    WORD_PENALTY,
    PhraseModel,
    SentencePhrases,
)
from xlate.models.phrase.moves import reordering_of
from xlate.models.phrase.options import PlacedPhrases
from xlate.models.unit_model import UNKNOWN_PENALTY, numbered_words
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText


@dataclass(frozen=True)
class PhraseList:
    """N derivations of a sentence, best first; `derivation` gives one with the features its definitions give it.

    Attributes:
        model: the one it was translated with.
        options: the phrases that they are made of.
        paths: numbers of the phrases of the N derivations.
        weights_D: of float features.
        sparse_F: weights of sparse features, None when all are 0.
        one_path: whether it was made from the steps of one derivation.
    """

    model: PhraseModel
    options: PlacedPhrases
    paths: Paths
    weights_D: Floats
    sparse_F: Floats | None
    one_path: bool = False

    def __len__(self) -> int:
        """The number of derivations N."""
        return len(self.paths.offsets_N1) - 1

    @property
    def floats_ND(self) -> Floats:
        """Float features in the order of `PhraseModel.features`, sums of sparse ones left at 0; shape (N, D)."""
        floats_ND, lm = path_features(self.paths, self._options, self.oriented, False), self.model.lm
        paths = self.paths.offsets_N1, self.paths.labels_L
        floats_ND[:, LM] = path_logprobs(lm.arrays, int(lm.begin_state), END_ID, *paths, self.options.phrases)
        if len(self.paths.labels_L):
            floats_ND[:, self.model.step_slots] = self._summed(self.step_floats)
            if self.model.histories:
                floats_ND[:, self.model.history_slots] = self.histories_NK[0]
        return np.asarray(floats_ND)

    @property
    def step_floats(self) -> Floats:
        """What each of the L steps scores in its sentence, and at its place there."""
        options, labels_L, placed = self.options, self.paths.labels_L, self.model.placed
        if placed is None:
            return options.more_OE[labels_L]
        length_L = (options.end_O - options.start_O)[labels_L]
        before_L, lengths_N = np.cumsum(length_L) - length_L, np.diff(self.paths.offsets_N1)
        first_N = self.paths.offsets_N1[:-1][lengths_N > 0]
        covered_L = before_L - np.repeat(before_L[first_N], lengths_N[lengths_N > 0])
        shift_L = np.clip(covered_L - options.start_O[labels_L], -placed.reach, placed.reach) + placed.reach
        return np.column_stack([options.more_OE[labels_L], options.place_OR[labels_L, shift_L]])

    @cached_property
    def histories_NK(self) -> tuple[Floats, Floats, Floats]:
        """Their sums over each derivation, over its last phrase, and over its end, (N, K) each."""
        model = self.model
        held = histories_of(model.histories, self.weights_D[model.history_slots], model, self.options)
        sums_NK, last_NK, end_NK = history_features(self.paths, self._options, held)
        return sums_NK, last_NK, end_NK

    def _summed(self, rows_L: Floats) -> Floats:
        # The two ways round differently.
        if self.one_path:
            return np.asarray(rows_L.sum(axis=0, keepdims=True))
        return np.asarray(np.add.reduceat(rows_L, self.paths.offsets_N1[:-1], axis=0))

    @cached_property
    def features_ND(self) -> Floats:
        """Float features in the order of `PhraseModel.features`, shape (N, D)."""
        model, features_ND = self.model, self.floats_ND
        if model.sparse is not None and self.sparse_F is not None and len(self.paths.labels_L):
            part_L, steps = self.parts
            features_ND[:, model.sums] = self._summed(model.sparse.sums(self.sparse_F, steps)[part_L])
        return features_ND

    @cached_property
    def parts(self) -> tuple[Ints32, Steps]:
        """The phrases of all derivations together, as far as the model's features tell them apart; see `told_apart`."""
        sparse = self.model.sparse
        return self.told_apart(sparse is not None and sparse.has_groups, sparse is not None and sparse.has_bigrams)

    @property
    def words(self) -> EncodedText:
        """The target words of each derivation as `Numbering` numbers them."""
        options, (offsets_N1, labels_L) = self.options, self.paths
        units = options.words, options.pair_O[labels_L], options.start_O[labels_L]
        words = numbered_words(self.model.table, self.model.target_vocabulary, *units)
        return EncodedText(words.ids_T, words.offsets_S1[offsets_N1])

    def told_apart(self, groups: bool, last_words: bool) -> tuple[Ints32, Steps]:
        """Which of P different phrases each of L steps is, and what the sparse features of those consider.

        They are distinguished by the group before them, or by the word before, if requested.
        """
        options, oriented = self.options, self.oriented
        part_L, first_P = number_parts(self.paths, oriented, self.model.orientations, groups, last_words)
        option_P, source_n = self.paths.labels_L[first_P], options.source_n
        start_P, end_P = options.start_O[option_P], options.end_O[option_P]
        begin_P, stop_P = oriented.group_begin_L[first_P], oriented.group_end_L[first_P]
        # The source words between phrases and the groups before them.
        right = start_P > stop_P
        low_P = np.where(right, stop_P, end_P).astype(np.int64)
        high_P = np.maximum(np.where(right, start_P, np.maximum(begin_P, end_P)).astype(np.int64), low_P)
        between = np.stack([low_P, high_P], axis=1).reshape(-1)
        none_P = begin_P < 0
        own = options.pair_O[option_P], source_n[start_P], source_n[end_P - 1], options.first_O[option_P]
        lengths = end_P - start_P, np.diff(options.phrases.offsets_O1)[option_P]
        top_P = (np.where(none_P, BEGIN_ID, source_n[np.maximum(place_P, 0)]) for place_P in (begin_P, stop_P - 1))
        before = oriented.backward_L[first_P], *top_P, oriented.group_first_L[first_P], oriented.last_L[first_P]
        steps: dict[str, AnyInts] = dict(
            zip(STEP, (*own, options.last_O[option_P], *lengths, *before, start_P), strict=True)
        )
        steps["between_offsets"] = offsets_of(high_P - low_P)
        steps["between"] = source_n[places_of(between, np.arange(len(low_P)) * 2)]
        return part_L, steps

    @property
    def target_rows(self) -> tuple[Ints32, PhrasesAlone]:
        return self.paths.labels_L, self.options.phrases

    def last_floats(self, ends_N: Bools) -> Floats:
        floats_ND = path_features(self.paths, self._options, self.oriented, True)
        kept = np.flatnonzero(np.diff(self.paths.offsets_N1))
        floats_ND[kept, self.model.step_slots] = self.step_floats[self.paths.offsets_N1[kept + 1] - 1]
        floats_ND[ends_N] = 0.0
        if self.model.histories:
            _, last_NK, end_NK = self.histories_NK
            floats_ND[:, self.model.history_slots] = np.where(ends_N[:, None], end_NK, last_NK)
        return floats_ND

    def sparse_ids(self, step_K: AnyInts) -> tuple[Ints, Ints32]:
        assert self.model.sparse is not None
        part_L, steps = self.parts
        offsets_P1, ids = self.model.sparse.ids(steps)
        places, offsets_K1 = gathered(offsets_P1, part_L[step_K])
        return offsets_K1, ids[places]

    @cached_property
    def oriented(self) -> Oriented:
        """Orientations and groups of each of the L steps."""
        return orient_paths(self.paths, self._options)

    @cached_property
    def _options(self) -> PathOptions:
        options, model = self.options, self.model
        known_O = options.pair_O >= 0
        scores, reordering = (
            _of_known(known_O, logs(options.pair_O[known_O])) for logs in (model.log_scores, model.log_reordering)
        )
        return PathOptions(
            len(options.words),
            options.start_O,
            options.end_O,
            options.pair_O,
            scores,
            reordering,
            options.first_O,
            options.last_O,
            options.phrases,
            model.size,
            model.orientations,
            model.backward.start,
            model.forward.start,
            DISTORTION,
            WORD_PENALTY,
            PHRASE_PENALTY,
            TABLE.start,
            UNKNOWN,
            UNKNOWN_PENALTY,
            reordering_of(model),
            BEGIN_ID,
        )


def _of_known(known_O: Bools, values: Floats) -> Floats:
    """The given values at the places of known options, and zeros at all others; a table may know none."""
    values_O = np.zeros((len(known_O), *values.shape[1:]))
    values_O[known_O] = values
    return values_O


def list_of_steps(
    model: PhraseModel, weights_D: Floats, source: Sequence[str], steps: Sequence[Step], sparse_F: Floats | None = None
) -> PhraseList:
    """The list of one derivation that has the given steps."""
    spans_S2 = np.array([step.source_span for step in steps], np.int32).reshape(-1, 2)
    start_S, end_S = np.ascontiguousarray(spans_S2.T)
    pair_S = np.array([step.unit for step in steps], np.int64)
    words_W = model.lm.vocabulary.ids([word for step in steps for word in step.target_words])
    # This state never equals the one without a history, so the language model is queried word by word.
    alone = np.full(len(words_W), -1, np.int32), np.zeros(len(words_W))
    first_S, last_S = (model.target_vocabulary.ids([step.target_words[i] for step in steps]) for i in (0, -1))
    placed = SentencePhrases(source, start_S, end_S, pair_S)
    phrases = PlacedPhrases(
        tuple(source),
        model.source_vocabulary.ids(source),
        pair_S,
        start_S,
        end_S,
        first_S,
        last_S,
        PhrasesAlone(offsets_of([len(step.target_words) for step in steps]), words_W, *alone),
        model.sentence_floats(placed),
        model.place_logs(placed),
    )
    paths = Paths(np.array([0, len(steps)], np.int64), np.arange(len(steps), dtype=np.int32))
    return PhraseList(model, phrases, paths, weights_D, sparse_F, one_path=True)
