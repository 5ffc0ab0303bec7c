"""Lists of models over blocks as arrays, and such a model whose weights are all learned, those of its bigrams too.

Lists have floats, words, and pairs of neighbouring blocks. Pairs say nothing of families, so that a text is decoded
once for all of them. The readable form are the derivations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.arrays.ragged import offsets_of, places_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import Draw, decoded, of_no_words, with_ids, with_steps
from xlate.errors import InputError
from xlate.kernels.search.best_paths import k_best_paths, sample_paths
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.moves import NO_BLOCK
from xlate.models.block.system import AnyBlockSystem
from xlate.models.system import AnySystem
from xlate.models.tuned import TunedCosts
from xlate.scoring.weights import Weights
from xlate.search.graph import END_LABEL
from xlate.text.encoded import EncodedText


def with_units(
    decoder: AnyBlockSystem, words: Sequence[str], draw: Draw | None = None, used_D: Bools | None = None
) -> CandidateBatch:
    """The n-best list of a sentence, or derivations that are drawn; units are pairs of a block and the one before.

    A float that is not among `used_D`, without these one without weight, is 0.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    if not words:
        raise InputError("an empty sentence has no list", expected="one word or more")
    space, search = decoder.space(words), decoder.search
    arcs = decoder.search_space(space, every_arc=True).arcs
    texts = decoder.texts(space)
    if draw is None:
        offsets_N1, labels_L, _ = k_best_paths(arcs, texts, search.nbest)
        draws_C = np.zeros(len(offsets_N1) - 1, dtype=np.int32)
    else:
        generator = np.random.default_rng(draw.seed_of(words))
        offsets_N1, labels_L, drawn_C = sample_paths(arcs, draw.scale, draw.draws, generator)
        draws_C = drawn_C.astype(np.int32)
    # The paths as a graph of their own in which none shares a node but the start: arc a leads to node a + 1.
    label_A = np.insert(labels_L, offsets_N1[1:], END_LABEL).astype(np.int32)
    first_N = offsets_N1[:-1] + np.arange(len(draws_C))
    source_A = np.arange(len(label_A), dtype=np.int32)
    source_A[first_N] = 0
    graph = ArcGraph(source_A, np.arange(1, len(source_A) + 1, dtype=np.int32), len(source_A) + 1)
    floats_AD = decoder.step_floats(space, graph, label_A)
    floats_CD = np.add.reduceat(floats_AD, first_N, axis=0) if len(draws_C) else floats_AD[:0]
    parts_K, unit_PU = _units(decoder.blocks_of(space, label_A), decoder.asks(label_A), label_A >= 0, first_N)
    words_T = texts.words_W[places_of(texts.offsets_O1, labels_L)]
    found = decoded(
        np.where(decoder.weights.dense_D != 0 if used_D is None else used_D, floats_CD, 0.0),
        EncodedText(words_T, offsets_of(np.diff(texts.offsets_O1)[labels_L])[offsets_N1]),
    )
    return with_steps(replace(found, draws_C=draws_C), offsets_N1, parts_K, units=unit_PU)


def _units(block_A: Ints32, asks_A: Bools, inner_A: Bools, first_N: Ints) -> tuple[Ints32, Ints32]:
    """The steps of all paths as numbers of different units, (L,), and those as (block before, block), (P, 2).

    The block before is `NO_BLOCK` where there is none or none is asked for.
    """
    before_A = np.full(len(block_A), NO_BLOCK, dtype=np.int32)
    before_A[1:] = block_A[:-1]
    before_A[first_N] = NO_BLOCK
    before_A[~asks_A] = NO_BLOCK
    pairs_L2 = np.stack([before_A, block_A], axis=1)[inner_A]
    keys_L = (pairs_L2[:, 0].astype(np.int64) << 32) + pairs_L2[:, 1]
    _, first_P, parts_L = np.unique(keys_L, return_index=True, return_inverse=True)
    return parts_L.reshape(-1).astype(np.int32), pairs_L2[first_P]


@dataclass(frozen=True)
class TunedBlocks(TunedCosts):
    """A system over blocks whose binary features are tuned, too; lists have neighbouring blocks as parts."""

    @property
    def trained_D(self) -> Bools:
        """The floats that the system has a weight for, and those that may begin at 0."""
        return super().trained_D[:-1]

    @property
    def uniform(self) -> Weights:
        """The same for every float, and the binary weights that the system has."""
        held, used_D = self.trained, self.trained_D
        dense_D = np.where(used_D, -1.0 / max(int(used_D.sum()), 1), 0.0)
        return Weights(dense_D, held.sparse_F, held.dense_names)

    @property
    def trained(self) -> Weights:
        held: Weights = self.system.weights
        return held

    def weighted(self, weights: Weights) -> AnySystem:
        return self.system.with_weights(weights)

    def listing(self, weights: Weights) -> Callable[[Any, Sequence[str]], CandidateBatch]:  # noqa: ARG002
        """The function that makes the list of a sentence, with the ids of the binary features of each step."""
        return partial(_with_ids, self.trained_D)


def _with_ids(used_D: Bools, decoder: AnyBlockSystem, words: Sequence[str]) -> CandidateBatch:
    """The n-best list of a sentence with the ids of the binary features of its steps; floats but those used are 0."""
    if not words:
        nothing = np.zeros(2, np.int64), np.zeros(0, np.int32)
        return with_steps(of_no_words(len(used_D)), *nothing, ids=(nothing[0][:1], nothing[1]))
    found = with_ids(with_units(decoder, words, used_D=used_D), decoder.features)
    return replace(found, draws_C=None)
