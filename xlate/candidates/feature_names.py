"""Names of the features of lists from Python, and the arrays of such lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xlate.array_types import Floats32
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError
from xlate.features.named import NamedFeatures

FeatureDicts = Sequence[Sequence[Mapping[str, float]]]
Gains = Sequence[Sequence[float | Sequence[float]]]


@dataclass(frozen=True)
class FeatureNames:
    """The names of D float and F sparse features of candidates from Python.

    Attributes:
        dense: the float features, in the order of the columns of `dense_CD` of a batch.
        sparse: the sparse ones, in the order of their ids.

    Raises:
        InputError: a name twice among the float ones, or in both.
    """

    dense: tuple[str, ...]
    sparse: NamedFeatures

    def __post_init__(self) -> None:
        """Looks for names that stand twice."""
        if len(set(self.dense)) < len(self.dense):
            raise InputError("a float feature named twice", seen=", ".join(self.dense), expected="each name once")
        if both := [name for name in self.dense if self.sparse.id(name) >= 0]:
            raise InputError("a feature that is float and sparse", seen=both[0], expected="one of the two")

    @classmethod
    def of(cls, features: FeatureDicts, dense: Sequence[str] | None = None) -> FeatureNames:
        """The names in some lists.

        Args:
            features: for each list a dictionary of features for each hypothesis.
            dense: the float ones; without it those that every hypothesis has. All others are sparse.

        Raises:
            InputError: a list that is one hypothesis, or a float feature named twice.

        Example:
            >>> names = FeatureNames.of([[{"lm": -2.0, "bigram=a b": 1}, {"lm": -1.0}]])
            >>> names.dense, names.sparse.names_F
            (('lm',), ('bigram=a b',))
        """
        flat = _flat(features)
        floats = _in_all(flat) if dense is None else tuple(dense)
        among = set(floats)
        return cls(floats, NamedFeatures.of(name for one in flat for name in one if name not in among))

    def arrays(self, features: FeatureDicts, gains: Gains) -> dict[str, Any]:
        """The arrays of a batch with these features; see `CandidateBatch.from_lists`."""
        flat = _flat(features)
        _check_sizes(features, gains)
        places = [(i, x) for i, one in enumerate(features) for x in range(len(one))]
        _check_values(flat, places)
        dense = [[one.get(name, 0.0) for name in self.dense] for one in flat]
        return {
            "candidate_offsets_I1": offsets_of([len(one) for one in features]),
            "dense_CD": np.array(dense, np.float32).reshape(len(flat), len(self.dense)),
            "gain_CG": _gains(gains, places),
            **_sparse_arrays(flat, self.sparse),
        }

    def weights(self, dense_D: Iterable[float], sparse_F: Iterable[float]) -> dict[str, float]:
        """Weights by the names of their features, those that are 0 left out.

        Raises:
            ValueError: another number of weights than features.
        """
        named = zip((*self.dense, *self.sparse.names_F), (*map(float, dense_D), *map(float, sparse_F)), strict=True)
        return {name: weight for name, weight in named if weight}


def _flat(features: FeatureDicts) -> list[Mapping[str, float]]:
    for i, one in enumerate(features):
        if isinstance(one, Mapping):
            raise InputError(f"list {i} is one hypothesis", seen="a dictionary", expected="a list of dictionaries")
    return [candidate for one in features for candidate in one]


def _check_sizes(features: FeatureDicts, gains: Gains) -> None:
    if len(features) != len(gains):
        seen = f"{len(features)} lists of features, {len(gains)} of gains"
        raise InputError("features and gains of other numbers of lists", seen=seen, expected="as many of both")
    for i, (one, told) in enumerate(zip(features, gains, strict=True)):
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


def _gains(gains: Gains, places: Sequence[tuple[int, int]]) -> Floats32:
    rows = [tuple(told) if isinstance(told, Sequence) else (told,) for one in gains for told in one]
    columns = len(rows[0]) if rows else 1
    for row, (i, x) in zip(rows, places, strict=True):
        if len(row) != columns or not all(math.isfinite(_number(value)) for value in row):
            expected = "a finite number" if columns == 1 else f"{columns} finite numbers"
            raise InputError(f"list {i}, hypothesis {x}: gain", seen=repr(row), expected=expected)
    return np.array(rows, np.float32).reshape(len(rows), columns)


def _sparse_arrays(flat: Sequence[Mapping[str, float]], index: NamedFeatures) -> dict[str, Any]:
    """Ids and values of the sparse features; those that the index does not know are left out."""
    rows = [sorted((index.id(name), value) for name, value in one.items() if index.id(name) >= 0) for one in flat]
    values_N = np.array([value for row in rows for _, value in row], np.float32)
    return {
        "part_id_offsets_P1": offsets_of([len(row) for row in rows]),
        "part_ids_N": np.array([feature for row in rows for feature, _ in row], np.int32),
        "part_values_N": None if (values_N == 1).all() else values_N,
    }
