"""The n-best list of a sentence as arrays: paths, features, words, and the parts that sparse features come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of, places_of
from xlate.features.phrase_sparse import STEP, Steps
from xlate.kernels.lm.phrase_lm import PhrasesAlone
from xlate.kernels.search.lattice_passes import arc_language_costs, arc_prefixes
from xlate.kernels.search.phrase_paths import (
    Oriented,
    PathLayout,
    PathOptions,
    Paths,
    history_features,
    last_features,
    number_parts,
    orient_paths,
    path_features,
)
from xlate.models.derivation import Derivation, Step
from xlate.models.option_words import numbered_words
from xlate.models.phrase.history import histories_of
from xlate.models.phrase.model import (
    DISTORTION,
    LM,
    PHRASE_PENALTY,
    SPARSE_PLAIN,
    SPARSE_REORDERING,
    TABLE,
    UNKNOWN,
    WORD_PENALTY,
    PhraseModel,
)
from xlate.models.phrase.moves import PhraseMoves
from xlate.models.phrase.options import PlacedPhrases
from xlate.models.phrase.sentence_scores import SentencePhrases
from xlate.models.unit_model import UNKNOWN_PENALTY
from xlate.search.graph import LatticeArcs
from xlate.text.vocabulary import BEGIN_ID, END_ID


@dataclass(frozen=True)
class Parts:
    """P different phrases with what their sparse features look at, and which of them each of L steps is."""

    part_L: Ints32
    steps: Steps


@dataclass(frozen=True)
class PhraseList:
    """N derivations of a sentence, best first; `derivation` gives one with the features its definitions give it.

    Attributes:
        model: it was translated with.
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
        floats_ND = path_features(self.model.lm.arrays, self.paths, self._options, self.oriented, self._layout)
        if self.model.in_sentence is not None and len(self.paths.labels_L):
            more_LE = self.options.more_OE[self.paths.labels_L]
            floats_ND[:, self.model.sentence_slots] = self._summed(more_LE)
        if self.model.placed is not None and len(self.paths.labels_L):
            place_L = self.options.place_OR[self.paths.labels_L, self.shift_L]
            floats_ND[:, self.model.place_slot] = self._summed(place_L)
        if self.model.histories and len(self.paths.labels_L):
            floats_ND[:, self.model.history_slots] = self.histories_NK[0]
        return np.asarray(floats_ND)

    @cached_property
    def histories_NK(self) -> tuple[Floats, Floats, Floats]:
        """Their sums over each derivation, what its last phrase has of them, and what its end has, (N, K) each."""
        model = self.model
        held = histories_of(model.histories, self.weights_D[model.history_slots], model, self.options)
        sums_NK, last_NK, end_NK = history_features(self.paths, self._options, held)
        return sums_NK, last_NK, end_NK

    def _summed(self, rows_L: Floats) -> Floats:
        # The two ways round differently.
        if self.one_path:
            return np.asarray(rows_L.sum(axis=0, keepdims=True))
        return np.asarray(np.add.reduceat(rows_L, self.paths.offsets_N1[:-1], axis=0))

    @property
    def shift_L(self) -> Ints:
        """Where each of the L steps is placed, as a column of `SentencePlaces.of`; (L,)."""
        assert self.model.placed is not None
        options, labels_L = self.options, self.paths.labels_L
        length_L = (options.end_O - options.start_O)[labels_L]
        before_L = np.cumsum(length_L) - length_L
        lengths_N = np.diff(self.paths.offsets_N1)
        first_N = self.paths.offsets_N1[:-1][lengths_N > 0]
        covered_L = before_L - np.repeat(before_L[first_N], lengths_N[lengths_N > 0])
        reach = self.model.placed.reach
        return np.asarray(np.clip(covered_L - options.start_O[labels_L], -reach, reach) + reach)

    @cached_property
    def features_ND(self) -> Floats:
        """Float features in the order of `PhraseModel.features`, shape (N, D)."""
        model, features_ND = self.model, self.floats_ND
        if model.sparse is not None and self.sparse_F is not None and len(self.paths.labels_L):
            parts = self.parts
            sums_PK = model.sparse.sums(self.sparse_F, parts.steps)
            sums_NK = self._summed(sums_PK[parts.part_L])
            features_ND[:, model.slots[SPARSE_REORDERING]] = sums_NK[:, :-1]
            features_ND[:, model.slots[SPARSE_PLAIN]] = sums_NK[:, -1:]
        return features_ND

    @cached_property
    def parts(self) -> Parts:
        """The different phrases of all derivations together, as far as the model's features tell them apart."""
        sparse = self.model.sparse
        return self.told_apart(sparse is not None and sparse.has_groups, sparse is not None and sparse.has_bigrams)

    def told_apart(self, groups: bool = True, last_words: bool = True) -> Parts:
        """The different phrases, told apart by the group before them, or by the word before, if asked."""
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
        return Parts(part_L, steps)

    def derivations(self) -> list[Derivation[Step]]:
        """All of them."""
        scores_N = self.features_ND @ self.weights_D
        steps = [self.options.step(self.model, number) for number in self.paths.labels_L.tolist()]
        ends = self.paths.offsets_N1.tolist()
        return [
            Derivation(self.options.words, tuple(steps[a:b]), features_D, float(score))
            for a, b, features_D, score in zip(ends, ends[1:], self.features_ND, scores_N, strict=False)
        ]

    @property
    def last_floats_ND(self) -> Floats:
        """Floats of the last phrase of each derivation, but for the language model and sums of sparse features."""
        floats_ND = np.asarray(last_features(self.paths, self._options, self.oriented, self._layout))
        kept = np.flatnonzero(np.diff(self.paths.offsets_N1))
        last_K = self.paths.offsets_N1[kept + 1] - 1
        numbers_K = self.paths.labels_L[last_K]
        floats_ND[kept, self.model.sentence_slots] = self.options.more_OE[numbers_K]
        if self.model.placed is not None:
            floats_ND[kept, self.model.place_slot] = self.options.place_OR[numbers_K, self.shift_L[last_K]]
        if self.model.histories:
            floats_ND[:, self.model.history_slots] = self.histories_NK[1]
        return floats_ND

    @cached_property
    def oriented(self) -> Oriented:
        """Orientations and groups of each of the L steps."""
        return orient_paths(self.paths, self._options, self._layout)

    @cached_property
    def _options(self) -> PathOptions:
        options, model = self.options, self.model
        pair_O = np.maximum(options.pair_O, 0)
        return PathOptions(
            len(options.words),
            options.start_O,
            options.end_O,
            options.pair_O,
            model.log_scores(pair_O),
            model.log_reordering(pair_O),
            options.first_O,
            options.last_O,
            options.phrases,
        )

    @cached_property
    def _layout(self) -> PathLayout:
        model = self.model
        return PathLayout(
            model.size,
            model.orientations,
            model.backward.start,
            model.forward.start,
            DISTORTION,
            LM,
            WORD_PENALTY,
            PHRASE_PENALTY,
            TABLE.start,
            UNKNOWN,
            UNKNOWN_PENALTY,
            model.hierarchical,
            int(model.lm.begin_state),
            END_ID,
            BEGIN_ID,
        )


