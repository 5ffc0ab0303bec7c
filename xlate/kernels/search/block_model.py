"""What the block decoders know of a block and a history, whatever the sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.compiled import inlined
from xlate.kernels.features.block_features import BigramFamilies
from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.lm.phrase_lm import remembered
from xlate.kernels.search.spans import phrase_costs

# An entry of the memo: the costs of the first word of an option and of the rest, and the history behind it.
COSTS = np.dtype([("key", np.uint64), ("first", np.float64), ("rest", np.float64), ("after", np.int64)])


class ModelArrays(NamedTuple):
    """What stays the same from sentence to sentence."""

    lm: NgramArrays
    begin_state: int
    features: BigramFamilies
    feature_weights_F: Floats


@inlined
def ask_costs(lm: NgramArrays, memo: AnyArray, words_W: Ints32, offsets_O1: Ints, option: int, lm_state: int) -> Any:
    """A record of what `phrase_costs` gives: `first`, `rest` and `after`."""
    said, known = remembered(memo, lm_state, option)
    if not known:
        said.first, said.rest, said.after = phrase_costs(lm, words_W, offsets_O1, option, lm_state)
    return said
