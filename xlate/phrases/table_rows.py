"""Where the phrases and pairs of one table stand in another over the same vocabularies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Ints
from xlate.arrays.ragged import places_of_keys
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.search.spans import find_rows
from xlate.phrases.extract import PhraseCounts
from xlate.phrases.matching import phrase_finder
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText


class WholeRows(NamedTuple):
    """Rows in a whole table of a smaller one's P source phrases, Q target phrases and B pairs, -1 where it has none."""

    source_P: Ints
    target_Q: Ints
    pair_B: Ints


@dataclass(frozen=True)
class TableRows:
    """Finds phrases and pairs in a table."""

    whole: PhraseTable

    def of(self, table: PhraseTable | PhraseCounts) -> WholeRows:
        """The rows of all phrases and pairs of another table."""
        source_P = _rows(table.source_phrases, self._source_finder)
        target_Q = _rows(table.target_phrases, self._target_finder)
        keys_B = _pair_keys(source_P[table.source_B], target_Q[table.target_B])
        keys, row = self._sorted_pairs
        place_B = places_of_keys(keys, keys_B)
        return WholeRows(source_P, target_Q, np.where(place_B >= 0, np.append(row, -1)[place_B], -1))

    @cached_property
    def _source_finder(self) -> PhraseFinder:
        return phrase_finder(self.whole.source_phrases)

    @cached_property
    def _target_finder(self) -> PhraseFinder:
        return phrase_finder(self.whole.target_phrases)

    @cached_property
    def _sorted_pairs(self) -> tuple[Ints, Ints]:
        keys_B = _pair_keys(np.asarray(self.whole.source_B), np.asarray(self.whole.target_B))
        order = np.argsort(keys_B, kind="stable")
        return keys_B[order], order


def _pair_keys(source_B: AnyArray, target_B: AnyArray) -> Ints:
    keys: Ints = (source_B.astype(np.int64) << 32) | (target_B.astype(np.int64) & 0xFFFFFFFF)
    return keys


def _rows(phrases: EncodedText, finder: PhraseFinder) -> Ints:
    return find_rows(finder, np.asarray(phrases.ids_T), np.asarray(phrases.offsets_S1))
