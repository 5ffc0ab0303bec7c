"""Models over blocks: what they share, and the block bigram model by orientation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from xlate.array_types import NO_INTS32, Floats, Floats32, Ints32, Uints
from xlate.errors import InputError, refuse_if
from xlate.features.block import FLOATS, BigramIndex, BlockNames, MoreFloats, standing
from xlate.kernels.features.blocks import BigramFamilies, BlockArrays, DistortionArrays
from xlate.kernels.search.block_decoder import ModelArrays
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.table import PhraseTable
from xlate.text.vocabulary import Vocabulary

# The floats of the language model have the same places in every model over blocks.
UNIGRAM, ORIENTATION, LM_FIRST, LM_REST, LEXICAL = range(len(FLOATS))


@dataclass(frozen=True)
class BlockLexicon:
    """Blocks, a language model and F weighted binary features; a model adds its floats.

    A model is used under one weight vector after another.

    Attributes:
        LASTING: what does not depend on its weights; all copies that `reweighted` makes share it.
        WEIGHTS: the fields that hold weights of floats, each of shape (D,) for D floats, in the order of `dense_names`.
        blocks, lm, source_vocabulary: what was prepared.
        feature_keys, feature_weights: sorted keys of a `BigramIndex` and their weights, shape (F,).
        target_vocabulary: the numbers of the blocks' target words.
        own_floats: the names of the model's own floats; more: its X optional ones, whose weights follow theirs.
    """

    LASTING: ClassVar[tuple[str, ...]] = ("feature_index", "lm_ids_T")
    WEIGHTS: ClassVar[tuple[str, ...]]
    own_floats: ClassVar[tuple[str, ...]]
    blocks: BlockSet
    lm: NgramModel
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    feature_keys: Uints = field(default_factory=lambda: np.zeros(0, np.uint64), kw_only=True)
    feature_weights: Floats = field(default_factory=lambda: np.zeros(0), kw_only=True)
    more: MoreFloats = field(default_factory=MoreFloats.none, kw_only=True)

    def reweighted(self, **weights: Any) -> Self:
        """A copy with other weights, given by the names of its fields, that reuses the values in `LASTING`."""
        other = replace(self, **weights)
        other.__dict__.update({name: getattr(self, name) for name in self.LASTING})
        return other

    @property
    def float_names(self) -> tuple[str, ...]:
        """The names of all floats, in the order of weights."""
        return (*self.own_floats, *self.more.names)

    @property
    def dense_names(self) -> tuple[str, ...]:
        """The names of the weights of floats."""
        return self.float_names

    def __post_init__(self) -> None:
        """Checks that there is a weight for each float, and for each binary feature."""
        size, given = len(self.float_names), np.asarray(self.feature_weights)
        for name in self.WEIGHTS:
            float_weights = getattr(self, name)
            if np.shape(float_weights) != (size,) or not np.isfinite(float_weights).all():
                what = name if name == "weights" else f"{name} weights"
                raise InputError(f"the {what} cannot be used", float_weights, f"{size} finite numbers")
        keys = np.asarray(self.feature_keys)
        if keys.shape != given.shape or not np.isfinite(given).all():
            raise InputError(
                "the weights of binary features cannot be used",
                f"{len(keys)} keys, {len(given)} weights, {int((~np.isfinite(given)).sum())} not finite",
                "one finite weight per key",
            )
        refuse_if((keys[1:] <= keys[:-1]).any(), "feature keys are not sorted", None, "ascending keys, each once")

    @property
    def table(self) -> PhraseTable:
        """The phrase pairs that are blocks."""
        return self.blocks.table

    @cached_property
    def feature_index(self) -> BigramIndex:
        """The binary features with their names."""
        names = BlockNames(self.blocks, self.source_vocabulary, self.target_vocabulary)
        return BigramIndex(np.asarray(self.feature_keys), names)

    @cached_property
    def lm_ids_T(self) -> Ints32:
        """The language model's numbers of the words of `table.target_phrases`, shape (T,)."""
        ids_T = self.table.target_phrases.ids_T
        if self.target_vocabulary.words == self.lm.vocabulary.words:
            return np.asarray(ids_T)
        return self.lm.vocabulary.ids(self.target_vocabulary.words)[ids_T]

    @property
    def families(self) -> BigramFamilies:
        """All features, those of weight 0 too, by their place among the keys."""
        return self.feature_index.families

    @cached_property
    def arrays(self) -> ModelArrays:
        """The model in the form that kernels take."""
        weights_F = np.asarray(self.feature_weights, np.float64)
        return ModelArrays(self.lm.arrays, int(self.lm.begin_state), self.families, weights_F)

    @cached_property
    def standing_B1(self) -> Ints32:
        """What a search must remember about each of B blocks, by features that have a weight; see `standing`."""
        return standing(self.families, np.asarray(self.feature_keys)[np.asarray(self.feature_weights) != 0])

    @property
    def feature_arrays(self) -> BlockArrays:
        """What the features of candidates are computed from."""
        blocks, table, (options_P1, option_O) = self.blocks, self.table, self.blocks.options
        none_B, none_V = np.zeros(0, np.float32), np.zeros((0, 1), np.float32)
        return BlockArrays(
            unigram_B=blocks.unigram_cost_B,
            orientation_B2=np.zeros((0, 2), np.float32),
            lexical_B=np.ascontiguousarray(blocks.lexical_B),
            source_B=np.ascontiguousarray(table.source_B),
            options_P1=options_P1,
            option_O=option_O,
            target_B=np.ascontiguousarray(table.target_B),
            target_words_T=np.ascontiguousarray(self.lm_ids_T),
            target_offsets_Q1=np.ascontiguousarray(table.target_phrases.offsets_S1),
            bigrams=self.families,
            distortion=DistortionArrays(none_B, none_B, NO_INTS32, NO_INTS32, none_V, none_V),
            more_BX=self.more.cost_BX,
            oriented=False,
            dense=len(self.float_names),
        )

    def target_words(self, block: int) -> tuple[str, ...]:
        """The target phrase of a block."""
        table = self.table
        return self.target_vocabulary.words_of(table.target_phrases[int(table.target_B[block])])


