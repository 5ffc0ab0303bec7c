"""Lists from Python and back: hypotheses with features by name, as candidates and the names of their columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.features.named import NamedFeatures

FeatureDicts = Sequence[Sequence[Mapping[str, float]]]
Gains = Sequence[Sequence[float | Sequence[float]]]


@dataclass(frozen=True)
class NamedLists:
    """A batch of I lists with D float and F sparse features, and their names.

    Attributes:
        batch: the candidates; each is one part.
        dense: the names of the float features, in the order of the columns of `batch.dense_CD`.
        sparse: the names of the sparse ones, in the order of their ids.
    """

    batch: CandidateBatch
    dense: tuple[str, ...]
    sparse: NamedFeatures

    @classmethod
    def of(
        cls,
        features: FeatureDicts,
        gains: Gains,
        *,
        dense: Sequence[str] | None = None,
        sparse: NamedFeatures | None = None,
    ) -> NamedLists:
        """The batch of some lists; see `CandidateBatch.from_lists`.

        Example:
            >>> from xlate import CandidateBatch
            >>> features = [[{"lm": -2.0, "bigram=a b": 1}, {"lm": -1.0}], [{"lm": -3.5, "bigram=b c": 2}]]
            >>> lists = CandidateBatch.from_lists(features, [[0.4, 0.1], [0.9]])
            >>> lists.dense, lists.sparse.names_F
            (('lm',), ('bigram=a b', 'bigram=b c'))
            >>> lists.batch.dense_CD.tolist(), lists.batch.part_ids_N.tolist()
            ([[-2.0], [-1.0], [-3.5]], [0, 1])
            >>> lists.to_lists()[0][1]
            [{'lm': -3.5, 'bigram=b c': 2.0}]
        """
        _check_sizes(features, gains)
        flat = [candidate for one in features for candidate in one]
        places = [(i, x) for i, one in enumerate(features) for x in range(len(one))]
        _check_values(flat, places)
        floats = _in_all(flat) if dense is None else tuple(dense)
        if len(set(floats)) < len(floats):
            raise InputError("a float feature named twice", seen=", ".join(floats), expected="each name once")
        among = set(floats)
        if sparse is None:
            index = NamedFeatures.of(name for one in flat for name in one if name not in among)
        else:
            index = sparse
            if both := [name for name in floats if index.id(name) >= 0]:
                raise InputError("a feature that is float and sparse", seen=both[0], expected="one of the two")
        batch = CandidateBatch(
            candidate_offsets_I1=offsets_of([len(one) for one in features]),
            dense_CD=np.array([[one.get(name, 0.0) for name in floats] for one in flat], np.float32).reshape(
                len(flat), len(floats)
            ),
            gain_CG=_gains(gains, places),
            **_sparse_arrays(flat, among, index),
        )
        return cls(batch.validate(), floats, index)

    def to_lists(self) -> tuple[list[list[dict[str, float]]], list[list[Any]]]:
        """The features and gains again, as `CandidateBatch.from_lists` takes them; float features that are 0 too.

        Several gain columns come as a tuple for each candidate.
        """
        ids_N, ends_C1, values_N = self.batch.flat_ids()
        names = list(self.sparse.names(ids_N))
        values = [1.0] * len(names) if values_N is None else values_N.tolist()
        columns = self.batch.gain_CG.tolist()
        gain_C = [row[0] for row in columns] if self.batch.gain_CG.shape[1] == 1 else [tuple(row) for row in columns]
        flat = [
            {**dict(zip(self.dense, row, strict=True)), **dict(zip(names[a:b], values[a:b], strict=True))}
            for row, (a, b) in zip(self.batch.dense_CD.tolist(), pairwise(ends_C1.tolist()), strict=True)
        ]
        cuts = list(pairwise(self.batch.candidate_offsets_I1.tolist()))
        return [flat[a:b] for a, b in cuts], [gain_C[a:b] for a, b in cuts]

    def weights(self, dense_D: Iterable[float], sparse_F: Iterable[float]) -> dict[str, float]:
        """Weights by the names of their features, those that are 0 left out.

        Raises:
            ValueError: another number of weights than features.
        """
        named = zip((*self.dense, *self.sparse.names_F), (*map(float, dense_D), *map(float, sparse_F)), strict=True)
        return {name: weight for name, weight in named if weight}


def _check_sizes(features: FeatureDicts, gains: Gains) -> None:
    if len(features) != len(gains):
        seen = f"{len(features)} lists of features, {len(gains)} of gains"
        raise InputError("features and gains of other numbers of lists", seen=seen, expected="as many of both")
    for i, (one, told) in enumerate(zip(features, gains, strict=True)):
        if isinstance(one, Mapping):
            raise InputError(f"list {i} is one hypothesis", seen="a dictionary", expected="a list of dictionaries")
        if len(one) != len(told):
            seen = f"{len(one)} hypotheses, {len(told)} gains"
            raise InputError(f"list {i}: features and gains do not fit", seen=seen, expected="as many of both")


def _check_values(flat: Sequence[Mapping[str, float]], places: Sequence[tuple[int, int]]) -> None:
    for one, (i, x) in zip(flat, places, strict=True):
        for name, value in one.items():
            if not isinstance(name, str) or not name:
                raise InputError(f"list {i}, hypothesis {x}: no name", seen=repr(name), expected="a string")
            if not math.isfinite(_number(value)):
                where = f"list {i}, hypothesis {x}: feature {name}"
                raise InputError(where, seen=repr(value), expected="a finite number")


def _number(value: object) -> float:
    """A number as a float; NaN for what is none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _in_all(flat: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """The names that every hypothesis has, in the order of the first one."""
    if not flat:
        return ()
    others = [one.keys() for one in flat[1:]]
    return tuple(name for name in flat[0] if all(name in one for one in others))


def _gains(gains: Gains, places: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    rows = [tuple(told) if isinstance(told, Sequence) else (told,) for one in gains for told in one]
    columns = len(rows[0]) if rows else 1
    for row, (i, x) in zip(rows, places, strict=True):
        if len(row) != columns or not all(math.isfinite(_number(value)) for value in row):
            expected = "a finite number" if columns == 1 else f"{columns} finite numbers"
            raise InputError(f"list {i}, hypothesis {x}: gain", seen=repr(row), expected=expected)
    return np.array(rows, np.float32).reshape(len(rows), columns)


def _sparse_arrays(flat: Sequence[Mapping[str, float]], floats: set[str], index: NamedFeatures) -> dict[str, Any]:
    """Ids and values of the sparse features; those that the index does not know are left out."""
    rows = [
        sorted((index.id(name), value) for name, value in one.items() if name not in floats and index.id(name) >= 0)
        for one in flat
    ]
    values_N = np.array([value for row in rows for _, value in row], np.float32)
    return {
        "part_id_offsets_P1": offsets_of([len(row) for row in rows]),
        "part_ids_N": np.array([feature for row in rows for feature, _ in row], np.int32),
        "part_values_N": None if (values_N == 1).all() else values_N,
    }
