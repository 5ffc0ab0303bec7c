"""N-best lists of several rounds of decoding as one: each hypothesis once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.candidates.batch import CandidateBatch

Ints = NDArray[np.int64]


def pool(batches: Sequence[CandidateBatch]) -> CandidateBatch:
    """Joins lists of the same I instances; of equal candidates of an instance the first stays.

    Two candidates are equal when floats, gains and sparse features are; earlier batches come first, and the order
    within a batch stays, so joining with what is in the pool already changes nothing.

    Args:
        batches: plain batches without base scores, all of the same instances and columns.

    Raises:
        ValueError: no batch, other numbers of instances or columns, batches that are not plain.
    """
    _check(batches)
    instance_C = np.concatenate([row_numbers(b.candidate_offsets_I1) for b in batches])
    order_C = np.argsort(instance_C, kind="stable")
    keys_C = np.concatenate([_keys(b) for b in batches])[order_C]
    instance_C = instance_C[order_C]
    kept_C = order_C[_first_of_equals(instance_C, keys_C)]
    joined = _joined(batches)
    counts_I = np.bincount(np.concatenate([_instances(b) for b in batches])[kept_C], minlength=len(batches[0]))
    rows = joined.select(kept_C)
    return replace(rows, candidate_offsets_I1=offsets_of(counts_I))


def _check(batches: Sequence[CandidateBatch]) -> None:
    if not batches:
        raise ValueError("nothing to pool")
    for batch in batches:
        if not batch.is_plain or batch.base_C is not None:
            raise ValueError("a batch that is not plain, or has base scores, cannot be pooled")
        if len(batch) != len(batches[0]) or batch.dense_CD.shape[1:] != batches[0].dense_CD.shape[1:]:
            raise ValueError(f"{len(batch)} instances of {batch.dense_CD.shape[1:]} floats, others before")


def _instances(batch: CandidateBatch) -> Ints:
    return row_numbers(batch.candidate_offsets_I1)


def _keys(batch: CandidateBatch) -> NDArray[np.void]:
    """Everything a candidate is compared by, as one string of bytes a candidate.

    The sparse ids and values of a candidate enter as a sum of 64-bit hashes, whatever their order.
    """
    # Adding 0 turns -0 into 0, which is equal but has other bytes.
    columns = (batch.dense_CD + 0.0, batch.gain_CG + 0.0, _bag_hashes(batch)[:, None])
    fields = [(f"f{k}", column.dtype, column.shape[1:]) for k, column in enumerate(columns)]
    rows_C = np.empty(batch.candidates, dtype=fields)
    for k, column in enumerate(columns):
        rows_C[f"f{k}"] = column
    return rows_C.view(np.dtype((np.void, rows_C.dtype.itemsize)))


def _bag_hashes(batch: CandidateBatch) -> NDArray[np.uint64]:
    values_N = batch.part_values_N
    bits_N = np.ones(len(batch.part_ids_N), np.float32) if values_N is None else values_N + np.float32(0)
    mixed_N = (batch.part_ids_N.astype(np.uint64) << np.uint64(32)) | bits_N.view(np.uint32).astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of splitmix64
        mixed_N = (mixed_N ^ (mixed_N >> np.uint64(shift))) * np.uint64(factor)
    sums_N1 = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed_N, dtype=np.uint64)])
    ends_C1 = batch.part_id_offsets_P1
    hashes_C: NDArray[np.uint64] = sums_N1[ends_C1[1:]] - sums_N1[ends_C1[:-1]]
    return hashes_C


def _first_of_equals(instance_C: Ints, keys_C: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which candidates, sorted by instance, have no equal before them in their instance."""
    _, number_C = np.unique(keys_C, return_inverse=True)
    pairs_C = instance_C * (int(number_C.max(initial=0)) + 1) + number_C
    first_C = np.zeros(len(pairs_C), dtype=np.bool_)
    first_C[np.unique(pairs_C, return_index=True)[1]] = True
    return first_C


def _joined(batches: Sequence[CandidateBatch]) -> CandidateBatch:
    """All candidates one behind the other, each an instance of its own."""
    ids = np.concatenate([b.part_ids_N for b in batches])
    lengths = np.concatenate([np.diff(b.part_id_offsets_P1) for b in batches])
    values = None
    if any(b.part_values_N is not None for b in batches):
        values = np.concatenate(
            [np.ones(len(b.part_ids_N), np.float32) if b.part_values_N is None else b.part_values_N for b in batches]
        )
    return CandidateBatch(
        candidate_offsets_I1=np.arange(len(lengths) + 1),
        dense_CD=np.concatenate([b.dense_CD for b in batches]),
        gain_CG=np.concatenate([b.gain_CG for b in batches]),
        part_id_offsets_P1=offsets_of(lengths),
        part_ids_N=ids,
        part_values_N=values,
    )
