"""The features of a block given its predecessor: five float costs and binary bigram features (TZ07, Table III).

Floats are costs, negative natural logs:

    unigram      (a)  -ln p(b)
    orientation  (b)  -ln p_o(b), 0 for a neutral block
    lm_first     (c)  -ln p(first target word | the target words before)
    lm_rest      (d)  -ln p(remaining target words | the words before each)
    lexical      (e)  -ln p(S|T)

Example: b = (das haus, the house) with o = R behind a block that ends "in": unigram 9.2, orientation 0.1, lm_first 0.8
(the | in), lm_rest 2.9 (house | in the), lexical 1.3, and, when seen often enough, the binary
features `BB:im|in>das haus|the house`, `TP:in>the house` and `WB:in>the`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xlate.features.bigrams import bigram_families
from xlate.kernels.block_features import BlockArrays
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.text.vocabulary import Vocabulary

FLOATS = ("unigram", "orientation", "lm_first", "lm_rest", "lexical")


def block_arrays(
    blocks: BlockSet,
    lm: NgramModel,
    target_vocabulary: Vocabulary,
    feature_keys_F: NDArray[np.uint64],
    smoothing: float,
) -> BlockArrays:
    """Everything the feature kernels need, computed once.

    Args:
        blocks: the block set; lm: the language model of its target side.
        target_vocabulary: what the block set's target words are numbered by.
        feature_keys_F: the keys of the sparse features, sorted; the id of one is its place.
        smoothing: k of the orientation cost.
    """
    words_T = lm.map_vocabulary(target_vocabulary.words)[blocks.table.target_phrases.ids_T]
    options_P1, option_O = blocks.options
    return BlockArrays(
        unigram_B=blocks.unigram_cost_B,
        orientation_B2=blocks.orientation_cost_B2(smoothing),
        lexical_B=np.ascontiguousarray(blocks.lexical_B),
        source_B=np.ascontiguousarray(blocks.table.source_B),
        options_P1=options_P1,
        option_O=option_O,
        target_B=np.ascontiguousarray(blocks.table.target_B),
        target_words_T=np.ascontiguousarray(words_T),
        target_offsets_Q1=np.ascontiguousarray(blocks.table.target_phrases.offsets_S1),
        bigrams=bigram_families(blocks, feature_keys_F),
    )
