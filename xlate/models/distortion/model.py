"""The phrase-distortion model as the decoder sees it, and the blocks that may translate the spans of a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xlate.array_types import Floats, Floats32
from xlate.features.block import DISTORTION_FLOATS
from xlate.models.block.model import BlockLexicon, lasting
from xlate.models.block.options import SpanOptions
from xlate.phrases.distortion import Distortion

DIRECT, MODEL1, _, _, INBOUND, OUTBOUND, LENGTH = range(len(DISTORTION_FLOATS))


@dataclass(frozen=True)
class DistortionModel(BlockLexicon):
    """Blocks with weights of floats, (a)-(g) of TZ07, Table V, and optional ones, and one per binary feature, F in all.

    Attributes:
        weights: of (a) to (g) and of the optional floats, shape (7 + X,).
        distortion: jump costs by source word; model1_B: -ln p(S|T) of every block under Model 1.
        direct_discount: taken off counts before the direct cost, as in training.

    Raises:
        InputError: weights of another shape or not finite, or feature keys that are not sorted.
    """

    own_floats: ClassVar[tuple[str, ...]] = DISTORTION_FLOATS

    weights: Floats
    distortion: Distortion
    model1_B: Floats32
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