def target_ids(model: PhraseModel, options: PlacedPhrases) -> Ints32:
    """The target words of all options as `Numbering` numbers them, shape (W,), at `options.phrases.offsets_O1`."""
    offsets_O1 = options.phrases.offsets_O1
    return numbered_words(
        model.table, model.target_vocabulary, options.words, options.pair_O, options.start_O, offsets_O1
    )


def list_of_steps(
    model: PhraseModel, weights_D: Floats, source: Sequence[str], steps: Sequence[Step], sparse_F: Floats | None = None
) -> PhraseList:
    """The list of one derivation that has the given steps."""
    spans_S2 = np.array([step.source_span for step in steps], dtype=np.int32).reshape(-1, 2)
    start_S, end_S = np.ascontiguousarray(spans_S2.T)
    pair_S = np.array([step.unit for step in steps], dtype=np.int64)
    words_W = model.lm.vocabulary.ids([word for step in steps for word in step.target_words])
    # The state is never the same as without a history: the language model is asked word by word.
    alone = np.full(len(words_W), -1, dtype=np.int32), np.zeros(len(words_W))
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
    paths = Paths(np.array([0, len(steps)], dtype=np.int64), np.arange(len(steps), dtype=np.int32))
    return PhraseList(model, phrases, paths, weights_D, sparse_F, one_path=True)


def phrase_arcs(moves: PhraseMoves, found: LatticeArcs) -> LatticeArcs:
    """The arcs with floats and sparse features, sums of the latter left at 0.

    Whatever a feature looks at before a phrase is that of the best way to it. The decoder keeps apart what features
    look at, but for orientations of the phrase before whose weights are 0.
    """
    model, phrases = moves.model, moves.options.phrases
    prefixes = Paths(*arc_prefixes(found.graph, found.score_A, found.label_A))
    listed = PhraseList(model, moves.options, prefixes, moves.weights_D, None)
    dense_AD = np.zeros((len(found.label_A), model.size))
    state, words = int(model.lm.begin_state), (phrases.words_W, phrases.offsets_O1)
    costs_A2 = arc_language_costs(model.lm.arrays, state, END_ID, found.graph, found.label_A, *words)
    dense_AD[:, LM] = -costs_A2.sum(axis=1)
    arcs = np.flatnonzero(found.label_A >= 0)
    dense_AD[arcs] += listed.last_floats_ND[arcs]
    if model.histories:
        ends = np.flatnonzero(found.label_A < 0)
        dense_AD[ends, model.history_slots] = listed.histories_NK[2][ends]
    offsets_A1, ids_M = found.sparse_offsets_A1, found.sparse_ids_M
    if model.sparse is not None:
        parts = listed.parts
        offsets_P1, ids_M = model.sparse.ids(parts.steps)
        places, offsets_K1 = gathered(offsets_P1, parts.part_L[prefixes.offsets_N1[arcs + 1] - 1])
        lengths_A = np.zeros(len(listed), dtype=np.int64)
        lengths_A[arcs] = np.diff(offsets_K1)
        offsets_A1, ids_M = offsets_of(lengths_A), ids_M[places]
    return found._replace(dense_AD=dense_AD, sparse_offsets_A1=offsets_A1, sparse_ids_M=ids_M)
