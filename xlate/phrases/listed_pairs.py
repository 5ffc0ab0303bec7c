"""The most frequent translations of each source phrase: what a classifier in context chooses among."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints
from xlate.arrays.ragged import gathered, offsets_of
from xlate.phrases.table import PhraseTable


@dataclass(frozen=True)
class ListedPairs:
    """N pairs of a table of P source phrases: those of phrase p begin at `offsets_P1[p]`, most frequent first.

    `log_share_N` is ln p(e|f), by the counts that the pairs were listed by; -inf never occurs.
    """

    offsets_P1: Ints
    pair_N: Ints
    log_share_N: Floats

    def of(self, phrase_I: AnyInts) -> tuple[Ints, Ints]:
        """Where the pairs of I source phrases stand among the N, and offsets by phrase, (I + 1,)."""
        return gathered(self.offsets_P1, phrase_I)


def listed_pairs(table: PhraseTable, count_B: AnyInts, most: int) -> ListedPairs:
    """The `most` pairs of each source phrase with the highest counts above 0, equal counts in the order of the table.

    Args:
        table: the pairs.
        count_B: how often each was extracted, such as elsewhere than in one fold.
        most: pairs of a source phrase.
    """
    sources = len(table.source_phrases)
    seen = np.flatnonzero(np.asarray(count_B) > 0)
    order = seen[np.lexsort((-count_B[seen], table.source_B[seen]))]
    source_N = np.asarray(table.source_B[order], np.int64)
    size_P = np.bincount(source_N, minlength=sources)
    rank_N = np.arange(len(order)) - offsets_of(size_P)[source_N]
    total_P = np.bincount(source_N, weights=count_B[order], minlength=sources)
    kept = rank_N < most
    share_N = count_B[order][kept] / total_P[source_N[kept]]
    return ListedPairs(offsets_of(np.minimum(size_P, most)), order[kept], np.log(share_N))
