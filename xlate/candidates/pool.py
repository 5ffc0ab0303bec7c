"""Lists of the same sentences from several decodings as one list each, every candidate once.

Rounds of tuning are pooled this way, and several decodings of the training text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from xlate.array_types import AnyInts, Ints, Uints
from xlate.arrays.ragged import offsets_of, places_of, row_numbers
from xlate.candidates.batch import CandidateBatch

Hashes = Uints
# An odd number of 64 bits: the hash of a sequence is a polynomial in it.
BASE = np.uint64(0x9E3779B97F4A7C15)


def pool(batches: Sequence[CandidateBatch], *, by_words: bool = False) -> CandidateBatch:
    """Joins lists of the same I instances; of equal candidates of an instance the first stays.

    Two candidates are equal when dense features, gains and the bags of what their parts hold are: ids with values, or
    the units that the parts are, in any order; `by_words`, when their target words are, however they were derived.
    Earlier batches come first, and the order within a batch stays, so joining with what is in the pool already changes
    nothing. Parts that no candidate holds any more are left out.

    Args:
        batches: all of the same instances and columns, without base scores.
        by_words: what makes candidates equal.

    Raises:
        ValueError: no batch, other numbers of instances or columns, base scores, arrays that only some have; no words.
    """
    _check(batches)
    instances = len(batches[0])
    if not instances:
        return batches[0]
    whole = CandidateBatch.joined(batches)
    instance_C = row_numbers(whole.candidate_offsets_I1) % instances
    kept_C = _first_of_equals(instance_C, _word_hashes(whole) if by_words else _keys(whole))
    return _of_candidates(whole, instances, kept_C)


def chosen(batch: CandidateBatch, rows_C: AnyInts) -> CandidateBatch:
    """Some candidates of a batch, those of an instance behind those of instances before it; with their parts alone."""
    return _of_candidates(batch, len(batch), np.asarray(rows_C, dtype=np.int64))


def _of_candidates(whole: CandidateBatch, instances: int, kept_C: Ints) -> CandidateBatch:
    """Candidates of a batch in which the same I instances follow each other several times."""
    instance_C = row_numbers(whole.candidate_offsets_I1) % instances
    rows = {"I": np.arange(instances), "C": kept_C, "P": kept_C}
    offsets_I1 = offsets_of(np.bincount(instance_C[kept_C], minlength=instances))
    if whole.part_offsets_I1 is None:
        return replace(whole.taken(rows), candidate_offsets_I1=offsets_I1)
    # Parts are put in the order of the instances, and candidates told their new numbers.
    used_P = np.zeros(len(whole.part_id_offsets_P1) - 1, np.bool_)
    assert whole.candidate_part_offsets_C1 is not None
    part_K = whole.part_of_K()[places_of(whole.candidate_part_offsets_C1, kept_C)]
    used_P[part_K] = True
    instance_P = row_numbers(whole.part_offsets_I1) % instances
    rows["P"] = np.argsort(instance_P, kind="stable")
    rows["P"] = rows["P"][used_P[rows["P"]]]
    part_offsets_I1 = offsets_of(np.bincount(instance_P[rows["P"]], minlength=instances))
    number_P = np.zeros(len(used_P), np.int64)
    number_P[rows["P"]] = np.arange(len(rows["P"])) - np.repeat(part_offsets_I1[:-1], np.diff(part_offsets_I1))
    return replace(
        whole.taken(rows),
        candidate_offsets_I1=offsets_I1,
        part_offsets_I1=part_offsets_I1,
        candidate_parts_K=number_P[part_K].astype(np.int32),
    )


def _check(batches: Sequence[CandidateBatch]) -> None:
    if not batches:
        raise ValueError("nothing to pool")
    for batch in batches:
        if batch.base_C is not None:
            raise ValueError("a batch with base scores cannot be pooled")
        if len(batch) != len(batches[0]) or batch.dense_CD.shape[1:] != batches[0].dense_CD.shape[1:]:
            raise ValueError(f"{len(batch)} instances of {batch.dense_CD.shape[1:]} floats, others before")


def _keys(batch: CandidateBatch) -> NDArray[np.void]:
    """Everything a candidate is compared by, as one string of bytes a candidate."""
    hash_C = hash_P = _part_hashes(batch)
    if batch.candidate_part_offsets_C1 is not None:
        hash_C = _sums(hash_P[batch.part_of_K()], batch.candidate_part_offsets_C1)
    # Adding 0 turns -0 into 0, which is equal but has other bytes.
    columns = (batch.dense_CD + 0.0, batch.gain_CG + 0.0, hash_C[:, None])
    fields = [(f"f{k}", column.dtype, column.shape[1:]) for k, column in enumerate(columns)]
    rows_C = np.empty(batch.candidates, dtype=fields)
    for k, column in enumerate(columns):
        rows_C[f"f{k}"] = column
    return rows_C.view(np.dtype((np.void, rows_C.dtype.itemsize)))


def _word_hashes(batch: CandidateBatch) -> Hashes:
    """A hash of each candidate's target words."""
    if batch.words_T is None or batch.word_offsets_C1 is None:
        raise ValueError("candidates without words cannot be told apart by them")
    lengths_C = np.diff(batch.word_offsets_C1)
    place_T = np.arange(len(batch.words_T)) - np.repeat(batch.word_offsets_C1[:-1], lengths_C)
    powers = _powers(1 + int(place_T.max(initial=0)))
    terms_T = (batch.words_T.astype(np.uint64) + np.uint64(2)) * powers[place_T]
    return _mixed(_sums(terms_T, batch.word_offsets_C1) + lengths_C.astype(np.uint64))


