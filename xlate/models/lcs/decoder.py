"""The lattice decoder: predicted blocks in any order within a window, scored by the language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xlate.array_types import Bools, Floats
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.derivation import COPIED, Derivation, Step, explained, side_of
from xlate.models.lcs.moves import DELETED, DELETION, LM, NAMES, LatticeMoves, LcsModel, collect_lcs_options
from xlate.models.system import AnySystem, System
from xlate.models.tuned import TunedCosts, listed
from xlate.scoring.weights import Weights
from xlate.search.beam import search_graph
from xlate.search.graph import END_LABEL, LatticeArcs, SearchGraph
from xlate.search.settings import LcsSearch
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
        return self._weights_D

    @property
    def weights(self) -> Weights:
        return Weights(self.weights_D.copy(), np.zeros(0), self.model.names)

    @property
    def features(self) -> None:
        """None: there are no sparse features."""
        return

    @property
    def target_vocabulary(self) -> Vocabulary:
        return self.model.target_vocabulary

    def with_weights(self, weights: Weights) -> LcsDecoder:
        return self.changed(weights_D=weights.dense_D)

    def forced_space(self, words: Sequence[str], target: Sequence[str]) -> LatticeMoves:
        """The moves with all predicted blocks that stand in the target."""
        return self.space(words, target)

    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> LatticeMoves:
        self.check_length(words)
        options = collect_lcs_options(self.model, self.search, words, target)
        return LatticeMoves(self.model, self.weights_D, self.search, options)

    def compiled_search(self, space: LatticeMoves, *, every_arc: bool) -> SearchGraph:  # noqa: ARG002
        """The readable search."""
        return search_graph(space, self.limits())

    def derivation(self, space: LatticeMoves, labels: Sequence[int]) -> Derivation[LcsStep]:
        options, steps, place_L = space.options, list[LcsStep](), np.arange(len(labels) + 1, dtype=np.int32)
        for label in labels:
            if label != END_LABEL:
                at = int(options.position_O[label])
                side = side_of(steps[-1].source_span if steps else None, (at, at + 1))
                said = int(options.unit_O[label]), ((at, at + 1),), options.target_O[label], side
                steps.append(LcsStep(*said, float(options.log_O[label])))
        graph = ArcGraph(place_L[:-1], place_L[1:], len(place_L))
        sums_D = space.features(graph, np.array(labels, dtype=np.int32)).sum(axis=0)
        return Derivation(options.words, tuple(steps), sums_D, float(self.weights_D @ sums_D))

    def arc_features(self, space: LatticeMoves, found: LatticeArcs) -> LatticeArcs:
        return found._replace(dense_AD=space.features(found.graph, found.label_A))

    def explain(self, source: Sequence[str], derivation: Derivation[LcsStep]) -> str:
        lines = []
        for step in derivation.steps:
            start, end = step.source_span
            said = {COPIED: "(copied)", DELETED: "(left out)"}.get(step.unit, f"p {np.exp(step.log_p):.3g}")
            lines.append(f"[{start},{end})  {source[start]} -> {' '.join(step.target_words)}  {said}")
        return explained(lines, self.feature_names, self.weights_D, derivation)


def language_alone(names: tuple[str, ...] = NAMES) -> Weights:
    """The weights of the paper: the language model's score and the costs of deletions as they are."""
    dense_D = np.zeros(len(names))
    dense_D[LM], dense_D[DELETION] = 1.0, -1.0
    return Weights(dense_D, np.zeros(0), names)


@dataclass(frozen=True)
class TunedLcs(TunedCosts):
    """The lattice decoder; the weight of deletions is tuned where there are any."""

    @property
    def trained_D(self) -> Bools:
        """All, but that of deletions which the search does not know."""
        trained_D = np.ones(len(self.system.feature_names), dtype=np.bool_)
        trained_D[DELETION] = self.system.search.deletions
        return trained_D

    @property
    def uniform(self) -> Weights:
        """The same for everything that is tuned; deletions cost."""
        dense_D = np.where(self.trained_D, 1.0 / self.trained_D.sum(), 0.0)
        dense_D[DELETION] *= -1.0
        return Weights(dense_D, np.zeros(0), self.system.feature_names)

    def listing(self, weights: Weights) -> Callable[[Any, Sequence[str]], CandidateBatch]:  # noqa: ARG002
        return listed

    def weighted(self, weights: Weights) -> AnySystem:
        return self.system.with_weights(weights)
