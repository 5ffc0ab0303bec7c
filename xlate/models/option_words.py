"""The target words of a sentence's options, numbered as in lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import AnyInts, Ints, Ints32
from xlate.arrays.ragged import places_of
from xlate.phrases.table import LinkedPairs
from xlate.text.encoded import Numbering
from xlate.text.vocabulary import Vocabulary


def numbered_words(
    table: LinkedPairs, vocabulary: Vocabulary, words: Sequence[str], unit_O: AnyInts, start_O: Ints32, offsets_O1: Ints
) -> Ints32:
    """The target words of all options as `Numbering` numbers them, shape (W,).

    Args:
        table: of the pairs or rules that options are.
        vocabulary: of its target words.
        words: of the sentence.
        unit_O: the pair of each option, negative where a source word stands for itself.
        start_O: the first source word of each.
        offsets_O1: where the words of each option go.
    """
    targets = table.target_phrases
    known, copied = np.flatnonzero(unit_O >= 0), np.flatnonzero(unit_O < 0)
    ids_W = np.empty(int(offsets_O1[-1]), dtype=np.int32)
    rows = table.target_B[unit_O[known]]
    ids_W[places_of(offsets_O1, known)] = targets.ids_T[places_of(targets.offsets_S1, rows)]
    own = [words[start] for start in start_O[copied].tolist()]
    ids_W[offsets_O1[copied]] = Numbering(vocabulary, words).ids(own)
    return ids_W
