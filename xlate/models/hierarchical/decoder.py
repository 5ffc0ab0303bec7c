"""The hierarchical decoder: from left to right by stack search or cube pruning, or bottom-up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.features.index import FeatureIndex
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.hierarchical.cube_search import search_rule_cubes
from xlate.kernels.search.hierarchical.facts import local_scores
from xlate.kernels.search.hierarchical.moves import LONGEST_SENTENCE, RuleNumbers, RuleSentence
from xlate.kernels.search.hierarchical.stack_search import search_rules
from xlate.kernels.search.hypotheses import Limits
from xlate.models.derivation import Derivation, Span
from xlate.models.hierarchical.chart import bottom_up_paths, graph_of_paths
from xlate.models.hierarchical.lists import RuleList, listed_paths, rule_arcs
from xlate.models.hierarchical.model import GLUE, LM, HierarchicalModel
from xlate.models.hierarchical.moves import RuleMoves, occurring
from xlate.models.hierarchical.options import collect_rule_options
from xlate.models.hierarchical.ranking import RankedRules
from xlate.models.hierarchical.scored import score_rules_of, word_links
from xlate.models.hierarchical.settings import CKY, RuleSearch
from xlate.models.hierarchical.steps import RuleStep
from xlate.models.hierarchical.structure import no_structure, rule_words, step_features, structure_of
from xlate.models.hierarchical.text import explain_rules
from xlate.models.system import SpanLimit, System
from xlate.scoring.weights import Weights
from xlate.search.graph import SearchGraph
from xlate.search.lattice_graph import LatticeArcs
from xlate.text.vocabulary import END_ID, Vocabulary

__all__ = ["HierarchicalDecoder", "HierarchicalModel", "RuleSearch"]


class HierarchicalDecoder(System[RuleMoves, RuleSearch]):
    """Translates sentences into the derivations of rules of the highest score w·h (B2).

    Args:
        model: rules and language model.
        weights_D: in the order of `model.RULE_FEATURES`, shape (D,).
        search: settings.
        fast: the compiled search; the readable one, for stack search only, gives the same derivations and scores.
            Bottom-up there is only a readable one.
        sparse_F: weights of the model's structure features; without them all are 0, as are those of features that are
            newer than the weights.

    Raises:
        InputError: float weights of another shape or not finite, more sparse weights than features, cube pruning
            without `fast`, or structure features bottom-up.
    """

    PARTS = ("model", "weights_D", "search", "fast", "sparse_F")
    LONGEST = LONGEST_SENTENCE

    def __init__(
        self,
        model: HierarchicalModel,
        weights_D: NDArray[np.float64],
        search: RuleSearch | None = None,
        fast: bool = True,
        sparse_F: NDArray[np.float64] | None = None,
    ) -> None:
        self.model = model
        self._weights_D = np.asarray(weights_D, dtype=np.float64)
        self.search = search or RuleSearch()
        self.fast = fast
        self.sparse_F = np.zeros(0) if sparse_F is None else np.asarray(sparse_F, dtype=np.float64)
        known = 0 if model.structure is None else len(model.structure)
        if self._weights_D.shape != (model.size,) or not np.isfinite(self._weights_D).all():
            raise InputError(
                "the weights cannot be used", seen=self._weights_D, expected=f"{model.size} finite numbers"
            )
        if len(self.sparse_F) > known:
            seen, expected = f"{len(self.sparse_F)} sparse weights", f"at most {known}"
            raise InputError("the weights cannot be used", seen=seen, expected=expected)
        if self.search.algorithm == "cube" and not fast:
            raise InputError("cube pruning has no readable form", expected="the compiled search, or algorithm stack")
        if self.search.algorithm == CKY and model.structure is not None:
            raise InputError(
                "bottom-up search cannot look across the borders of rules",
                seen="structure features, decoder.algorithm=cky",
                expected="structure=none, or decoder.algorithm=cube",
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Of the float features."""
        return self.model.columns

    @property
    def weights_D(self) -> NDArray[np.float64]:
        """In the order of `RULE_FEATURES`, shape (D,)."""
        return self._weights_D

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
    def features(self) -> FeatureIndex | None:
        """Those of the structure of derivations, if any."""
        return self.model.structure

    @property
    def span_limit(self) -> SpanLimit:
        """That of the search."""
        return SpanLimit(self.search.max_span, "decoder.max_span")

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The words of the rules."""
        return self.model.target_vocabulary

    def with_weights(self, weights: Weights) -> HierarchicalDecoder:
        """The same decoder under other weights."""
        return self.changed(weights_D=weights.dense_D, sparse_F=weights.sparse_F)

    @cached_property
    def ranked(self) -> RankedRules:
        """The best rules of source sides under the weights, as far as they were asked for."""
        return RankedRules(self.model, self.weights_D, self.search.options)

    def space(self, words: Sequence[str]) -> RuleMoves:
        """The moves over a sentence."""
        self.check_length(words)
        options = collect_rule_options(self.model, self.ranked, self.search.max_span, words)
        if not self.has_sparse:
            return RuleMoves(self.model, self.weights_D, self.search, options, no_structure(len(options.found.unit_R)))
        assert self.model.structure is not None
        scale = float(self.weights_D[-1])
        known = self.model.structure.weighted(self.sparse_F if scale == 1.0 else scale * self.sparse_F)
        held = rule_words(self.model, options.found.unit_R, self.model.source_vocabulary.ids(words))
        options = options.with_scores(local_scores(held, known))
        return RuleMoves(self.model, self.weights_D, self.search, options, structure_of(held, known))

    @cached_property
    def has_sparse(self) -> bool:
        """Whether any structure feature has a weight that is not 0."""
        # The first ones tell as a rule, without a look at hundreds of thousands.
        return bool(self.sparse_F[:1024].any() or self.sparse_F.any())

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> RuleMoves:
        """The moves with all rules whose words stand in the target, whatever the search's limit of options."""
        return occurring(self._unlimited.space(words), target)

    @cached_property
    def _unlimited(self) -> HierarchicalDecoder:
        """The decoder without a limit of options; what it has ranked stays."""
        most = max(int(np.diff(self.model.rule_offsets_P1).max(initial=1)), 1)
        return self if self.search.options >= most else self.with_search(options=most)

    def derivation(self, space: RuleMoves, labels: Sequence[int]) -> Derivation[RuleStep]:
        """The derivation along the labels of a path, its features from their definitions."""
        return score_rules_of(self.model, self.weights_D, space.options.words, space.steps(labels), self.sparse_F)

    def compiled_search(self, space: RuleMoves, *, every_arc: bool) -> SearchGraph:
        """By the kernel of the algorithm."""
        kernel = search_rule_cubes if self.search.algorithm == "cube" else search_rules
        search = self.search
        numbers = RuleNumbers(
            lm_weight=float(self.weights_D[LM]),
            glue=float(self.weights_D[GLUE]),
            begin_state=int(self.model.lm.begin_state),
            end_word=END_ID,
            limits=Limits(search.beam or 0, 0, search.log_threshold, every_arc),
            pop_limit=search.pop_limit,
        )
        return SearchGraph.of_hypotheses(*kernel(self.model.lm.arrays, sentence_arrays(space), numbers))

    def search_space(self, space: RuleMoves, *, every_arc: bool) -> SearchGraph:
        """The graph of a space; bottom-up one of the best path, or of the `nbest` best ones, side by side."""
        if self.search.algorithm != CKY:
            return super().search_space(space, every_arc=every_arc)
        return self._bottom_up(space, self.search.nbest if every_arc else 1, distinct=False)

    def _bottom_up(self, space: RuleMoves, most: int, *, distinct: bool) -> SearchGraph:
        return graph_of_paths(space, bottom_up_paths(space, self.search.pop_limit, most, distinct=distinct))

    def arc_features(self, space: RuleMoves, found: LatticeArcs) -> LatticeArcs:
        """Float features of the arcs."""
        return rule_arcs(space, found)

    def listed(self, space: RuleMoves) -> list[Derivation[RuleStep]]:
        """The `nbest` best derivations of a space, best first."""
        readable = not self.fast and self.search.algorithm != CKY
        return super().listed(space) if readable else self._list(space).derivations()

    def nbest_list(self, words: Sequence[str]) -> RuleList:
        """The `nbest` best derivations of a sentence as arrays; not by the readable search from left to right.

        Raises:
            InputError: a sentence without words, or of more than the search can number.
        """
        if not words:
            raise InputError("an empty sentence has no n-best list", expected="one word or more")
        return self._list(self.space(words))

    def _list(self, moves: RuleMoves) -> RuleList:
        search = self.search
        if search.algorithm == CKY:
            graph = self._bottom_up(moves, search.nbest, distinct=search.distinct)
        else:
            graph = self.search_space(moves, every_arc=True)
        return listed_paths(moves, graph.arcs, search.nbest, search.distinct, self.sparse_F)

    def step_features(self, derivation: Derivation[RuleStep]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Of each rule."""
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
        """What the rules align."""
        return word_links(self.model, derivation)

    def orientations(self, derivation: Derivation[RuleStep]) -> list[int]:
        """Of each rule's own words to those of the rule before."""
        found, before = [], (0, 0)
        for step in derivation.steps:
            begin, end = step.source_span
            right, left = begin == before[1], end == before[0]
            found.append(RIGHT if right else LEFT if left else NEUTRAL)
            before = begin, end
        return found


def sentence_arrays(moves: RuleMoves) -> RuleSentence:
    """A sentence as the kernels take it."""
    options, found = moves.options, moves.options.found
    future_nn, suffix_n = moves.estimates
    return RuleSentence(
        words=len(options.words),
        longest=options.longest,
        matches=options.matches,
        begin_M=options.begin_M,
        end_M=options.end_M,
        label_offsets_M1=options.label_offsets_M1,
        backtrack_M2=moves.backtrack_M2,
        static_T=found.static_R,
        alone_T=found.alone_R,
        swapped_T=found.swapped_R,
        phrases=found.phrases,
        future_nn=future_nn,
        suffix_n=suffix_n,
        structure=moves.structure,
    )
