"""The phrase-distortion model as the decoder sees it: blocks, language model, jump costs and weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.features.block import DISTORTION_FLOATS
from xlate.lm.model import NgramModel
from xlate.models.block.lexicon import BlockLexicon
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.text.vocabulary import Vocabulary

DIRECT, MODEL1, LM_FIRST, LM_REST, INBOUND, OUTBOUND, LENGTH = range(7)


@dataclass(frozen=True)
class DistortionModel(BlockLexicon):
    """Blocks with one weight for each of the floats (a)-(g) of TZ07, Table V, and for each of F binary features.

    Attributes:
        blocks, lm, source_vocabulary: what was prepared.
        weights: of (a) to (g), shape (7,).
        distortion: jump costs by source word; model1_B: -ln p(S|T) of every block under Model 1.
        feature_keys, feature_weights, target_vocabulary: as in `BlockLexicon`.

    Raises:
        InputError: weights of another shape or not finite, or feature keys that are not sorted.
    """

    kind: ClassVar[str] = "distortion"

    blocks: BlockSet
    lm: NgramModel
    source_vocabulary: Vocabulary
    weights: NDArray[np.float64]
    distortion: Distortion
    model1_B: NDArray[np.float32]
    feature_keys: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    feature_weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    target_vocabulary: Vocabulary | None = None

    def __post_init__(self) -> None:
        """Checks the weights."""
        if np.shape(self.weights) != (len(DISTORTION_FLOATS),) or not np.isfinite(self.weights).all():
            raise InputError("the weights cannot be used", seen=self.weights, expected="7 finite numbers")
        self.check_features()
