"""Systems whose derivations are made of units with scores: phrase pairs, or hierarchical rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError, refuse_if
from xlate.features.index import FeatureIndex
from xlate.kernels.lm import PhrasesAlone
from xlate.kernels.search.best_paths import Paths
from xlate.kernels.search.lattice_passes import arc_language_costs, arc_prefixes
from xlate.models.derivation import COPIED, Derivation, Span, Step, side_of
from xlate.models.system import System, checked_weights
from xlate.models.unit_model import AnyUnitModel, UnitSpace
from xlate.scoring.weights import Weights
from xlate.search.lattice import LatticeArcs
from xlate.search.settings import StackSearch
from xlate.text.vocabulary import END_ID, EncodedText, Vocabulary


class UnitList(Protocol):
    """The best derivations of a sentence as arrays."""

    @property
    def paths(self) -> Paths:
        """The N derivations as L steps in all."""

    @property
    def features_ND(self) -> Floats:
        """The floats of each derivation, (N, D)."""

    @property
    def target_rows(self) -> tuple[AnyInts, PhrasesAlone]:
        """For each step the row of its target phrase, (L,), among those of the sentence's translations."""

    def last_floats(self, ends_N: Bools) -> Floats:
        """The floats of the last step of each derivation, or of its end, (N, D), without those of the language model
        and the sums of sparse features.
        """

    def sparse_ids(self, step_K: AnyInts) -> tuple[Ints, Ints32]:
        """The sparse features of some of the steps: offsets (K + 1) and ids."""

    @property
    def words(self) -> EncodedText:
        """The target words of the N derivations, numbered as by `Numbering`."""


Model = TypeVar("Model", bound=AnyUnitModel)
Moves = TypeVar("Moves", bound=UnitSpace)
Stacks = TypeVar("Stacks", bound=StackSearch)
Listed = TypeVar("Listed", bound=UnitList)
SCORES = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")


