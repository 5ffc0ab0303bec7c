"""The hierarchical decoder, from left to right by stack search or cube pruning, or bottom-up; its lists as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import decoded, with_steps
from xlate.errors import refuse_if
from xlate.features.structure import StructureFeatures
from xlate.kernels.features.structure import FACT
from xlate.kernels.lm import PhrasesAlone
from xlate.kernels.memory import distinct_rows
from xlate.kernels.search.best_paths import Paths
from xlate.kernels.search.phrase_paths import path_logprobs
from xlate.kernels.search.rule_decoder import LONGEST_SENTENCE
from xlate.kernels.search.rule_facts import RuleWords, glued_steps, local_scores, path_facts
from xlate.kernels.search.spans import NO_GAP
from xlate.models.derivation import Derivation, own_spans
from xlate.models.hierarchical.model import (
    BACKTRACK,
    GLUE,
    LM,
    RULE_PENALTY,
    HierarchicalModel,
    RankedRules,
    RuleOptions,
    collect_rule_options,
    no_structure,
    rule_words,
    structure_of,
)
from xlate.models.hierarchical.moves import RuleMoves, RuleStep, bottom_up_graph, tree
from xlate.models.system import SpanLimit
from xlate.models.tuned import TunedUnits
from xlate.models.unit_system import UnitSystem
from xlate.scoring.weights import Weights
from xlate.search.beam import SearchGraph
from xlate.search.settings import CKY, RuleSearch
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText


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
        lengths = np.diff(options.found.phrases.offsets_O1)[distinct]
        features_LD = self.moves.model.rule_features(options.found.unit_R[distinct], lengths)[place_L]
        features_LD[:, BACKTRACK] = -options.backtrack_M22[match_L, options.swapped_T[at_L].astype(np.int64)]
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
            words = sentence_words(model, options)
        return path_facts(words, self.paths.offsets_N1, self.taken_apart[1], self.gaps_L, BEGIN_ID)

    @cached_property
    def features_ND(self) -> Floats:
        """Float features in the order of `RULE_FEATURES`, shape (N, D)."""
        if not self.moves.structure.active:
            return self.floats_ND
        structure, (id_offsets_L1, ids) = self.moves.model.sparse, self.step_ids
        assert structure is not None
        sums = np.concatenate([np.zeros(1), np.cumsum(structure.padded(self.sparse_F)[ids])])
        features_ND = self.floats_ND.copy()
        features_ND[:, -1] = np.diff(sums[id_offsets_L1[self.paths.offsets_N1]])
        return features_ND

    @cached_property
    def floats_ND(self) -> Floats:
        """The same with the sum of sparse features left at 0."""
        offsets_N1, lm = self.paths.offsets_N1, self.moves.model.lm
        if not len(self.paths.labels_L):
            return np.zeros((len(self), self.moves.model.size))
        features_ND = np.add.reduceat(self.step_features, offsets_N1[:-1], axis=0)
        features_ND[:, LM] = path_logprobs(lm.arrays, int(lm.begin_state), END_ID, offsets_N1, *self.target_rows)
        return features_ND

    @property
    def target_rows(self) -> tuple[Ints, PhrasesAlone]:
        return self.taken_apart[1], self.moves.options.found.phrases

    def last_floats(self, ends_N: Bools) -> Floats:
        floats_ND, rows = np.zeros((len(self), self.moves.model.size)), np.flatnonzero(~ends_N)
        # Whether a rule was glued on follows from the open spans.
        floats_ND[rows] = self.step_features[self.paths.offsets_N1[rows + 1] - 1]
        return floats_ND

    @cached_property
    def step_ids(self) -> tuple[Ints, Ints32]:
        """The structure features of each step: offsets (L + 1) and ids."""
        structure, (fact_offsets_L1, facts_A5) = self.moves.model.sparse, self.facts
        assert structure is not None
        id_offsets_A1, ids = structure.of_units(facts_A5, add=False)
        return id_offsets_A1[fact_offsets_L1], ids

    def sparse_ids(self, step_K: AnyInts) -> tuple[Ints, Ints32]:
        id_offsets_L1, ids = self.step_ids
        places, offsets_K1 = gathered(id_offsets_L1, step_K)
        return offsets_K1, ids[places]

    @property
    def words(self) -> EncodedText:
        """The target words of each derivation as `Numbering` numbers them."""
        words = self.moves.texts(self.paths.labels_L)
        return EncodedText(words.ids_T, words.offsets_S1[self.paths.offsets_N1])


def sentence_words(model: HierarchicalModel, options: RuleOptions) -> RuleWords:
    """The words and links of the translations of a sentence."""
    lengths_T = np.diff(options.found.phrases.offsets_O1)
    return rule_words(model, options.found.unit_R, model.source_vocabulary.ids(options.words), lengths_T)


class HierarchicalDecoder(UnitSystem[HierarchicalModel, RuleMoves, RuleSearch, RuleList]):
    """Translates sentences into the derivations of rules of the highest score w·h (B2).

    Bottom-up there is only a readable search. Features newer than the weights weigh 0.

    Raises:
        InputError: as of all systems of units, or structure features bottom-up.
    """

    NAME = "hierarchical"
    LONGEST = LONGEST_SENTENCE

    def _check(self) -> None:
        super()._check()
        refuse_if(
            self.search.algorithm == CKY and self.model.sparse is not None,
            "bottom-up search cannot look across the borders of rules",
            "structure features, decoder.algorithm=cky",
            "structure=none, or decoder.algorithm=cube",
        )

    @property
    def weights(self) -> Weights:
        """Float weights, 1 for the sum of sparse features, and their weights multiplied by that of their sum."""
        if self.model.sparse is None:
            return super().weights
        dense_D = self.weights_D.copy()
        sparse_F = self.model.sparse.padded(self.sparse_F * dense_D[-1])
        dense_D[-1] = 1.0
        return Weights(dense_D, sparse_F, self.model.columns)

    @property
    def span_limit(self) -> SpanLimit:
        """The limit of the search."""
        return SpanLimit(self.search.max_span, "decoder.max_span")

    @cached_property
    def ranked(self) -> RankedRules:
        """The best rules of source sides under the weights, as far as requested."""
        return RankedRules(self.model, self.weights_D, self.search.options)

    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> RuleMoves:
        """The moves; with a target, all rules whose words occur in it, whatever the search's limit of options."""
        if target is not None:
            return replace(self.unlimited.space(words), target=tuple(target))
        self.check_length(words)
        options = collect_rule_options(self.ranked, self.search.max_span, words)
        if not self.has_sparse:
            return RuleMoves(self.model, self.weights_D, self.search, options, no_structure(len(options.found.unit_R)))
        assert self.model.sparse is not None
        scale = float(self.weights_D[-1])
        known = self.model.sparse.weighted(self.sparse_F if scale == 1.0 else scale * self.sparse_F)
        held = sentence_words(self.model, options)
        found, more_T = options.found, local_scores(held, known)
        found = replace(found, static_R=found.static_R + more_T, alone_R=found.alone_R + more_T)
        options = replace(options, found=found)
        return RuleMoves(self.model, self.weights_D, self.search, options, structure_of(held, known))

    def derivation(self, space: RuleMoves, labels: Sequence[int]) -> Derivation[RuleStep]:
        path = Paths(np.array([0, len(labels)]), np.array(labels, np.int32))
        return self.derivations(space, self.list_of(space, path))[0]

    def steps(self, space: RuleMoves, labels: Sequence[int]) -> tuple[RuleStep, ...]:
        options, steps, waiting = space.options, list[RuleStep](), 0
        for label in labels:
            match, at = map(int, options.taken_apart(label))
            gaps, span = options.gaps(match, bool(options.swapped_T[at])), options.span(match)
            unit, own = int(options.found.unit_R[at]), own_spans(span, gaps)
            steps.append(RuleStep(unit, own, space.words_of(label), span=span, gaps=gaps, glued=not waiting))
            waiting = max(waiting - 1, 0) + len(gaps)
        return tuple(steps)

    def list_of(self, space: RuleMoves, paths: Paths) -> RuleList:
        return RuleList(space, paths, self.sparse_F)

    def search_space(self, space: RuleMoves, *, every_arc: bool) -> SearchGraph:
        """The graph of a space; bottom-up one of the best path, or of the `nbest` best ones, side by side."""
        if self.search.algorithm != CKY:
            return super().search_space(space, every_arc=every_arc)
        return bottom_up_graph(space, self.search.nbest if every_arc else 1, distinct=False)

    @property
    def readable(self) -> bool:
        """Bottom-up, the readable search gives lists as arrays, too."""
        return not self.fast and self.search.algorithm != CKY

    def nbest_paths(self, space: RuleMoves) -> Paths:
        search = self.search
        if search.algorithm != CKY:
            return super().nbest_paths(space)
        return bottom_up_graph(space, search.nbest, distinct=search.distinct).best_paths(search.nbest)[0]

    def step_features(self, derivation: Derivation[RuleStep]) -> tuple[Ints, Ints32]:
        model, steps = self.model, derivation.steps
        if model.sparse is None:
            return super().step_features(derivation)
        unit_N = np.array([step.unit for step in steps], np.int64)
        lengths_N = np.array([len(step.target_words) for step in steps], np.int64)
        words = rule_words(model, unit_N, model.source_vocabulary.ids(derivation.source), lengths_N)
        gaps_N = np.array([len(step.gaps) for step in steps], np.int32)
        every = np.arange(len(steps))
        fact_offsets_N1, facts_A5 = path_facts(words, np.array([0, len(steps)]), every, gaps_N, BEGIN_ID)
        id_offsets_A1, ids = model.sparse.of_units(facts_A5, add=False)
        return id_offsets_A1[fact_offsets_N1], ids

    def shown_units(self, source: Sequence[str], derivation: Derivation[RuleStep]) -> Iterator[str]:
        """As a tree, its gaps numbered from left to right in the source.

        Example:
            [0,4)  ne [1,2) pas X1 -> not X1
              [1,2)  go -> go
        """
        for depth, step in tree(derivation.steps):
            (start, end), names = step.span, {gap: f"X{n}" for n, gap in enumerate(sorted(step.gaps), 1)}
            left = " ".join(names[a, b] if gap else " ".join(source[a:b]) for a, b, gap in step.runs)
            right = " ".join([*step.target_words, *map(names.__getitem__, step.gaps)])
            yield f"{'  ' * depth}[{start},{end})  {left} -> {right}"


class TunedRules(TunedUnits[HierarchicalDecoder, RuleList]):
    """The hierarchical decoder; with `tunes_sparse` lists have the facts of derivations as units."""

    UNIT = FACT

    @property
    def uniform(self) -> Weights:
        """Rules and glue are neither good nor bad."""
        start = super().uniform
        start.dense_D[[RULE_PENALTY, GLUE]] = 0.0
        return start

    @property
    def growing(self) -> StructureFeatures | None:
        """The structure features whose weights are tuned."""
        return self.system.model.sparse if self.tunes_sparse else None

    def with_parts(self, found: RuleList) -> CandidateBatch:
        """With the facts of derivations as units."""
        fact_offsets_L1, facts_A5 = found.facts
        # No row is all zeros, which could not be distinguished from none.
        number_A, first_P = distinct_rows((facts_A5 + 1).astype(np.uint64))
        steps = fact_offsets_L1[found.paths.offsets_N1], number_A - 1
        return with_steps(decoded(found.floats_ND, found.words), *steps, units=facts_A5[first_P])
