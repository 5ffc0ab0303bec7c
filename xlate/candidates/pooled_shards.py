"""Lists of the same sentences from several decodings as one list each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of, places_of, row_numbers
from xlate.candidates.part_shards import PartShard

# An odd number of 64 bits: the hash of a sequence is a polynomial in it.
BASE = np.uint64(0x9E3779B97F4A7C15)


def pooled(shards: Sequence[PartShard]) -> PartShard:
    """The lists of every sentence one after the other; a derivation that came before counts once.

    All shards must hold the same sentences in the same order. Derivations are equal when their phrases are, one by one,
    with all that sparse features see of them.
    """
    if len(shards) == 1:
        return shards[0]
    sentences = len(shards[0].sentence_I)
    together = PartShard.joined(shards)
    # List i of shard s is row s · I + i; the pool takes them by sentence.
    rows = np.arange(len(shards) * sentences).reshape(len(shards), sentences).T.reshape(-1)
    by_sentence = together.take(rows)
    joined_I1 = by_sentence.candidate_offsets_I1[:: len(shards)]
    parts_I1 = by_sentence.part_offsets_I1[:: len(shards)]
    # Parts of the later lists of a sentence are numbered behind those of the earlier ones.
    before_L = by_sentence.part_offsets_I1[:-1] - np.repeat(parts_I1[:-1], len(shards))
    list_C = row_numbers(by_sentence.candidate_offsets_I1)
    steps_C = np.diff(by_sentence.candidate_part_offsets_C1)
    parts_K = by_sentence.candidate_parts_K + np.repeat(before_L[list_C], steps_C)
    merged = PartShard(
        shards[0].sentence_I,
        joined_I1,
        by_sentence.features_CD,
        by_sentence.statistics_CK,
        by_sentence.draws_C,
        parts_I1,
        by_sentence.candidate_part_offsets_C1,
        parts_K.astype(np.int32),
        by_sentence.phrase_P12,
        by_sentence.between_offsets_P1,
        by_sentence.between_T,
    )
    return _without_repeats(merged)


def _without_repeats(shard: PartShard) -> PartShard:
    sentence_C = row_numbers(shard.candidate_offsets_I1)
    number_P = _numbered(shard)
    flat_K = np.repeat(shard.part_offsets_I1[:-1][sentence_C], np.diff(shard.candidate_part_offsets_C1))
    hash_C = _hashes(number_P[flat_K + shard.candidate_parts_K], shard.candidate_part_offsets_C1)
    _, first = np.unique(np.stack([sentence_C.astype(np.uint64), hash_C]), axis=1, return_index=True)
    kept = np.sort(first)
    counts_I = np.bincount(sentence_C[kept], minlength=len(shard.sentence_I))
    steps_C = np.diff(shard.candidate_part_offsets_C1)
    return PartShard(
        shard.sentence_I,
        offsets_of(counts_I),
        shard.features_CD[kept],
        shard.statistics_CK[kept],
        shard.draws_C[kept],
        shard.part_offsets_I1,
        offsets_of(steps_C[kept]),
        shard.candidate_parts_K[places_of(shard.candidate_part_offsets_C1, kept)],
        shard.phrase_P12,
        shard.between_offsets_P1,
        shard.between_T,
    )


def _numbered(shard: PartShard) -> NDArray[np.int64]:
    """A number for each phrase; those that features cannot tell apart have the same."""
    between_P = _hashes(shard.between_T.astype(np.int64), shard.between_offsets_P1)
    rows_P = np.concatenate([shard.phrase_P12.astype(np.int64), between_P.view(np.int64)[:, None]], axis=1)
    keys_P = np.ascontiguousarray(rows_P).view(np.dtype((np.void, rows_P.shape[1] * 8))).reshape(-1)
    return np.unique(keys_P, return_inverse=True)[1].reshape(-1)


def _hashes(values_T: NDArray[np.int64], offsets_S1: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A 64-bit hash of each ragged row, 0 of an empty one."""
    lengths_S = np.diff(offsets_S1)
    place_T = np.arange(len(values_T)) - np.repeat(offsets_S1[:-1], lengths_S)
    powers = np.multiply.accumulate(np.full(int(lengths_S.max(initial=0)) + 1, BASE))
    terms_T = (values_T.astype(np.uint64) + np.uint64(2)) * powers[place_T]
    sums_T1 = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms_T, dtype=np.uint64)])
    found: NDArray[np.uint64] = sums_T1[offsets_S1[1:]] - sums_T1[offsets_S1[:-1]]
    return found
