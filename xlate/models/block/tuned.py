"""A model over blocks whose weights are all learned, those of its binary features too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xlate.array_types import Bools
from xlate.arrays.ragged import offsets_of
from xlate.candidates.lists import DecodedList
from xlate.features.bigrams import BigramIndex
from xlate.models.block.lists import with_steps
from xlate.models.tuned import TunedCosts
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class TunedBlocks:
    """A system over blocks and the index of its binary features; lists have neighbouring blocks as parts.

    Attributes:
        costs: the same system with all binary features as one float, which knows where floats begin.
        index: the binary features.
    """

    costs: TunedCosts
    index: BigramIndex

    @property
    def vocabulary(self) -> Vocabulary:
        """The target words."""
        return self.costs.vocabulary

    @property
    def growing(self) -> None:
        """None: what features there are is known."""
        return

    @property
    def trained_D(self) -> Bools:
        """The floats that the system has a weight for, and those that may begin at 0."""
        return self.costs.trained_D[:-1]

    @property
    def uniform(self) -> Weights:
        """The same for every float, and the binary weights that the system has."""
        held = self.trained
        return Weights(self.costs.uniform.dense_D[:-1], held.sparse_F, held.dense_names)

    @property
    def trained(self) -> Weights:
        """The weights the system has."""
        held: Weights = self.costs.system.weights
        return held

    def weighted(self, weights: Weights) -> Any:
        """The system under other weights."""
        return self.costs.system.with_weights(weights)

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[DecodedList]:
        """Lists without two hypotheses of the same words, the ids of binary features beside each step."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, partial(with_ids, self.index, self.trained_D), sentences, self.costs.processes)


def with_ids(index: BigramIndex, used_D: Bools, decoder: Any, words: Sequence[str]) -> DecodedList:
    """The n-best list of a sentence with the ids of the binary features of its steps.

    Args:
        index: the binary features.
        used_D: the floats that lists have; the others are 0.
        decoder: of a model over blocks.
        words: the sentence.
    """
    if not words:
        nothing = DecodedList.of_words([np.zeros(0, np.int32)], np.zeros((1, len(used_D))))
        empty, offsets = np.zeros(0, np.int32), np.zeros(1, np.int64)
        return nothing._replace(part_offsets_C1=offsets_of([0]), parts_K=empty, id_offsets_P1=offsets, ids_N=empty)
    found = with_steps(decoder, words, used_D)
    assert found.unit_PU is not None
    id_offsets_P1, ids_N = index.of_units(found.unit_PU)
    return found._replace(
        id_offsets_P1=id_offsets_P1,
        ids_N=ids_N,
        unit_PU=None,
        between_offsets_P1=None,
        between_T=None,
        draws_C=None,
    )
