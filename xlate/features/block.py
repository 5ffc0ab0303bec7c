"""The features of a block given its predecessor: dense costs and sparse bigram features (TZ07, Table III).

Dense features are costs, negative natural logs. The orientation model has

    unigram      (a)  -ln p(b)
    orientation  (b)  -ln p_o(b), 0 for a neutral block
    lm_first     (c)  -ln p(first target word | the target words before)
    lm_rest      (d)  -ln p(remaining target words | the words before each)
    lexical      (e)  -ln p(S|T)

The phrase-distortion model (TZ07, Table V) has instead

    direct       (a)  -ln N(b)/N(T)
    model1       (b)  -ln p(S|T) by IBM Model 1
    lm_first, lm_rest (c), (d)
    inbound      (e)  -ln p(jump | source word landed on)
    outbound     (f)  -ln p(jump | source word left)
    length       (g)  minus the number of target words

Behind these come the optional floats that a model names: costs that a block has wherever it stands.

    forward          -ln p(T|S) of the phrase table
    forward_lexical  -ln lex(T|S) of the phrase table
    block_count      1 for each block, so that a tuned weight can ask for fewer and longer ones

A new one is an entry in `MORE_FLOATS`. Models hold only those that they name, in the order of that table.

Example: b = (das haus, the house) with o = R behind a block that ends "in": unigram 9.2, orientation 0.1, lm_first 0.8
(the | in), lm_rest 2.9 (house | in the), lexical 1.3, and, when seen often enough, the sparse
features `BB:im|in>das haus|the house`, `TP:in>the house` and `WB:in>the`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Floats, Floats32, Ints32, Uints
from xlate.errors import InputError
from xlate.features.bigrams import bigram_families
from xlate.kernels.features.blocks import BlockArrays, DistortionArrays
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.phrases.table import DIRECT_LEXICAL, DIRECT_PHRASE
from xlate.text.vocabulary import Vocabulary

# The least logarithm of a probability, that of 0 among them, as in the phrase-based model.
HIGHEST_COST = 100.0


@dataclass(frozen=True)
class BlockFloat:
    """An optional float.

    Attributes:
        costs: its value for each of B blocks, (B,).
        copied: its value for a word that is copied because no block translates it.
        local: whether it tells the candidates of an event apart; if not, local training leaves its weight at 0.
    """

    costs: Callable[[BlockSet], Floats32]
    copied: float = 0.0
    local: bool = True


def _score_costs(blocks: BlockSet, column: int) -> Floats32:
    with np.errstate(divide="ignore"):
        costs_B = -np.log(np.asarray(blocks.table.scores_B4)[:, column])
    return np.minimum(costs_B, HIGHEST_COST).astype(np.float32)


MORE_FLOATS = {
    "forward": BlockFloat(lambda blocks: _score_costs(blocks, DIRECT_PHRASE)),
    "forward_lexical": BlockFloat(lambda blocks: _score_costs(blocks, DIRECT_LEXICAL)),
    # Every candidate of an event is one block: only the sink of the local softmax, which no decoder knows, would pull.
    "block_count": BlockFloat(lambda blocks: np.ones(len(blocks), dtype=np.float32), copied=1.0, local=False),
}


def more_floats(names: Collection[str]) -> tuple[str, ...]:
    """Those of some floats that are optional ones, in the order of `MORE_FLOATS`."""
    return tuple(name for name in MORE_FLOATS if name in names)


@dataclass(frozen=True)
class MoreFloats:
    """The X optional floats of a model.

    Attributes:
        names: in the order of `MORE_FLOATS`.
        cost_BX: their values for each of B blocks; without floats B may be 0.
        copied_X: their values for a copied word.
    """

    names: tuple[str, ...]
    cost_BX: Floats32
    copied_X: Floats

    @classmethod
    def of(cls, blocks: BlockSet, names: Collection[str]) -> MoreFloats:
        """The named floats of some blocks.

        Raises:
            InputError: no such float.
        """
        strange = [name for name in names if name not in MORE_FLOATS]
        if strange:
            raise InputError("no such optional float", seen=strange[0], expected=", ".join(MORE_FLOATS))
        ordered = more_floats(names)
        cost_BX = np.empty((len(blocks), len(ordered)), dtype=np.float32)
        for x, name in enumerate(ordered):
            cost_BX[:, x] = MORE_FLOATS[name].costs(blocks)
        return cls(ordered, cost_BX, np.array([MORE_FLOATS[name].copied for name in ordered], dtype=np.float64))

    @classmethod
    def none(cls) -> MoreFloats:
        """No floats, of any blocks."""
        return cls((), np.zeros((0, 0), dtype=np.float32), np.zeros(0))

    def of_units(self, block_O: Ints32) -> Floats:
        """The values for O blocks, or copied words where the number is negative; shape (O, X)."""
        value_OX = np.tile(self.copied_X, (len(block_O), 1))
        if self.names:
            known_O = block_O >= 0
            value_OX[known_O] = self.cost_BX[block_O[known_O]]
        return value_OX


FLOATS = ("unigram", "orientation", "lm_first", "lm_rest", "lexical")
DISTORTION_FLOATS = ("direct", "model1", "lm_first", "lm_rest", "inbound", "outbound", "length")


def block_arrays(
    blocks: BlockSet,
    lm: NgramModel,
    target_vocabulary: Vocabulary,
    feature_keys_F: Uints,
    more: Collection[str] = (),
    *,
    smoothing: float = 0.0,
    unigram_per_word: bool = False,
    distortion: DistortionArrays | None = None,
) -> BlockArrays:
    """Everything the feature kernels need, computed once.

    Args:
        blocks: the block set; lm: the language model of its target side.
        target_vocabulary: what the block set's target words are numbered by.
        feature_keys_F: the keys of the sparse features, sorted; the id of one is its place.
        more: names of optional floats.
        smoothing: k of the orientation cost.
        unigram_per_word: whether unigram costs are divided by source words.
        distortion: the dense features are those of the phrase-distortion model, from these; see `distortion_arrays`.
    """
    optional = MoreFloats.of(blocks, more)
    words_T = lm.map_vocabulary(target_vocabulary.words)[blocks.table.target_phrases.ids_T]
    options_P1, option_O = blocks.options
    none_B, none_V = np.zeros(0, dtype=np.float32), np.zeros((0, 1), dtype=np.float32)
    nobody_B, oriented = np.zeros(0, dtype=np.int32), distortion is None
    return BlockArrays(
        unigram_B=blocks.unigram_cost_per_word_B if unigram_per_word else blocks.unigram_cost_B,
        orientation_B2=blocks.orientation_cost_B2(smoothing) if oriented else np.zeros((0, 2), dtype=np.float32),
        lexical_B=np.ascontiguousarray(blocks.lexical_B),
        source_B=np.ascontiguousarray(blocks.table.source_B),
        options_P1=options_P1,
        option_O=option_O,
        target_B=np.ascontiguousarray(blocks.table.target_B),
        target_words_T=np.ascontiguousarray(words_T),
        target_offsets_Q1=np.ascontiguousarray(blocks.table.target_phrases.offsets_S1),
        bigrams=bigram_families(blocks, feature_keys_F),
        distortion=distortion or DistortionArrays(none_B, none_B, nobody_B, nobody_B, none_V, none_V),
        more_BX=optional.cost_BX,
        oriented=oriented,
        dense=len(FLOATS if oriented else DISTORTION_FLOATS) + len(optional.names),
    )


def distortion_arrays(
    blocks: BlockSet, distortion: Distortion, model1_B: Floats32, discount: float = 0.0
) -> DistortionArrays:
    """What the dense features of the phrase-distortion model are computed from.

    Args:
        blocks: the block set.
        distortion: jump costs; model1_B: -ln p(S|T) under Model 1 of every block.
        discount: of the counts behind the direct cost.
    """
    phrases, source_B = blocks.table.source_phrases, np.asarray(blocks.table.source_B)
    words_T, offsets_P1 = np.asarray(phrases.ids_T), phrases.offsets_S1
    return DistortionArrays(
        direct_B=blocks.direct_cost_B(discount),
        model1_B=np.ascontiguousarray(model1_B),
        first_B=words_T[offsets_P1[source_B]].astype(np.int32),
        last_B=words_T[offsets_P1[source_B + 1] - 1].astype(np.int32),
        inbound_VK=np.ascontiguousarray(distortion.inbound_VK),
        outbound_VK=np.ascontiguousarray(distortion.outbound_VK),
    )
