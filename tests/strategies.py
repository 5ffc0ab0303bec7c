"""Hypothesis strategies for valid input, named by what they draw."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch


@st.composite
def ragged_batches(
    draw: st.DrawFn,
    *,
    two_level: bool | None = None,
    extras: bool = True,
    dense: int | None = None,
    sparse: int = 9,
    max_instances: int = 4,
) -> CandidateBatch:
    """Valid batches, with instances without candidates and bags without members among them.

    Args:
        draw: given by hypothesis.
        two_level: candidates as bags of shared parts; None draws either.
        extras: whether values of ids and fixed scores may be there.
        dense: number of float features; None draws it.
        sparse: ids lie below this.
        max_instances: at most so many instances.
    """
    if two_level is None:
        two_level = draw(st.booleans())
    if dense is None:
        dense = draw(st.integers(0, 3))
    few = st.integers(0, 4)
    sizes_I = draw(st.lists(few, max_size=max_instances))
    candidates = sum(sizes_I)
    parts_I = [draw(few) for _ in sizes_I] if two_level else sizes_I
    ids_P = [draw(st.integers(0, 3)) for _ in range(sum(parts_I))]
    # Values come from a generator: hypothesis explores the structure, and need not draw every float.
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    between = {}
    if two_level:
        room_C = np.repeat(parts_I, sizes_I)
        bags = [random.integers(0, room, random.integers(0, 4)) if room else room[:0] for room in room_C[:, None]]
        between = {
            "part_offsets_I1": offsets_of(parts_I),
            "candidate_part_offsets_C1": offsets_of([len(bag) for bag in bags]),
            "candidate_parts_K": np.concatenate([np.zeros(0), *bags]).astype(np.int32),
        }
    count = sum(ids_P)
    return CandidateBatch(
        candidate_offsets_I1=offsets_of(sizes_I),
        dense_CD=random.normal(size=(candidates, dense)).astype(np.float32),
        gain_CG=random.choice([-1, 1], size=(candidates, 1)).astype(np.float32),
        part_id_offsets_P1=offsets_of(ids_P),
        part_ids_N=random.integers(0, sparse, count).astype(np.int32),
        part_values_N=random.normal(size=count).astype(np.float32) if extras and draw(st.booleans()) else None,
        base_C=random.normal(size=candidates).astype(np.float32) if extras and draw(st.booleans()) else None,
        **between,
    )
