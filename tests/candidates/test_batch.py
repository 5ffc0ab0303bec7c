"""Ragged batches against nested lists, and every way in which arrays can disagree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.candidates.plain_lists import arrays_of, listed
from tests.strategies import ragged_batches
from xlate.candidates.batch import CandidateBatch

LONG = np.int64


def example() -> CandidateBatch:
    """The batch drawn in the docstring of `CandidateBatch`, with values and fixed scores."""
    return CandidateBatch(
        candidate_offsets_I1=np.array([0, 2, 3], LONG),
        dense_CD=np.zeros((3, 2), np.float32),
        gain_CG=np.ones((3, 1), np.float32),
        part_id_offsets_P1=np.array([0, 2, 3, 3], LONG),
        part_ids_N=np.array([7, 9, 4], np.int32),
        part_offsets_I1=np.array([0, 2, 3], LONG),
        candidate_part_offsets_C1=np.array([0, 1, 3, 4], LONG),
        candidate_parts_K=np.array([0, 0, 1, 0], np.int32),
        part_values_N=np.ones(3, np.float32),
        base_C=np.zeros(3, np.float32),
    )


CORRUPTIONS = {
    "candidate_offsets_I1: 4, then 3, at 1, expected": {"candidate_offsets_I1": [0, 4, 3]},
    "candidate_offsets_I1: 0 to 3, expected .* from 0 to 2": {"dense_CD": np.zeros((2, 2), np.float32)},
    r"gain_CG: shape \(2, 1\), expected shape \(3, 1\)": {"gain_CG": np.ones((2, 1), np.float32)},
    r"candidate_part_offsets_C1: shape \(3,\), expected shape \(4,\)": {"candidate_part_offsets_C1": [0, 1, 4]},
    "candidate_parts_K: 1 at 3, expected": {"candidate_parts_K": np.array([0, 0, 1, 1], np.int32)},
    "candidate_parts_K: -1 at 0, expected": {"candidate_parts_K": np.array([-1, 0, 1, 0], np.int32)},
    "candidate_parts_K, expected with part_offsets_I1": {"part_offsets_I1": None},
    r"part_values_N: shape \(2,\), expected shape \(3,\)": {"part_values_N": np.ones(2, np.float32)},
    "part_ids_N: -1 at 1, expected at least 0 and below": {"part_ids_N": np.array([7, -1, 4], np.int32)},
}


@pytest.mark.parametrize("message", CORRUPTIONS)
def test_each_single_corruption_is_refused_by_name(message: str) -> None:
    changes = CORRUPTIONS[message].items()
    arrays = {name: np.array(value, LONG) if isinstance(value, list) else value for name, value in changes}
    with pytest.raises(ValueError, match=message):
        replace(example(), **arrays).validate()


def test_a_plain_batch_needs_one_part_a_candidate() -> None:
    plain = replace(example(), part_offsets_I1=None, candidate_part_offsets_C1=None, candidate_parts_K=None)
    assert plain.validate().is_plain
    with pytest.raises(ValueError, match=r"part_id_offsets_P1: shape \(3,\), expected shape \(4,\)"):
        replace(plain, part_id_offsets_P1=np.array([0, 2, 3], LONG)).validate()


@settings(deadline=None)
@given(ragged_batches(), st.data())
def test_any_offset_moved_is_refused(batch: CandidateBatch, data: st.DataObject) -> None:
    """Whatever array: its first entry made 1, or its last one larger."""
    name = data.draw(st.sampled_from([name for name in arrays_of(batch) if "offsets" in name]))
    moved = getattr(batch, name).copy()
    moved[data.draw(st.sampled_from([0, -1]))] += 1
    with pytest.raises(ValueError, match=f"{name}: .*offsets rising from 0"):
        replace(batch, **{name: moved}).validate()


@settings(max_examples=60, deadline=None)
@given(ragged_batches(), st.data())
def test_select_equals_picking_from_lists(batch: CandidateBatch, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(batch) - 1), max_size=6)) if len(batch) else []
    chosen = batch.select(rows).validate()
    whole = listed(batch)
    assert listed(chosen) == [whole[row] for row in rows]
    assert chosen.is_plain == batch.is_plain
    assert {name: array.dtype for name, array in arrays_of(chosen).items()} == {
        name: array.dtype for name, array in arrays_of(batch).items()
    }


@settings(max_examples=60, deadline=None)
@given(ragged_batches())
def test_flat_ids_equal_the_bags_written_out(batch: CandidateBatch) -> None:
    ids, offsets, values = batch.validate().flat_ids()
    same = batch.candidate_offsets_I1, batch.dense_CD, batch.gain_CG
    plain = CandidateBatch(*same, offsets, ids, part_values_N=values, base_C=batch.base_C)
    assert listed(plain.validate()) == listed(batch)
