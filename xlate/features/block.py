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

Behind these come the optional floats that a model names (`features/more_floats.py`).

Example: b = (das haus, the house) with o = R behind a block that ends "in": unigram 9.2, orientation 0.1, lm_first 0.8
(the | in), lm_rest 2.9 (house | in the), lexical 1.3, and, when seen often enough, the sparse
features `BB:im|in>das haus|the house`, `TP:in>the house` and `WB:in>the`.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from xlate.array_types import Floats32, Uints
from xlate.features.bigrams import bigram_families
from xlate.features.more_floats import MoreFloats
from xlate.kernels.features.block_features import BlockArrays, DistortionArrays
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.text.vocabulary import Vocabulary

FLOATS = ("unigram", "orientation", "lm_first", "lm_rest", "lexical")
DISTORTION_FLOATS = ("direct", "model1", "lm_first", "lm_rest", "inbound", "outbound", "length")


def block_arrays(
    blocks: BlockSet,
    lm: NgramModel,
    target_vocabulary: Vocabulary,
    feature_keys_F: Uints,
    smoothing: float,
    more: Collection[str] = (),
    unigram_per_word: bool = False,
) -> BlockArrays:
    """Everything the feature kernels need, computed once.

    Args:
        blocks: the block set; lm: the language model of its target side.
        target_vocabulary: what the block set's target words are numbered by.
        feature_keys_F: the keys of the sparse features, sorted; the id of one is its place.
        smoothing: k of the orientation cost.
        more: names of optional floats.
        unigram_per_word: whether unigram costs are divided by source words.
    """
    arrays = _arrays(blocks, lm, target_vocabulary, feature_keys_F, more, None)
    unigram_B = blocks.unigram_cost_per_word_B if unigram_per_word else blocks.unigram_cost_B
    return arrays._replace(unigram_B=unigram_B, orientation_B2=blocks.orientation_cost_B2(smoothing))


def distortion_arrays(
    blocks: BlockSet,
    lm: NgramModel,
    target_vocabulary: Vocabulary,
    feature_keys_F: Uints,
    distortion: Distortion,
    model1_B: Floats32,
    more: Collection[str] = (),
    discount: float = 0.0,
) -> BlockArrays:
    """Everything the kernels need for the dense features of the phrase-distortion model.

    Args:
        blocks: the block set; lm: the language model of its target side.
        target_vocabulary: what the block set's target words are numbered by.
        feature_keys_F: the keys of the sparse features, sorted; the id of one is its place.
        distortion: jump costs; model1_B: -ln p(S|T) under Model 1 of every block.
        more: names of optional floats; discount: of the counts behind the direct cost.
    """
    kept = block_distortion(blocks, distortion, model1_B, blocks.direct_cost_B(discount))
    return _arrays(blocks, lm, target_vocabulary, feature_keys_F, more, kept)


def block_distortion(
    blocks: BlockSet, distortion: Distortion, model1_B: Floats32, direct_B: Floats32
) -> DistortionArrays:
    """The costs of the phrase-distortion model by block and by source word."""
    phrases, source_B = blocks.table.source_phrases, np.asarray(blocks.table.source_B)
    words_T, offsets_P1 = np.asarray(phrases.ids_T), phrases.offsets_S1
    return DistortionArrays(
        direct_B=direct_B,
        model1_B=np.ascontiguousarray(model1_B),
        first_B=words_T[offsets_P1[source_B]].astype(np.int32),
        last_B=words_T[offsets_P1[source_B + 1] - 1].astype(np.int32),
        inbound_VK=np.ascontiguousarray(distortion.inbound_VK),
        outbound_VK=np.ascontiguousarray(distortion.outbound_VK),
    )


def _arrays(
    blocks: BlockSet,
    lm: NgramModel,
    target_vocabulary: Vocabulary,
    feature_keys_F: Uints,
    more: Collection[str],
    distortion: DistortionArrays | None,
) -> BlockArrays:
    optional = MoreFloats.of(blocks, more)
    words_T = lm.map_vocabulary(target_vocabulary.words)[blocks.table.target_phrases.ids_T]
    options_P1, option_O = blocks.options
    none_B, none_V = np.zeros(0, dtype=np.float32), np.zeros((0, 1), dtype=np.float32)
    nobody_B = np.zeros(0, dtype=np.int32)
    return BlockArrays(
        unigram_B=blocks.unigram_cost_B,
        orientation_B2=np.zeros((0, 2), dtype=np.float32),
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
        oriented=distortion is None,
        dense=len(FLOATS if distortion is None else DISTORTION_FLOATS) + len(optional.names),
    )
