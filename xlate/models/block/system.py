"""Systems whose derivations are sequences of blocks: what the orientation and the phrase-distortion model share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from xlate.features.bigram_index import BigramIndex
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.explain import explain
from xlate.models.block.lexicon import BlockLexicon
from xlate.models.block.settings import BlocksSearch
from xlate.models.block.steps import BlockDerivation
from xlate.models.system import Space, System
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
    def step_floats(
        self, space: Space, graph: ArcGraph, label_A: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The floats of arcs in the order of `weights`, (A, D), and which ask for the block before, (A,)."""

    def explain(self, source: Sequence[str], derivation: BlockDerivation) -> str:
        """Block by block."""
        return explain(self.model, source, derivation)


AnyBlockSystem = BlockSystem[Any, Any, Any]
