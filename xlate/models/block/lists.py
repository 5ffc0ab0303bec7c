"""The n-best list of a sentence under a model over blocks as arrays: floats, words, and pairs of neighbouring blocks.

Pairs say nothing of families, so that a text is decoded once for all of them. The readable form are the derivations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.arrays.ragged import offsets_of, places_of
from xlate.candidates.decoded import DecodedList, Draw
from xlate.errors import InputError
from xlate.kernels.search.best_paths import k_best_paths, sample_paths
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.moves import NO_BLOCK
from xlate.models.block.system import AnyBlockSystem
from xlate.models.derivation import END
from xlate.search.space import END_LABEL


def with_units(decoder: AnyBlockSystem, words: Sequence[str], draw: Draw | None = None) -> DecodedList:
    """The n-best list of a sentence, or derivations that are drawn; units are pairs of a block and the one before.

    A float without weight is 0.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    return with_steps(decoder, words, decoder.weights.dense_D != 0, draw)


def with_steps(decoder: AnyBlockSystem, words: Sequence[str], used_D: Bools, draw: Draw | None = None) -> DecodedList:
    """As `with_units`, with the floats of `used_D`; the others are 0."""
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
    paths = _Paths(offsets_N1, labels_L)
    floats_AD, asks_A = decoder.step_floats(space, paths.graph, paths.label_A)
    floats_CD = np.add.reduceat(floats_AD, paths.first_N, axis=0) if len(draws_C) else floats_AD[:0]
    parts_K, unit_PU = _units(paths, space.options.block_O, decoder.LABELS, asks_A)
    return DecodedList(
        np.where(used_D, floats_CD, 0.0).astype(np.float32),
        offsets_of(np.diff(texts.offsets_O1)[labels_L])[offsets_N1],
        texts.words_W[places_of(texts.offsets_O1, labels_L)],
        part_offsets_C1=offsets_N1,
        parts_K=parts_K,
        unit_PU=unit_PU,
        between_offsets_P1=np.zeros(len(unit_PU) + 1, dtype=np.int64),
        between_T=np.zeros(0, dtype=np.int32),
        draws_C=draws_C,
    )


def _units(paths: _Paths, block_O: Ints32, labels: int, asks_A: Bools) -> tuple[Ints32, Ints32]:
    """The steps of all paths as numbers of different units, (L,), and those as (block before, block), (P, 2).

    The block before is `NO_BLOCK` where there is none or none is asked for.
    """
    block_A = np.where(paths.label_A < 0, END, block_O[paths.label_A // labels]).astype(np.int32)
    before_A = np.full(len(block_A), NO_BLOCK, dtype=np.int32)
    before_A[1:] = block_A[:-1]
    before_A[paths.first_N] = NO_BLOCK
    before_A[~asks_A] = NO_BLOCK
    pairs_L2 = np.stack([before_A, block_A], axis=1)[paths.label_A >= 0]
    keys_L = (pairs_L2[:, 0].astype(np.int64) << 32) + pairs_L2[:, 1]
    _, first_P, parts_L = np.unique(keys_L, return_index=True, return_inverse=True)
    return parts_L.reshape(-1).astype(np.int32), pairs_L2[first_P]


@dataclass(frozen=True)
class _Paths:
    """N paths as a graph of their own in which none shares a node but the start, each with the arc of its end."""

    offsets_N1: Ints
    labels_L: Ints32

    @cached_property
    def label_A(self) -> Ints32:
        """The labels of all arcs, path by path."""
        label_A: Ints32 = np.insert(self.labels_L, self.offsets_N1[1:], END_LABEL).astype(np.int32)
        return label_A

    @cached_property
    def first_N(self) -> Ints:
        """The first arc of each path."""
        first_N: Ints = self.offsets_N1[:-1] + np.arange(len(self.offsets_N1) - 1)
        return first_N

    @cached_property
    def graph(self) -> ArcGraph:
        """The arcs: arc a leads to node a + 1."""
        source_A = np.arange(len(self.label_A), dtype=np.int32)
        source_A[self.first_N] = 0
        return ArcGraph(source_A, np.arange(1, len(source_A) + 1, dtype=np.int32), len(source_A) + 1)