class UnitSystem(System[Moves, Stacks], Generic[Model, Moves, Stacks, Listed]):
    """A model of units under weights: float features, and sparse ones whose sums are floats too.

    Args:
        model: units and language model.
        weights_D: in the order of the model's `features`, shape (D,).
        search: settings.
        fast: use the compiled search; the readable one, for stack search only, gives the same derivations and scores.
        sparse_F: weights of the model's sparse features; those missing at the end are 0.

    Raises:
        InputError: float weights of another shape, more sparse weights than features, weights that are not finite, or
            cube pruning without `fast`.
    """

    PARTS = ("model", "weights_D", "search", "fast", "sparse_F")
    NAME: ClassVar[str]

    def __init__(
        self, model: Model, weights_D: Floats, search: Stacks, fast: bool = True, sparse_F: Floats | None = None
    ) -> None:
        self.model, self.search, self.fast = model, search, fast
        self._weights_D = checked_weights(weights_D, model.size)
        # Those of sparse features, (F,) or fewer.
        self.sparse_F = np.zeros(0) if sparse_F is None else np.asarray(sparse_F, np.float64)
        self._check()

    def _check(self) -> None:
        known = 0 if self.features is None else len(self.features)
        seen, expected = f"{len(self.sparse_F)} sparse weights", f"at most {known}, all of them finite"
        refuse_if(
            len(self.sparse_F) > known or not np.isfinite(self.sparse_F).all(),
            "the weights cannot be used",
            seen,
            expected,
        )
        refuse_if(
            self.search.algorithm == "cube" and not self.fast,
            "cube pruning has no readable form",
            None,
            "the compiled search, or algorithm stack",
        )

    @classmethod
    def opened(cls, model: Model, weights: Weights, settings: Stacks) -> Self:
        """The system of a model under weights.

        Raises:
            InputError: the weights are not those of such a model.
        """
        known = 0 if model.sparse is None else len(model.sparse)
        if weights.dense_names != model.columns or len(weights.sparse_F) not in (0, known):
            seen = f"{' '.join(weights.dense_names)} and {len(weights.sparse_F)} sparse weights"
            expected = f"{' '.join(model.columns)} and {known} sparse weights"
            raise InputError(f"not the weights of a {cls.NAME} model", seen, expected)
        return cls(model, weights.dense_D, settings, sparse_F=weights.sparse_F)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the float features, including sums of sparse ones."""
        return self.model.columns

    @property
    def weights_D(self) -> Floats:
        """The float weights in the order of the model's `features`, shape (D,)."""
        return self._weights_D

    @cached_property
    def has_sparse(self) -> bool:
        """Whether any sparse weight is not 0."""
        # Usually the first ones tell, without a scan of hundreds of thousands.
        return bool(self.sparse_F[:1024].any() or self.sparse_F.any())

    @property
    def features(self) -> FeatureIndex | None:
        """The sparse features of the model."""
        return self.model.sparse

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The words of the units."""
        return self.model.target_vocabulary

    def with_weights(self, weights: Weights) -> Self:
        """The same system under other weights."""
        return self.changed(weights_D=weights.dense_D, sparse_F=None if self.features is None else weights.sparse_F)

    @cached_property
    def unlimited(self) -> Self:
        """The system without a limit of options; what it has ranked is kept."""
        most = max(1, len(self.model.table))
        return self if self.search.options >= most else self.with_search(options=most)

    @abstractmethod
    def list_of(self, space: Moves, paths: Paths) -> Listed:
        """Derivations of a space as arrays."""

    def space_list(self, space: Moves) -> Listed:
        """The `nbest` best derivations of a space as arrays."""
        return self.list_of(space, self.nbest_paths(space))

    @abstractmethod
    def steps(self, space: Moves, labels: Sequence[int]) -> tuple[Step, ...]:
        """The units along the labels of a path."""

    def derivations(self, space: Moves, found: Listed) -> list[Derivation[Any]]:
        """The derivations of a list one by one."""
        scores_N, words = found.features_ND @ self.weights_D, space.options.words
        ends, labels = found.paths.offsets_N1.tolist(), found.paths.labels_L.tolist()
        return [
            Derivation(words, self.steps(space, labels[a:b]), features_D, score)
            for a, b, features_D, score in zip(ends, ends[1:], found.features_ND, scores_N.tolist(), strict=False)
        ]

    @property
    def readable(self) -> bool:
        """Whether derivations come from the readable search of all systems."""
        return not self.fast

    def listed(self, space: Moves) -> list[Derivation[Any]]:
        """The `nbest` best derivations of a space, best first."""
        return super().listed(space) if self.readable else self.derivations(space, self.space_list(space))

    def arc_features(self, space: Moves, found: LatticeArcs) -> LatticeArcs:
        """Floats and sparse features of the arcs, sums of the latter left at 0.

        Whatever a feature considers before a unit comes from the best way to it. Decoders keep apart what features
        consider, except for orientations of the previous phrase whose weights are 0.
        """
        listed = self.list_of(space, Paths(*arc_prefixes(found.graph, found.score_A, found.label_A)))
        arcs, lm = np.flatnonzero(found.label_A >= 0), self.model.lm
        last_K = listed.paths.offsets_N1[arcs + 1] - 1
        phrase_A, (phrase_L, phrases) = np.full(len(found.label_A), -1, np.int32), listed.target_rows
        phrase_A[arcs] = phrase_L[last_K]
        words = phrases.words_W, phrases.offsets_O1
        costs_A2 = arc_language_costs(lm.arrays, int(lm.begin_state), END_ID, found.graph, phrase_A, *words)
        dense_AD = listed.last_floats(found.label_A < 0)
        dense_AD[:, self.model.slots["LM0"].start] = -costs_A2.sum(axis=1)
        if self.features is None:
            return found._replace(dense_AD=dense_AD)
        offsets_K1, ids_M = listed.sparse_ids(last_K)
        lengths_A = np.zeros(len(phrase_A), np.int64)
        lengths_A[arcs] = np.diff(offsets_K1)
        return found._replace(dense_AD=dense_AD, sparse_offsets_A1=offsets_of(lengths_A), sparse_ids_M=ids_M)

    def shown_units(self, source: Sequence[str], derivation: Derivation[Any]) -> Iterator[str]:
        """Each unit of a derivation in words."""
        return (step.shown(source) for step in derivation.steps)

    def shown_steps(self, source: Sequence[str], derivation: Derivation[Any]) -> Iterator[str]:
        """Each unit in words, with its scores.

        Example: `[0,2)  das haus -> the house  p(f|e) 0.6, lex(f|e) 0.4, p(e|f) 0.8, lex(e|f) 0.5  (N=12)`
        """
        for shown, step in zip(self.shown_units(source, derivation), derivation.steps, strict=True):
            known = "(copied)" if step.unit == COPIED else "(term)"
            if step.unit >= 0:
                scores_4 = zip(SCORES, self.model.table.scores_B4[step.unit], strict=True)
                scores = ", ".join(f"{name} {p:.3g}" for name, p in scores_4)
                known = f"{scores}  (N={self.model.table.count_B[step.unit]:g})"
            yield f"{shown}  {known}"

    def shown_features(self, derivation: Derivation[Any]) -> Iterator[tuple[str, Sequence[float]]]:
        """The name and the values of each feature; a feature such as the table's scores has several values."""
        for name, part in self.model.slots.items():
            yield name, derivation.features_D[part].tolist()

    def word_links(self, derivation: Derivation[Any]) -> list[Span]:
        """The word links inside the units, in the target order of the units; those of a copied word or a term are all
        pairs of its words.
        """
        links = []
        for step, (start, _) in zip(derivation.steps, derivation.target_spans, strict=True):
            places = step.places
            every = product(range(len(places)), range(len(step.target_words)))
            inside = every if step.unit < 0 else self.model.table.links(step.unit)
            links += [(places[s], start + t) for s, t in inside]
        return links

    def orientations(self, derivation: Derivation[Any]) -> list[int]:
        """The orientation of each unit relative to the unit before it, by their own source words."""
        spans = [(0, 0), *(step.source_span for step in derivation.steps)]
        return [side_of(before, span) for before, span in pairwise(spans)]