def _part_hashes(batch: CandidateBatch) -> Hashes:
    """What each part holds as a sum of 64-bit hashes, so that sums over parts are those of all that they hold."""
    values_N = batch.part_values_N
    bits_N = np.ones(len(batch.part_ids_N), np.float32) if values_N is None else values_N + np.float32(0)
    mixed_N = (batch.part_ids_N.astype(np.uint64) << np.uint64(32)) | bits_N.view(np.uint32).astype(np.uint64)
    hash_P = _sums(_mixed(mixed_N), batch.part_id_offsets_P1)
    if batch.unit_PU is None or batch.between_T is None or batch.between_offsets_P1 is None:
        return hash_P
    width = batch.unit_PU.shape[1]
    terms_PU = (batch.unit_PU.astype(np.uint64) + np.uint64(2)) * _powers(width + 1)[1:]
    place_T = np.arange(len(batch.between_T)) - np.repeat(
        batch.between_offsets_P1[:-1], np.diff(batch.between_offsets_P1)
    )
    powers = _powers(width + 2 + int(place_T.max(initial=0)))
    terms_T = (batch.between_T.astype(np.uint64) + np.uint64(2)) * powers[width + 1 + place_T]
    return hash_P + _mixed(terms_PU.sum(axis=1, dtype=np.uint64) + _sums(terms_T, batch.between_offsets_P1))


def _powers(count: int) -> Hashes:
    return np.multiply.accumulate(np.full(count, BASE))


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of splitmix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values


def _sums(values_N: Hashes, offsets_R1: Ints) -> Hashes:
    """The sum of each ragged row, modulo 2^64."""
    sums_N1 = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values_N, dtype=np.uint64)])
    sums_R: Hashes = sums_N1[offsets_R1[1:]] - sums_N1[offsets_R1[:-1]]
    return sums_R


def _first_of_equals(instance_C: Ints, keys_C: NDArray[np.void] | Hashes) -> Ints:
    """Candidates by instance, each in the order given, that have no equal before them in their instance."""
    order_C = np.argsort(instance_C, kind="stable")
    _, number_C = np.unique(keys_C[order_C], return_inverse=True)
    pairs_C = instance_C[order_C] * (int(number_C.max(initial=0)) + 1) + number_C.reshape(-1)
    first_C = np.zeros(len(pairs_C), dtype=np.bool_)
    first_C[np.unique(pairs_C, return_index=True)[1]] = True
    return order_C[first_C]
