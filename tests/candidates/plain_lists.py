"""Batches as nested Python lists: the naive form that arrays are compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from xlate.arrays.ragged import gathered, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.candidates import crossed_ids


@dataclass(frozen=True)
class Candidate:
    """A candidate with its bag of (id, value) pairs written out."""

    dense: list[float]
    gain: list[float]
    base: float | None
    ids: list[tuple[int, float]]


def listed(batch: CandidateBatch) -> list[list[Candidate]]:
    """The candidates of every instance, read off the arrays one index at a time."""
    instances = []
    for i in range(len(batch)):
        members = range(int(batch.candidate_offsets_I1[i]), int(batch.candidate_offsets_I1[i + 1]))
        instances.append([_candidate(batch, i, c) for c in members])
    return instances


def _candidate(batch: CandidateBatch, i: int, c: int) -> Candidate:
    if batch.candidate_parts_K is None:
        parts = [c]
    else:
        bag = range(int(batch.candidate_part_offsets_C1[c]), int(batch.candidate_part_offsets_C1[c + 1]))
        parts = [int(batch.part_offsets_I1[i]) + int(batch.candidate_parts_K[k]) for k in bag]
    ids = []
    for part in parts:
        for n in range(int(batch.part_id_offsets_P1[part]), int(batch.part_id_offsets_P1[part + 1])):
            value = 1.0 if batch.part_values_N is None else float(batch.part_values_N[n])
            ids.append((int(batch.part_ids_N[n]), value))
    base = None if batch.base_C is None else float(batch.base_C[c])
    return Candidate(batch.dense_CD[c].tolist(), batch.gain_CG[c].tolist(), base, ids)


def crossed(batch: CandidateBatch, size: int) -> CandidateBatch:
    """The same candidates with the pairs of contexts and ids written out, for `size` weights."""
    offsets_I1, contexts_X = batch.contexts
    instance_N = np.repeat(row_numbers(batch.candidate_offsets_I1), np.diff(batch.part_id_offsets_P1))
    places, offsets_N1 = gathered(offsets_I1, instance_N)
    part_Y = np.repeat(batch.part_ids_N, np.diff(offsets_N1)).astype(np.int64)
    return replace(
        batch,
        part_id_offsets_P1=offsets_N1[batch.part_id_offsets_P1],
        part_ids_N=crossed_ids(contexts_X[places].astype(np.int64), part_Y, size).astype(np.int32),
        context_offsets_I1=None,
        contexts_X=None,
    )


def arrays_of(batch: CandidateBatch) -> dict[str, np.ndarray]:
    """The arrays that are there, by name."""
    return {name: array for name, array in vars(batch).items() if array is not None}