@dataclass(frozen=True)
class BlockModel(BlockLexicon):
    """Blocks with two weight vectors over floats, (a)-(e) and optional ones, and one for each of F binary features.

    The floats are costs (negative natural logs), so trained weights are usually negative. `linked` scores blocks to
    the left or right of their predecessor, `neutral` all others (TZ07 section 5.1).

    Attributes:
        linked, neutral: weights of (a) to (e) and of the optional floats, shape (5 + X,).
        orientation_smoothing: added to N_L(b) and N_R(b) before (b) is computed, as in training.
        unigram_per_word: whether (a) is divided by the source words in candidates too, as it is in decoding.

    Raises:
        InputError: weights of another shape or not finite, or bigram keys that are not sorted.
    """

    LASTING = (*BlockLexicon.LASTING, "orientation_cost_B2")
    WEIGHTS = ("linked", "neutral")
    own_floats = FLOATS

    linked: Floats
    neutral: Floats
    orientation_smoothing: float = 0.5
    unigram_per_word: bool = False

    @property
    def dense_names(self) -> tuple[str, ...]:
        """The names of the floats of L and R steps, then of N steps."""
        return tuple(f"{kind}_{name}" for kind in self.WEIGHTS for name in self.float_names)

    @cached_property
    def orientation_cost_B2(self) -> Floats32:
        """(b) for o = L, R of every block."""
        return self.blocks.orientation_cost_B2(self.orientation_smoothing)

    @property
    def feature_arrays(self) -> BlockArrays:
        unigram_B = self.blocks.unigram_cost_per_word_B if self.unigram_per_word else self.blocks.unigram_cost_B
        sides_B2 = self.orientation_cost_B2
        return super().feature_arrays._replace(unigram_B=unigram_B, orientation_B2=sides_B2, oriented=True)
