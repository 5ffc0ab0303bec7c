"""What all models over blocks share: their words, and the weighted binary features of two blocks."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from xlate.array_types import Floats, Ints32, Uints
from xlate.errors import InputError
from xlate.features.bigram_index import BigramIndex, BlockNames
from xlate.features.bigrams import Contexts
from xlate.features.more_floats import MoreFloats
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.features.bigram_features import BigramFamilies, bigram_row, bigrams_weight
from xlate.kernels.search.block_decoder import ModelArrays
from xlate.lm.model import NgramModel
from xlate.models.block.lasting import Reweighted, lasting
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import phrase_finder
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary


class BlockLexicon(Reweighted):
    """Blocks, a language model and F weighted binary features; a model adds its floats.

    Attributes:
        blocks, lm, source_vocabulary: what was prepared.
        feature_keys, feature_weights: sorted keys of a `BigramIndex` and their weights, shape (F,).
        target_vocabulary: numbers of the blocks' target words; None when they are the language model's.
        own_floats: the names of the model's own floats; more: its X optional ones, whose weights stand behind theirs.
    """

    own_floats: ClassVar[tuple[str, ...]]
    blocks: BlockSet
    lm: NgramModel
    source_vocabulary: Vocabulary
    feature_keys: Uints
    feature_weights: Floats
    target_vocabulary: Vocabulary | None
    more: MoreFloats

    @property
    def float_names(self) -> tuple[str, ...]:
        """The names of all floats, in the order of weights."""
        return (*self.own_floats, *self.more.names)

    def check_weights(self, name: str, weights: Floats) -> None:
        """Looks whether there is a weight for each float.

        Raises:
            InputError: weights of another shape or not finite.
        """
        size = len(self.float_names)
        if np.shape(weights) != (size,) or not np.isfinite(weights).all():
            raise InputError(f"the {name} cannot be used", seen=weights, expected=f"{size} finite numbers")

    def check_features(self) -> None:
        """Compares keys and weights.

        Raises:
            InputError: different numbers of them, weights that are not finite, keys that are not sorted.
        """
        keys, weights = np.asarray(self.feature_keys), np.asarray(self.feature_weights)
        if keys.shape != weights.shape or not np.isfinite(weights).all():
            raise InputError(
                "the weights of binary features cannot be used",
                seen=f"{len(keys)} keys, {len(weights)} weights, {int((~np.isfinite(weights)).sum())} not finite",
                expected="one finite weight a key",
            )
        if (keys[1:] <= keys[:-1]).any():
            raise InputError("feature keys are not sorted", expected="ascending keys, each once")

    @lasting
    def feature_index(self) -> BigramIndex:
        """The binary features with their names."""
        names = BlockNames(self.blocks, self.source_vocabulary, self.phrase_vocabulary)
        return BigramIndex(np.asarray(self.feature_keys), names)

    @lasting
    def phrase_vocabulary(self) -> Vocabulary:
        """What the blocks' target words are numbered by."""
        return self.target_vocabulary or self.lm.vocabulary

    @lasting
    def lm_ids_T(self) -> Ints32:
        """The language model's numbers of the words of `blocks.table.target_phrases`, shape (T,)."""
        ids_T = self.blocks.table.target_phrases.ids_T
        if self.target_vocabulary is None or self.target_vocabulary.words == self.lm.vocabulary.words:
            return np.asarray(ids_T)
        return self.lm.map_vocabulary(self.target_vocabulary.words)[ids_T]

    @lasting
    def source_finder(self) -> PhraseFinder:
        """Finds the source phrases of the blocks in a sentence."""
        return phrase_finder(self.blocks.table.source_phrases)

    @property
    def families(self) -> BigramFamilies:
        """All features, those of weight 0 too, by their place among the keys."""
        return self.feature_index.families

    @cached_property
    def arrays(self) -> ModelArrays:
        """What kernels take of the model."""
        weights_F = np.asarray(self.feature_weights, dtype=np.float64)
        return ModelArrays(self.lm.arrays, int(self.lm.begin_state), self.families, weights_F)

    @lasting
    def standing_B(self) -> Ints32:
        """What stands for each of B blocks where every feature counts, those of weight 0 too; see `Contexts`."""
        return Contexts.of(self.families, np.asarray(self.feature_keys)).standing(np.arange(len(self.blocks)))

    def contexts_of(self, block_O: Ints32) -> Ints32:
        """What a search remembers of each of O blocks, that all features with a weight need to know; see `Contexts`."""
        return self._contexts.standing(block_O)

    @cached_property
    def _contexts(self) -> Contexts:
        keys_F: Uints = np.asarray(self.feature_keys)
        return Contexts.of(self.families, keys_F[np.asarray(self.feature_weights) != 0])

    def features_weight(self, predecessor: int, block: int) -> float:
        """The summed weights of the features of (b', b), 0 when one of the two is no block (negative)."""
        if predecessor < 0 or block < 0:
            return 0.0
        return float(bigrams_weight(self.families, self.arrays.feature_weights_F, predecessor, block))

    def features_of(self, predecessor: int, block: int) -> tuple[tuple[str, float], ...]:
        """The weighted features of (b', b) as (name, weight)."""
        if predecessor < 0 or block < 0:
            return ()
        families, weights = self.families, self.feature_weights
        rows = [int(bigram_row(families, family, predecessor, block)) for family in range(len(families.tag_A))]
        known = [row for row in rows if row >= 0 and weights[row] != 0]
        return tuple((self.names.feature(int(self.feature_keys[row])), float(weights[row])) for row in known)

    @lasting
    def names(self) -> BlockNames:
        """Puts blocks and features into words."""
        return BlockNames(self.blocks, self.source_vocabulary, self.phrase_vocabulary)

    def source_words(self, block: int) -> list[str]:
        """The source phrase of a block."""
        table = self.blocks.table
        return self._words(table.source_phrases, int(table.source_B[block]), self.source_vocabulary)

    def target_words(self, block: int) -> list[str]:
        """The target phrase of a block."""
        table = self.blocks.table
        return self._words(table.target_phrases, int(table.target_B[block]), self.phrase_vocabulary)

    @staticmethod
    def _words(phrases: EncodedText, row: int, vocabulary: Vocabulary) -> list[str]:
        return [vocabulary.word(int(word)) for word in phrases[row]]
