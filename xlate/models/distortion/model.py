"""The phrase-distortion model as the decoder sees it, and the blocks that may translate the spans of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from xlate.array_types import Floats, Floats32, Ints, Ints32, Uints
from xlate.features.block import DISTORTION_FLOATS
from xlate.features.more_floats import MoreFloats
from xlate.lm.model import NgramModel
from xlate.models.block.model import LM_FIRST, LM_REST, BlockLexicon, lasting
from xlate.models.block.options import SpanOptions, options_of_cells
from xlate.models.derivation import COPIED
from xlate.models.distortion.settings import DistortionSearch
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.text.vocabulary import BEGIN_ID, Vocabulary

DIRECT, MODEL1, _, _, INBOUND, OUTBOUND, LENGTH = range(len(DISTORTION_FLOATS))


@dataclass(frozen=True)
class DistortionModel(BlockLexicon):
    """Blocks with weights of floats, (a)-(g) of TZ07, Table V, and optional ones, and one per binary feature, F in all.

    Attributes:
        blocks, lm, source_vocabulary: what was prepared.
        weights: of (a) to (g) and of the optional floats, shape (7 + X,).
        distortion: jump costs by source word; model1_B: -ln p(S|T) of every block under Model 1.
        feature_keys, feature_weights, target_vocabulary, more: as in `BlockLexicon`.
        direct_discount: taken off counts before the direct cost, as in training.

    Raises:
        InputError: weights of another shape or not finite, or feature keys that are not sorted.
    """

    own_floats: ClassVar[tuple[str, ...]] = DISTORTION_FLOATS

    blocks: BlockSet
    lm: NgramModel
    source_vocabulary: Vocabulary
    weights: Floats
    distortion: Distortion
    model1_B: Floats32
    feature_keys: Uints = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    feature_weights: Floats = field(default_factory=lambda: np.zeros(0))
    target_vocabulary: Vocabulary | None = None
    more: MoreFloats = field(default_factory=MoreFloats.none)
    direct_discount: float = 0.0

    @lasting
    def direct_cost_B(self) -> Floats32:
        """(a) of every block."""
        return self.blocks.direct_cost_B(self.direct_discount)

    def __post_init__(self) -> None:
        self.check(weights=self.weights)


@dataclass(frozen=True, kw_only=True)
class JumpOptions(SpanOptions):
    """Options of the phrase-distortion model, with the costs of jumps between all positions.

    `floats_O3` are direct, Model 1 and length costs, `static_O` the weighted sum of them and the optional floats,
    `alone_O` that and the language model's from an empty history. `inbound_1n[e, s]` and `outbound_1n[e, s]` are the
    costs of going on at position s when the last block ended before e, 0 standing for the beginning of the sentence;
    `jump_1n` is their weighted sum.
    """

    floats_O3: Floats
    static_O: Floats
    inbound_1n: Floats
    outbound_1n: Floats
    jump_1n: Floats


def jump_options(
    model: DistortionModel, search: DistortionSearch, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32
) -> JumpOptions:
    """Costs of the options and of the jumps between all positions, and their weighted sums.

    A word that is copied has the fixed costs of the search settings.
    """
    common, first_O, rest_O = options_of_cells(model, words, longest, cells, block_O)
    copied_O, weights = block_O == COPIED, np.asarray(model.weights, dtype=np.float64)
    known_O = np.where(copied_O, 0, block_O)
    floats_O3 = np.zeros((len(block_O), 3))
    if len(model.blocks.table):
        floats_O3[:, 0] = model.direct_cost_B[known_O]
        floats_O3[:, 1] = model.model1_B[known_O]
    floats_O3[copied_O, 0], floats_O3[copied_O, 1] = search.unknown_direct, search.unknown_model1
    floats_O3[:, 2] = -np.diff(common["phrase_offsets_O1"])
    static_O = floats_O3 @ weights[[DIRECT, MODEL1, LENGTH]] + common["more_OX"] @ weights[len(model.own_floats) :]
    ids_n, reach = model.source_vocabulary.ids(words).astype(np.int64), model.distortion.reach
    left_1 = np.concatenate([[BEGIN_ID], ids_n])
    jump_1n = np.arange(len(words))[None, :] - np.arange(len(words) + 1)[:, None] + 1
    column_1n = np.clip(jump_1n, -reach, reach) + reach
    inbound_1n = model.distortion.inbound_VK[ids_n[None, :], column_1n].astype(np.float64)
    outbound_1n = model.distortion.outbound_VK[left_1[:, None], column_1n].astype(np.float64)
    return JumpOptions(
        **common,
        floats_O3=floats_O3,
        static_O=static_O,
        alone_O=static_O + weights[LM_FIRST] * first_O + weights[LM_REST] * rest_O,
        inbound_1n=inbound_1n,
        outbound_1n=outbound_1n,
        jump_1n=weights[INBOUND] * inbound_1n + weights[OUTBOUND] * outbound_1n,
    )
