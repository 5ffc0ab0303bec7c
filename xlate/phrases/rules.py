"""Hierarchical phrase pairs in target normal form: rules with counts, internal links and the four scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import BEGIN_ID

# What stands in a source side for a non-terminal. No sentence holds the word `<s>`, so its number is free.
GAP = BEGIN_ID
# The most non-terminals of a rule.
MOST_GAPS = 2


@dataclass(frozen=True)
class RuleTable:
    """B rules X → ⟨γ, b̄ β⟩ over P source sides γ and Q target phrases b̄, sorted by (source_B, target_B, swapped_B).

    A source side is a row of word numbers, `GAP` for each non-terminal; b̄ is a phrase of one word or more; β are the
    non-terminals of γ, those of the source from left to right, or with `swapped_B` from right to left (Watanabe et al.
    2007, Eq. 2). Rows of `source_sides` and of `target_phrases` are in the order of a dictionary, by word numbers.

    The four scores are p(γ|b̄β), lex(γ|b̄β), p(b̄β|γ), lex(b̄β|γ) as plain probabilities, in the columns of
    `phrases.table`. The most frequent internal links of rule b lie between `link_offsets_B1[b]` and
    `link_offsets_B1[b + 1]`: places in the source side, gaps counted, and in b̄, from 0, in the order (target, source).

    Example: the rules X → ⟨ne X1 pas, not X1⟩ and X → ⟨X1 de X2, of X2 X1⟩::

        source_sides    ne GAP pas | GAP de GAP        source_B  0 1     swapped_B  False True
        target_phrases  not | of                       target_B  0 1
    """

    source_sides: EncodedText
    target_phrases: EncodedText
    source_B: NDArray[np.int32]
    target_B: NDArray[np.int32]
    swapped_B: NDArray[np.bool_]
    count_B: NDArray[np.float64]
    scores_B4: NDArray[np.float64]
    link_offsets_B1: NDArray[np.int64]
    link_source_K: NDArray[np.int16]
    link_target_K: NDArray[np.int16]
    insertion_B: NDArray[np.int16]
    deletion_B: NDArray[np.int16]

    def __len__(self) -> int:
        """The number of rules B."""
        return len(self.source_B)

    def links(self, b: int) -> list[tuple[int, int]]:
        """The internal links of rule b as (place in the source side, place in the target phrase)."""
        part = slice(self.link_offsets_B1[b], self.link_offsets_B1[b + 1])
        return list(zip(self.link_source_K[part].tolist(), self.link_target_K[part].tolist(), strict=True))
