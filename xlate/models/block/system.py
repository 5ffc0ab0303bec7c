"""Systems whose derivations are sequences of blocks: what the orientation and the phrase-distortion model share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from xlate.array_types import Bools, Floats, Ints32
from xlate.arrays.ragged import offsets_of, places_of
from xlate.features.bigrams import BigramIndex
from xlate.kernels.search.best_paths import Texts, k_best_paths
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.explain import explain
from xlate.models.block.lexicon import BlockLexicon
from xlate.models.block.options import SpanOptions
from xlate.models.block.settings import BlocksSearch
from xlate.models.block.steps import BlockDerivation
from xlate.models.option_words import numbered_words
from xlate.models.system import Space, System
from xlate.search.space import END_LABEL
from xlate.text.vocabulary import Vocabulary

Lexicon = TypeVar("Lexicon", bound=BlockLexicon)
Blocks = TypeVar("Blocks", bound=BlocksSearch)


class BlockSystem(System[Space, Blocks], Generic[Lexicon, Space, Blocks]):
    """Floats of blocks, and binary features of a block and the one before.

    Args:
        model: blocks, language model, weights.
        search: settings.
        fast: the compiled search; the readable one gives the same derivations and scores.

    Attributes:
        LABELS: how many labels of a search space each option has, one behind the other.
    """

    SEARCH: ClassVar[type[BlocksSearch]]
    LABELS: ClassVar[int] = 1

    def __init__(self, model: Lexicon, search: Blocks | None = None, fast: bool = True) -> None:
        self.model = model
        self.search = search or self.SEARCH()  # type: ignore[assignment]  # a class cannot name its parameter's class
        self.fast = fast

    @property
    def features(self) -> BigramIndex:
        """The binary features of a block and its predecessor."""
        return self.model.feature_index

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The words of the blocks."""
        return self.model.phrase_vocabulary

    @abstractmethod
    def step_floats(self, space: Space, graph: ArcGraph, label_A: Ints32) -> tuple[Floats, Bools]:
        """The floats of arcs in the order of `weights`, (A, D), and which ask for the block before, (A,)."""

    def nbest_labels(self, space: Space) -> list[list[int]]:
        """The labels of the `nbest` best paths through a space, best first."""
        if not self.fast:
            return super().nbest_labels(space)
        arcs = self.search_space(space, every_arc=True).arcs
        offsets_N1, labels_L, _ = k_best_paths(arcs, self.texts(space), self.search.nbest)
        labels = labels_L.tolist()
        return [[*labels[a:b], END_LABEL] for a, b in pairwise(offsets_N1.tolist())]

    def texts(self, space: Any) -> Texts:
        """The target words of each label of a space."""
        options: SpanOptions = space.options
        offsets_O1 = options.phrase_offsets_O1
        ids_W = numbered_words(
            self.model.blocks.table,
            self.model.phrase_vocabulary,
            options.words,
            options.block_O,
            options.start_O,
            offsets_O1,
        )
        if self.LABELS == 1:
            return Texts(offsets_O1, ids_W, self.search.distinct)
        option = np.repeat(np.arange(len(options)), self.LABELS)
        ids_W = ids_W[places_of(offsets_O1, option)]
        return Texts(offsets_of(np.diff(offsets_O1)[option]), ids_W, self.search.distinct)

    def explain(self, source: Sequence[str], derivation: BlockDerivation) -> str:
        """Block by block."""
        return explain(self.model, source, derivation)


AnyBlockSystem = BlockSystem[Any, Any, Any]
