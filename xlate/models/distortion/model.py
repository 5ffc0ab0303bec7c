"""The phrase-distortion model as the decoder sees it: blocks, language model, jump costs and weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from xlate.array_types import Floats, Floats32, Uints
from xlate.features.block import DISTORTION_FLOATS, MoreFloats
from xlate.lm.model import NgramModel
from xlate.models.block.lasting import lasting
from xlate.models.block.lexicon import BlockLexicon
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.text.vocabulary import Vocabulary

DIRECT, MODEL1, LM_FIRST, LM_REST, INBOUND, OUTBOUND, LENGTH = range(len(DISTORTION_FLOATS))


@dataclass(frozen=True)
class DistortionModel(BlockLexicon):
    """Blocks with weights of floats, (a)-(g) of TZ07, Table V, and optional ones, and one a binary feature, F in all.

    Attributes:
        blocks, lm, source_vocabulary: what was prepared.
        weights: of (a) to (g) and of the optional floats, shape (7 + X,).
        distortion: jump costs by source word; model1_B: -ln p(S|T) of every block under Model 1.
        feature_keys, feature_weights, target_vocabulary, more: as in `BlockLexicon`.
        direct_discount: taken off counts before the direct cost, as in training.

    Raises:
        InputError: weights of another shape or not finite, or feature keys that are not sorted.
    """

    kind: ClassVar[str] = "distortion"
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
        """Checks the weights."""
        self.check_weights("weights", self.weights)
        self.check_features()
