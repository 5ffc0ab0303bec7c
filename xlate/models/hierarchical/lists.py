"""The n-best list of a sentence as arrays, and the arcs of a lattice: float features of many steps at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, lengths_of, offsets_of, places_of
from xlate.kernels.search.best_paths import GraphArcs, Texts, k_best_paths
from xlate.kernels.search.hierarchical.facts import glued_steps, path_facts, path_logprobs
from xlate.kernels.search.hierarchical.matches import NO_GAP
from xlate.kernels.search.lattice_passes import arc_language_costs, arc_prefixes
from xlate.kernels.search.phrase_paths import Paths
from xlate.models.derivation import COPIED, Derivation
from xlate.models.hierarchical.derivations import RuleStep
from xlate.models.hierarchical.model import BACKTRACK, GLUE, LM
from xlate.models.hierarchical.moves import RuleMoves
from xlate.models.hierarchical.structure import rule_words
from xlate.search.graph import LatticeArcs
from xlate.text.encoded import Numbering
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
        match_L, at_L = self.taken_apart
        features_LD = step_floats(self.moves, match_L, at_L)
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
        if not len(self) or not self.moves.structure.active:
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
        if not len(self):
            return np.zeros((0, self.moves.model.size))
        features_ND = np.add.reduceat(self.step_features, offsets_N1[:-1], axis=0)
        state, phrases = int(lm.begin_state), self.moves.options.found.phrases
        features_ND[:, LM] = path_logprobs(lm.arrays, state, END_ID, offsets_N1, self.taken_apart[1], phrases)
        return features_ND

    def derivations(self) -> list[Derivation[RuleStep]]:
        """All of them."""
        scores_N = self.features_ND @ self.moves.weights_D
        ends, labels = self.paths.offsets_N1.tolist(), self.paths.labels_L.tolist()
        source = self.moves.options.words
        return [
            Derivation(source, self.moves.steps(labels[a:b]), features_D, float(score))
            for a, b, features_D, score in zip(ends, ends[1:], self.features_ND, scores_N, strict=False)
        ]


def listed_paths(moves: RuleMoves, arcs: GraphArcs, most: int, distinct: bool, sparse_F: Floats) -> RuleList:
    """The best `most` paths of a search graph, of different words if asked."""
    # Only the labels that the graph has are spelled out: a sentence has far more.
    labels, place_A = np.unique(arcs.label_A, return_inverse=True)
    own = labels >= 0
    numbered = place_A.astype(np.int32) - np.int32(int((~own).sum()))
    texts = Texts(*label_words(moves, labels[own]), distinct)
    offsets_N1, numbers_L, _ = k_best_paths(arcs._replace(label_A=numbered), texts, most)
    return RuleList(moves, Paths(offsets_N1, labels[own][numbers_L].astype(np.int32)), sparse_F)


def label_words(moves: RuleMoves, labels: AnyInts) -> tuple[Ints, Ints32]:
    """The target words of labels as `Numbering` numbers them: offsets and words."""
    options = moves.options
    match, at = options.taken_apart(labels)
    unit = options.found.unit_R[at]
    known, targets = unit != COPIED, moves.model.table.target_phrases
    rows = moves.model.table.target_B[unit[known]]
    lengths = np.ones(len(unit), dtype=np.int64)
    lengths[known] = lengths_of(targets.offsets_S1, rows)
    offsets_O1 = offsets_of(lengths)
    ids_W = np.empty(int(offsets_O1[-1]), dtype=np.int32)
    ids_W[places_of(offsets_O1, np.flatnonzero(known))] = targets.ids_T[places_of(targets.offsets_S1, rows)]
    starts = options.matches.spans_M2[match[~known], 0].tolist()
    numbering = Numbering(moves.model.target_vocabulary, options.words)
    ids_W[offsets_O1[:-1][~known]] = numbering.ids([options.words[start] for start in starts])
    return offsets_O1, ids_W


def step_floats(moves: RuleMoves, match_K: Ints, at_K: Ints) -> Floats:
    """What matches under translations have wherever they stand, (K, D): all but language model and glue."""
    options, found = moves.options, moves.options.found
    distinct, place_K = np.unique(at_K, return_inverse=True)
    features_KD = moves.model.rule_features(found.unit_R[distinct])[place_K]
    features_KD[:, BACKTRACK] = -options.backtrack_M22[match_K, found.swapped_R[at_K].astype(np.int64)]
    return features_KD


def rule_arcs(moves: RuleMoves, found: LatticeArcs) -> LatticeArcs:
    """The arcs of a lattice with float features; whether a rule was glued on follows from the spans that are open."""
    prefixes = RuleList(moves, Paths(*arc_prefixes(found.graph, found.score_A, found.label_A)), np.zeros(0))
    arcs = np.flatnonzero(found.label_A >= 0)
    last_L = prefixes.paths.offsets_N1[arcs + 1] - 1
    match_L, at_L = prefixes.taken_apart
    lm, phrases = moves.model.lm, moves.options.found.phrases
    phrase_A = np.full(len(found.label_A), -1, dtype=np.int32)
    phrase_A[arcs] = at_L[last_L]
    costs_A2 = arc_language_costs(
        lm.arrays, int(lm.begin_state), END_ID, found.graph, phrase_A, phrases.words_W, phrases.offsets_O1
    )
    dense_AD = np.zeros((len(found.label_A), moves.model.size))
    dense_AD[arcs] = step_floats(moves, match_L[last_L], at_L[last_L])
    dense_AD[arcs, GLUE] = prefixes.step_features[last_L, GLUE]
    dense_AD[:, LM] = -costs_A2.sum(axis=1)
    offsets_A1, ids_M = found.sparse_offsets_A1, found.sparse_ids_M
    if moves.model.structure is not None:
        fact_offsets_L1, facts_A5 = prefixes.facts
        id_offsets_A1, ids = moves.model.structure.of_facts(facts_A5)
        places, offsets_K1 = gathered(id_offsets_A1[fact_offsets_L1], last_L)
        lengths_A = np.zeros(len(prefixes), dtype=np.int64)
        lengths_A[arcs] = np.diff(offsets_K1)
        offsets_A1, ids_M = offsets_of(lengths_A), ids[places]
    return found._replace(dense_AD=dense_AD, sparse_offsets_A1=offsets_A1, sparse_ids_M=ids_M)
