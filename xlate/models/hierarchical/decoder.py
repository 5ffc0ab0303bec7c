"""The hierarchical decoder: from left to right by stack search or cube pruning, or bottom-up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.errors import InputError
from xlate.kernels.search.hierarchical.facts import local_scores
from xlate.kernels.search.hierarchical.moves import LONGEST_SENTENCE, RuleNumbers, RuleSentence
from xlate.kernels.search.hierarchical.search import search_rule_cubes, search_rules
from xlate.kernels.search.hypotheses import Limits
from xlate.models.derivation import Derivation, Span, side_of
from xlate.models.hierarchical.chart import bottom_up_paths, graph_of_paths
from xlate.models.hierarchical.derivations import RuleStep, explain_rules, score_rules_of, word_links
from xlate.models.hierarchical.lists import RuleList, listed_paths, rule_arcs
from xlate.models.hierarchical.model import GLUE, LM, HierarchicalModel
from xlate.models.hierarchical.moves import RuleMoves
from xlate.models.hierarchical.options import RankedRules, collect_rule_options
from xlate.models.hierarchical.structure import no_structure, rule_words, step_features, structure_of
from xlate.models.system import SpanLimit
from xlate.models.unit_system import UnitSystem
from xlate.scoring.weights import Weights
from xlate.search.beam import phrases_in
from xlate.search.graph import LatticeArcs, SearchGraph
from xlate.search.settings import CKY, RuleSearch
from xlate.text.vocabulary import END_ID

__all__ = ["HierarchicalDecoder", "HierarchicalModel", "RuleSearch"]


class HierarchicalDecoder(UnitSystem[HierarchicalModel, RuleMoves, RuleSearch, RuleList]):
    """Translates sentences into the derivations of rules of the highest score w·h (B2).

    Bottom-up there is only a readable search. Features that are newer than the weights weigh 0.

    Raises:
        InputError: as of all systems of units, or structure features bottom-up.
    """

    SEARCH = RuleSearch
    LONGEST = LONGEST_SENTENCE

    def _check(self) -> None:
        super()._check()
        if self.search.algorithm == CKY and self.model.structure is not None:
            raise InputError(
                "bottom-up search cannot look across the borders of rules",
                seen="structure features, decoder.algorithm=cky",
                expected="structure=none, or decoder.algorithm=cube",
            )

    @property
    def weights(self) -> Weights:
        """Float weights, 1 for the sum of sparse features, and the weights of those times what their sum weighed."""
        dense_D = self.weights_D.copy()
        if self.model.structure is None:
            return Weights(dense_D, np.zeros(0), self.model.columns)
        sparse_F = self.model.structure.padded(self.sparse_F * dense_D[-1])
        dense_D[-1] = 1.0
        return Weights(dense_D, sparse_F, self.model.columns)

    @property
    def span_limit(self) -> SpanLimit:
        """That of the search."""
        return SpanLimit(self.search.max_span, "decoder.max_span")

    @cached_property
    def ranked(self) -> RankedRules:
        """The best rules of source sides under the weights, as far as they were asked for."""
        return RankedRules(self.model, self.weights_D, self.search.options)

    def space(self, words: Sequence[str]) -> RuleMoves:
        self.check_length(words)
        options = collect_rule_options(self.model, self.ranked, self.search.max_span, words)
        if not self.has_sparse:
            return RuleMoves(self.model, self.weights_D, self.search, options, no_structure(len(options.found.unit_R)))
        assert self.model.structure is not None
        scale = float(self.weights_D[-1])
        known = self.model.structure.weighted(self.sparse_F if scale == 1.0 else scale * self.sparse_F)
        held = rule_words(self.model, options.found.unit_R, self.model.source_vocabulary.ids(words))
        found, more_T = options.found, local_scores(held, known)
        found = replace(found, static_R=found.static_R + more_T, alone_R=found.alone_R + more_T)
        options = replace(options, found=found)
        return RuleMoves(self.model, self.weights_D, self.search, options, structure_of(held, known))

    @cached_property
    def has_sparse(self) -> bool:
        """Whether any structure feature has a weight that is not 0."""
        # The first ones tell as a rule, without a look at hundreds of thousands.
        return bool(self.sparse_F[:1024].any() or self.sparse_F.any())

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> RuleMoves:
        """The moves with all rules whose words stand in the target, whatever the search's limit of options."""
        return replace(self.unlimited.space(words), allowed=frozenset(phrases_in(target)))

    def derivation(self, space: RuleMoves, labels: Sequence[int]) -> Derivation[RuleStep]:
        """The derivation along the labels of a path, its features from their definitions."""
        return score_rules_of(self.model, self.weights_D, space.options.words, space.steps(labels), self.sparse_F)

    def compiled_search(self, space: RuleMoves, *, every_arc: bool) -> SearchGraph:
        kernel = search_rule_cubes if self.search.algorithm == "cube" else search_rules
        search, options, found = self.search, space.options, space.options.found
        future_nn, suffix_n = space.estimates
        sentence = RuleSentence(
            words=len(options.words),
            longest=options.longest,
            matches=options.matches,
            begin_M=options.begin_M,
            end_M=options.end_M,
            label_offsets_M1=options.label_offsets_M1,
            backtrack_M2=space.backtrack_M2,
            static_T=found.static_R,
            alone_T=found.alone_R,
            swapped_T=found.swapped_R,
            phrases=found.phrases,
            future_nn=future_nn,
            suffix_n=suffix_n,
            structure=space.structure,
        )
        numbers = RuleNumbers(
            lm_weight=float(self.weights_D[LM]),
            glue=float(self.weights_D[GLUE]),
            begin_state=int(self.model.lm.begin_state),
            end_word=END_ID,
            limits=Limits(search.stack, 0, search.log_threshold, every_arc),
            pop_limit=search.pop_limit,
        )
        return SearchGraph.of_hypotheses(*kernel(self.model.lm.arrays, sentence, numbers))

    def search_space(self, space: RuleMoves, *, every_arc: bool) -> SearchGraph:
        """The graph of a space; bottom-up one of the best path, or of the `nbest` best ones, side by side."""
        if self.search.algorithm != CKY:
            return super().search_space(space, every_arc=every_arc)
        return self._bottom_up(space, self.search.nbest if every_arc else 1, distinct=False)

    def _bottom_up(self, space: RuleMoves, most: int, *, distinct: bool) -> SearchGraph:
        return graph_of_paths(space, bottom_up_paths(space, self.search.pop_limit, most, distinct=distinct))

    def arc_features(self, space: RuleMoves, found: LatticeArcs) -> LatticeArcs:
        return rule_arcs(space, found)

    @property
    def readable(self) -> bool:
        """Bottom-up the readable search gives lists as arrays, too."""
        return not self.fast and self.search.algorithm != CKY

    def space_list(self, space: RuleMoves) -> RuleList:
        """The `nbest` best derivations of a space as arrays; not by the readable search from left to right."""
        search = self.search
        if search.algorithm == CKY:
            graph = self._bottom_up(space, search.nbest, distinct=search.distinct)
        else:
            graph = self.search_space(space, every_arc=True)
        return listed_paths(space, graph.arcs, search.nbest, search.distinct, self.sparse_F)

    def step_features(self, derivation: Derivation[RuleStep]) -> tuple[Ints, Ints32]:
        if self.model.structure is None:
            return super().step_features(derivation)
        return step_features(self.model, self.model.structure, derivation.source, derivation.steps)

    def explain(self, source: Sequence[str], derivation: Derivation[RuleStep]) -> str:
        """Rule by rule as a tree, then feature by feature."""
        return explain_rules(self.model, self.weights_D, source, derivation)

    def shown_features(self, derivation: Derivation[RuleStep]) -> Iterator[tuple[str, Sequence[float]]]:
        """By their names, those of several numbers together."""
        start = 0
        for name, count in self.model.features.items():
            yield name, derivation.features_D[start : start + count].tolist()
            start += count

    def word_links(self, derivation: Derivation[RuleStep]) -> list[Span]:
        return word_links(self.model, derivation)

    def orientations(self, derivation: Derivation[RuleStep]) -> list[int]:
        """Of each rule's own words to those of the rule before."""
        spans = [(0, 0), *(step.source_span for step in derivation.steps)]
        return [side_of(before, span) for before, span in pairwise(spans)]
