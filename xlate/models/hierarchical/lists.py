"""The n-best list of a sentence as arrays, and the arcs of a lattice: float features of many steps at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of
from xlate.kernels.lm import PhrasesAlone
from xlate.kernels.search.hierarchical.facts import glued_steps, path_facts, path_logprobs
from xlate.kernels.search.hierarchical.matches import NO_GAP
from xlate.kernels.search.phrase_paths import Paths
from xlate.models.derivation import Derivation
from xlate.models.hierarchical.model import BACKTRACK, GLUE, LM
from xlate.models.hierarchical.moves import RuleMoves, RuleStep
from xlate.models.hierarchical.options import rule_words
from xlate.models.unit_model import numbered_words
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import BEGIN_ID, END_ID


@dataclass(frozen=True)
class RuleList:
    """N derivations of a sentence, best first, as paths of labels of its search space."""

    moves: RuleMoves
    paths: Paths
    sparse_F: Floats

    def __len__(self) -> int:
        """The number of derivations N."""
        return len(self.paths.offsets_N1) - 1

    @cached_property
    def taken_apart(self) -> tuple[Ints, Ints]:
        """The match and the translation of each step, both (L,)."""
        return self.moves.options.taken_apart(self.paths.labels_L)

    @cached_property
    def step_features(self) -> Floats:
        """Float features of each step, that of the language model left at 0; shape (L, D)."""
        options, (match_L, at_L) = self.moves.options, self.taken_apart
        distinct, place_L = np.unique(at_L, return_inverse=True)
        features_LD = self.moves.model.rule_features(options.found.unit_R[distinct])[place_L]
        features_LD[:, BACKTRACK] = -options.backtrack_M22[match_L, options.found.swapped_R[at_L].astype(np.int64)]
        features_LD[:, GLUE] = glued_steps(self.paths.offsets_N1, self.gaps_L)
        return features_LD

    @cached_property
    def gaps_L(self) -> Ints32:
        """How many gaps each step leaves open, shape (L,)."""
        gaps_M4 = self.moves.options.matches.gaps_M4
        gaps_L: Ints32 = (gaps_M4[self.taken_apart[0]][:, ::2] != NO_GAP).sum(axis=1).astype(np.int32)
        return gaps_L

    @cached_property
    def facts(self) -> tuple[Ints, Ints32]:
        """The facts of each step for structure features: offsets (L + 1) and facts (A, 5)."""
        model, options = self.moves.model, self.moves.options
        words = self.moves.structure.words
        if not self.moves.structure.active:
            words = rule_words(model, options.found.unit_R, model.source_vocabulary.ids(options.words))
        found: tuple[Ints, Ints32] = path_facts(
            words, self.paths.offsets_N1, self.taken_apart[1], self.gaps_L, BEGIN_ID
        )
        return found

    @cached_property
    def features_ND(self) -> Floats:
        """Float features in the order of `RULE_FEATURES`, shape (N, D)."""
        if not self.moves.structure.active:
            return self.floats_ND
        structure, (fact_offsets_L1, facts_A5) = self.moves.model.structure, self.facts
        assert structure is not None
        weights_F = structure.padded(self.sparse_F)
        id_offsets_A1, ids = structure.of_facts(facts_A5)
        sums = np.concatenate([np.zeros(1), np.cumsum(weights_F[ids])])
        ends_N1 = id_offsets_A1[fact_offsets_L1[self.paths.offsets_N1]]
        features_ND = self.floats_ND.copy()
        features_ND[:, -1] = np.diff(sums[ends_N1])
        return features_ND

    @cached_property
    def floats_ND(self) -> Floats:
        """The same with the sum of sparse features left at 0."""
        offsets_N1, lm = self.paths.offsets_N1, self.moves.model.lm
        if not len(self.paths.labels_L):
            return np.zeros((len(self), self.moves.model.size))
        features_ND = np.add.reduceat(self.step_features, offsets_N1[:-1], axis=0)
        state, phrases = int(lm.begin_state), self.moves.options.found.phrases
        features_ND[:, LM] = path_logprobs(lm.arrays, state, END_ID, offsets_N1, self.taken_apart[1], phrases)
        return features_ND

    @property
    def phrases(self) -> PhrasesAlone:
        return self.moves.options.found.phrases

    @property
    def phrase_L(self) -> Ints:
        return self.taken_apart[1]

    def last_floats(self, ends_N: Bools) -> Floats:
        floats_ND, rows = np.zeros((len(self), self.moves.model.size)), np.flatnonzero(~ends_N)
        # Whether a rule was glued on follows from the spans that are open.
        floats_ND[rows] = self.step_features[self.paths.offsets_N1[rows + 1] - 1]
        return floats_ND

    def sparse_ids(self, step_K: AnyInts) -> tuple[Ints, Ints32]:
        fact_offsets_L1, facts_A5 = self.facts
        assert self.moves.model.structure is not None
        id_offsets_A1, ids = self.moves.model.structure.of_facts(facts_A5)
        places, offsets_K1 = gathered(id_offsets_A1[fact_offsets_L1], step_K)
        return offsets_K1, ids[places]

    @property
    def words(self) -> EncodedText:
        """The target words of each derivation as `Numbering` numbers them."""
        words = label_words(self.moves, self.paths.labels_L)
        return EncodedText(words.ids_T, words.offsets_S1[self.paths.offsets_N1])

    def derivations(self) -> list[Derivation[RuleStep]]:
        """All of them."""
        scores_N = self.features_ND @ self.moves.weights_D
        ends, labels = self.paths.offsets_N1.tolist(), self.paths.labels_L.tolist()
        source = self.moves.options.words
        return [
            Derivation(source, self.moves.steps(labels[a:b]), features_D, float(score))
            for a, b, features_D, score in zip(ends, ends[1:], self.features_ND, scores_N, strict=False)
        ]


def label_words(moves: RuleMoves, labels: AnyInts) -> EncodedText:
    """The target words of each label as `Numbering` numbers them."""
    options, model = moves.options, moves.model
    match, at = options.taken_apart(labels)
    unit_O, start_O = options.found.unit_R[at], options.matches.spans_M2[match, 0]
    offsets_O1 = offsets_of(np.diff(options.found.phrases.offsets_O1)[at])
    ids_W = numbered_words(model.table, model.target_vocabulary, options.words, unit_O, start_O, offsets_O1)
    return EncodedText(ids_W, offsets_O1)
