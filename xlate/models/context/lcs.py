"""The lattice decoder: predicted blocks in any order within a window, scored by the language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.models.context.lcs_moves import LatticeMoves
from xlate.models.context.lcs_options import DELETED, LM, PLACE, LcsModel, collect_lcs_options
from xlate.models.context.lcs_settings import LcsSearch
from xlate.models.derivation import COPIED, Derivation, Span, Step, explained, side_of
from xlate.models.system import System
from xlate.scoring.weights import Weights
from xlate.search.beam import search_graph
from xlate.search.graph import SearchGraph
from xlate.search.lattice_graph import LatticeArcs
from xlate.search.space import END_LABEL
from xlate.text.vocabulary import Vocabulary

__all__ = ["LcsDecoder", "LcsModel", "LcsSearch", "LcsStep"]


@dataclass(frozen=True)
class LcsStep(Step):
    """A source word and what became of it; `log_p` is ln p of the block in its sentence."""

    log_p: float = 0.0


class LcsDecoder(System[LatticeMoves, LcsSearch]):
    """Lattice construction and scoring (Kolachina et al. 2010, section 4.1).

    Translates sentences into the sequences of predicted blocks of the highest score

        w_LM · ln p_LM(e_1 … e_m </s>)  +  w_Context · Σ_i ln p(block i | sentence)  +  w_Deletion · cost · deletions

    over the orders that the window allows, and w_Displacement · Σ_i ln p(place of block i | sentence) where the model
    has that; the paper scores by the language model alone. The readable search is the only one.

    Args:
        model: the classifier and the language model.
        weights_D: of `LcsModel.names`, shape (D,).
        search: settings.
        fast: changes nothing.

    Raises:
        InputError: weights of another shape or not finite.
    """

    PARTS = ("model", "weights_D", "search", "fast")
    LONGEST = 32_767

    def __init__(self, model: LcsModel, weights_D: Floats, search: LcsSearch | None = None, fast: bool = True) -> None:
        self.model = model
        self._weights_D = np.asarray(weights_D, dtype=np.float64)
        self.search = search or LcsSearch()
        self.fast = fast
        size = len(model.names)
        if self._weights_D.shape != (size,) or not np.isfinite(self._weights_D).all():
            raise InputError("the weights cannot be used", seen=weights_D, expected=f"{size} finite numbers")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The language model, the predictions, the deletions; the places where they are looked at."""
        return self.model.names

    @property
    def weights_D(self) -> Floats:
        """Their weights, shape (D,)."""
        return self._weights_D

    @property
    def weights(self) -> Weights:
        """The same by name."""
        return Weights(self.weights_D.copy(), np.zeros(0), self.model.names)

    @property
    def features(self) -> None:
        """None: there are no sparse features."""
        return

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The words of the blocks."""
        return self.model.target_vocabulary

    def with_weights(self, weights: Weights) -> LcsDecoder:
        """The same decoder under other weights."""
        return self.changed(weights_D=weights.dense_D)

    def space(self, words: Sequence[str]) -> LatticeMoves:
        """The moves over a sentence."""
        self.check_length(words)
        options = collect_lcs_options(self.model, self.search, words)
        return LatticeMoves(self.model, self.weights_D, self.search, options)

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> LatticeMoves:
        """The moves with all predicted blocks that stand in the target."""
        self.check_length(words)
        options = collect_lcs_options(self.model, self.search, words, target)
        return LatticeMoves(self.model, self.weights_D, self.search, options)

    def compiled_search(self, space: LatticeMoves, *, every_arc: bool) -> SearchGraph:  # noqa: ARG002
        """The readable search."""
        return search_graph(space, self.limits())

    def derivation(self, space: LatticeMoves, labels: Sequence[int]) -> Derivation[LcsStep]:
        """The derivation of a path's labels."""
        steps: list[LcsStep] = []
        features_D, lm_state, before = np.zeros(len(self.model.names)), space.start.lm_state, None
        for label in labels:
            if label == END_LABEL:
                features_D[LM] += space.end_logprob(lm_state)
                break
            logprob, lm_state = space.language(lm_state, label)
            features_D += space.fixed_OD[label]
            features_D[LM] += logprob
            if self.model.placed is not None:
                features_D[PLACE] += space.place(label, len(steps))
            steps.append(_step(space, label, before))
            before = steps[-1].source_span
        return Derivation(space.options.words, tuple(steps), features_D, float(self.weights_D @ features_D))

    def arc_features(self, space: LatticeMoves, found: LatticeArcs) -> LatticeArcs:
        """The features of the arcs."""
        state_N = np.full(found.graph.nodes, space.start.lm_state)
        dense_AD = np.zeros((len(found.label_A), len(self.model.names)))
        covered_N = np.zeros(found.graph.nodes, dtype=np.int64)
        ends = found.graph.source_A.tolist(), found.graph.target_A.tolist(), found.label_A.tolist()
        for arc, (source, target, label) in enumerate(zip(*ends, strict=True)):
            if label == END_LABEL:
                dense_AD[arc, LM] = space.end_logprob(int(state_N[source]))
            else:
                dense_AD[arc] = space.fixed_OD[label]
                dense_AD[arc, LM], state_N[target] = space.language(int(state_N[source]), label)
                covered_N[target] = covered_N[source] + 1
                if self.model.placed is not None:
                    dense_AD[arc, PLACE] = space.place(label, int(covered_N[source]))
        return found._replace(dense_AD=dense_AD)

    def explain(self, source: Sequence[str], derivation: Derivation[LcsStep]) -> str:
        """Word by word."""
        lines = [_line(source, step) for step in derivation.steps]
        return explained(lines, self.feature_names, self.weights_D, derivation)


def _step(space: LatticeMoves, label: int, before: Span | None) -> LcsStep:
    options = space.options
    span = int(options.position_O[label]), int(options.position_O[label]) + 1
    unit, log_p = int(options.unit_O[label]), float(options.log_O[label])
    return LcsStep(unit, (span,), options.target_O[label], side_of(before, span), log_p)


def _line(source: Sequence[str], step: LcsStep) -> str:
    start, end = step.source_span
    said = {COPIED: "(copied)", DELETED: "(left out)"}.get(step.unit, f"p {np.exp(step.log_p):.3g}")
    return f"[{start},{end})  {source[start]} -> {' '.join(step.target_words)}  {said}"
