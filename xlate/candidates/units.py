"""From the units that parts are to the sparse ids that templates or families make of them.

Lists say nothing of features, so text is decoded once for every set of them. The unit of a phrase model is a phrase in
its place: the numbers of `Applications`, then the orientation and the four words of `Groups`, then where it begins in
the sentence; the source words between a phrase and the group before it are `between_T`. That of a model over blocks is
the block before and the block; that of a hierarchical model a fact of the structure of derivations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.features.bigram_index import BigramIndex
from xlate.features.index import GrowingIndex
from xlate.features.phrase_sparse import Applications, Groups, SparseFeatures
from xlate.features.structure import StructureFeatures

# Columns of `unit_PU`.
APPLICATION = slice(0, 7)
PAIR, LENGTH = 0, 5
ORIENTATION, TOP, START = 7, slice(8, 12), 12
UNITS_AT_A_TIME = 250_000
# Sparse features that units have.
UnitFeatures = SparseFeatures | BigramIndex | StructureFeatures


def under_templates(
    lists: CandidateBatch, sparse: UnitFeatures, weights_D: Floats | None, gamma: float
) -> CandidateBatch:
    """Lists of units as lists of the ids of their features.

    Dense features are weighted into `base_C`; without weights they are kept as features. Candidates that were drawn
    have ln(draws) / γ there: exp(γ · score) is then their weight as a sample of all derivations, and sparse weights
    that have grown since weigh them anew.
    """
    base_C = None if weights_D is None else lists.dense_CD @ weights_D
    if lists.draws_C is not None and lists.draws_C.any():
        base_C = np.log(lists.draws_C) / gamma
    assert lists.unit_PU is not None
    if isinstance(sparse, SparseFeatures):
        found = _template_ids(lists, sparse)
    else:
        found = sparse.of_units(lists.unit_PU)
    id_offsets_P1, ids_N = found
    return replace(
        lists,
        dense_CD=lists.dense_CD if weights_D is None else lists.dense_CD[:, :0],
        part_id_offsets_P1=id_offsets_P1,
        part_ids_N=ids_N,
        base_C=None if base_C is None else base_C.astype(np.float32),
        unit_PU=None,
        between_offsets_P1=None,
        between_T=None,
    )


def with_ids(lists: CandidateBatch, index: GrowingIndex) -> CandidateBatch:
    """Lists of units as lists of the ids of their features; new features get ids."""
    assert lists.unit_PU is not None
    id_offsets_P1, ids_N = index.of_units(lists.unit_PU)
    return replace(
        lists,
        part_id_offsets_P1=id_offsets_P1,
        part_ids_N=ids_N,
        unit_PU=None,
        between_offsets_P1=None,
        between_T=None,
    )


def _template_ids(lists: CandidateBatch, sparse: SparseFeatures) -> tuple[Ints, Ints32]:
    """The features of every unit, made piece by piece: on the way they take several times their room."""
    assert lists.unit_PU is not None
    assert lists.between_offsets_P1 is not None
    assert lists.between_T is not None
    lengths: list[Ints] = [np.zeros(0, np.int64)]
    found: list[Ints32] = [np.zeros(0, np.int32)]
    for first in range(0, len(lists.unit_PU), UNITS_AT_A_TIME):
        columns = lists.unit_PU[first : first + UNITS_AT_A_TIME]
        ends = lists.between_offsets_P1[first : first + len(columns) + 1]
        first_s, last_s, first_t, last_t = columns.T[TOP]
        offsets, ids = sparse.ids(
            Applications(*columns.T[APPLICATION]),
            Groups(
                columns[:, ORIENTATION], first_s, last_s, first_t, last_t,
                ends - ends[0], lists.between_T[ends[0] : ends[-1]],
            ),
        )  # fmt: skip
        lengths.append(np.diff(offsets))
        found.append(ids)
    return offsets_of(np.concatenate(lengths)), np.concatenate(found)
