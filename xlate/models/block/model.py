"""The block bigram model as the decoder sees it: blocks, language model and weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from xlate.array_types import Floats, Floats32, Uints
from xlate.features.block import FLOATS, MoreFloats
from xlate.lm.model import NgramModel
from xlate.models.block.lasting import lasting
from xlate.models.block.lexicon import BlockLexicon
from xlate.phrases.blocks import BlockSet
from xlate.text.vocabulary import Vocabulary

UNIGRAM, ORIENTATION, LM_FIRST, LM_REST, LEXICAL = range(len(FLOATS))


@dataclass(frozen=True)
class BlockModel(BlockLexicon):
    """Blocks with two weight vectors over floats, (a)-(e) and optional ones, and one for each of F binary features.

    The floats are costs (negative natural logs), so trained weights are negative as a rule. `linked` scores blocks to
    the left or right of their predecessor, `neutral` all others (TZ07 section 5.1).

    Attributes:
        blocks, lm, source_vocabulary: what was prepared.
        linked, neutral: weights of (a) to (e) and of the optional floats, shape (5 + X,).
        feature_keys, feature_weights: sorted keys of a `BigramIndex` and their weights, shape (F,).
        target_vocabulary: numbers of the blocks' target words; None when they are the language model's.
        orientation_smoothing: added to N_L(b) and N_R(b) before (b) is taken, as in training.
        more: the optional floats.

    Raises:
        InputError: weights of another shape or not finite, or bigram keys that are not sorted.
    """

    kind: ClassVar[str] = "orientation"
    own_floats: ClassVar[tuple[str, ...]] = FLOATS

    blocks: BlockSet
    lm: NgramModel
    source_vocabulary: Vocabulary
    linked: Floats
    neutral: Floats
    feature_keys: Uints = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    feature_weights: Floats = field(default_factory=lambda: np.zeros(0))
    target_vocabulary: Vocabulary | None = None
    orientation_smoothing: float = 0.5
    more: MoreFloats = field(default_factory=MoreFloats.none)

    def __post_init__(self) -> None:
        """Checks the weights."""
        self.check_weights("linked weights", self.linked)
        self.check_weights("neutral weights", self.neutral)
        self.check_features()

    @property
    def dense_names(self) -> tuple[str, ...]:
        """The names of the floats of L and R steps, then of N steps."""
        return tuple(f"{kind}_{name}" for kind in ("linked", "neutral") for name in self.float_names)

    @lasting
    def orientation_cost_B2(self) -> Floats32:
        """(b) for o = L, R of every block."""
        return self.blocks.orientation_cost_B2(self.orientation_smoothing)
