"""Pooled lists: the union of the rounds, each hypothesis once, in the order they came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.pooling import pool

Row = tuple[float, float, tuple[int, ...]]
rows = st.tuples(
    st.sampled_from([0.0, -0.0, 1.5]), st.sampled_from([0.0, 2.0]), st.sampled_from([(), (1,), (2,), (1, 2), (2, 1)])
)
lists = st.lists(st.lists(rows, max_size=4), min_size=2, max_size=2)


def batch_of(instances: list[list[Row]]) -> CandidateBatch:
    flat = [row for instance in instances for row in instance]
    return CandidateBatch(
        offsets_of([len(instance) for instance in instances]),
        np.array([[row[0]] for row in flat], np.float32).reshape(-1, 1),
        np.array([[row[1]] for row in flat], np.float32).reshape(-1, 1),
        offsets_of([len(row[2]) for row in flat]),
        np.array([i for row in flat for i in row[2]], np.int32),
    )


def rows_of(batch: CandidateBatch) -> list[list[Row]]:
    def row(c: int) -> Row:
        ids = batch.part_ids_N[batch.part_id_offsets_P1[c] : batch.part_id_offsets_P1[c + 1]]
        return float(batch.dense_CD[c, 0]), float(batch.gain_CG[c, 0]), tuple(ids.tolist())

    ends = batch.candidate_offsets_I1
    return [[row(c) for c in range(ends[i], ends[i + 1])] for i in range(len(batch))]


@given(st.lists(lists, min_size=1, max_size=3))
def test_pool_is_the_union_in_order(rounds: list[list[list[Row]]]) -> None:
    expected: list[list[Row]] = [[], []]
    for instances in rounds:
        for kept, new in zip(expected, instances, strict=True):
            for row in new:
                known = {(r[0], r[1], tuple(sorted(r[2]))) for r in kept}
                if (row[0], row[1], tuple(sorted(row[2]))) not in known:
                    kept.append(row)
    pooled = pool([batch_of(instances) for instances in rounds]).validate()
    assert rows_of(pooled) == expected
    again = pool([pooled, *(batch_of(instances) for instances in rounds)])
    assert rows_of(again) == expected


def test_values_of_sparse_features_count() -> None:
    one = batch_of([[(0.0, 0.0, (3,))]])
    other = CandidateBatch(
        one.candidate_offsets_I1,
        one.dense_CD,
        one.gain_CG,
        one.part_id_offsets_P1,
        one.part_ids_N,
        part_values_N=np.array([2.0], np.float32),
    )
    pooled = pool([one, other, one])
    assert pooled.candidates == 2
    assert pooled.part_values_N is not None
    assert pooled.part_values_N.tolist() == [1.0, 2.0]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to pool"):
        pool([])
    with pytest.raises(ValueError, match="instances"):
        pool([batch_of([[], []]), batch_of([[]])])
