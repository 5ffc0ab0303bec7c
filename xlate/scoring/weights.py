"""Weights, and their file: safetensors with names and families of the sparse features, nothing that could run."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from xlate.array_types import AnyArray, Floats
from xlate.errors import InputError
from xlate.features.index import FeatureIndex, signature
from xlate.scoring.stored_features import LearnedFeature, StoredFeatures, packed_names, weights_of_ids
from xlate.text.lines import atomic_write, unreadable
from xlate.text.numbers import LARGEST_FLOAT32
from xlate.text.opening import plain_file

# What the file of a run is called.
WEIGHTS_FILE = "weights.safetensors"
KEY = "xlate"
FORMAT = "xlate weights 2"
EARLIER = "xlate weights 1"


@dataclass(frozen=True)
class Weights:
    """D dense and F sparse weights of one linear model."""

    dense_D: Floats
    sparse_F: Floats
    dense_names: tuple[str, ...]

    @classmethod
    def zeros(cls, dense_names: Sequence[str], sparse: int) -> Weights:
        """All weights 0."""
        return cls(np.zeros(len(dense_names)), np.zeros(sparse), tuple(dense_names))

    def copy(self) -> Weights:
        """The same values in arrays of their own."""
        return replace(self, dense_D=self.dense_D.copy(), sparse_F=self.sparse_F.copy())

    def single(self) -> Weights:
        """The same weights, the sparse ones rounded to 32 bits."""
        rounded: AnyArray = self.sparse_F.astype(np.float32)
        return replace(self, sparse_F=rounded)

    @property
    def active(self) -> int:
        """How many sparse weights are not 0."""
        return int(np.count_nonzero(self.sparse_F))

    @property
    def finite(self) -> bool:
        """Whether every weight is a number that 32 bits can hold, so that scores do not overflow."""
        return all(
            bool(weights.min(initial=0) >= -LARGEST_FLOAT32 and weights.max(initial=0) <= LARGEST_FLOAT32)
            for weights in (self.dense_D, self.sparse_F)
        )


def save_weights(
    path: str | Path,
    sets: Mapping[str, Weights],
    *,
    features: Mapping[str, FeatureIndex] | None = None,
    extra: Mapping[str, AnyArray] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Writes named weight sets into one safetensors file, whole or not at all.

    Of a set's sparse weights those are written that are not 0, in the type they have.

    Args:
        path: the file.
        sets: the weights by name, such as `linked` and `neutral`.
        features: of a set, what its sparse weights are of; their names are written beside the weights.
        extra: other arrays to keep with them, such as feature keys.
        metadata: anything JSON can say.

    Raises:
        InputError: a weight is not finite, or a feature name holds a line end.
        ValueError: another number of features than of sparse weights.
    """
    _check_finite(sets, path, "train again with smaller rates, margins and scales")
    tensors: dict[str, AnyArray] = dict(extra or {})
    indexes = features or {}
    for name, weights in sets.items():
        tensors[f"{name}.dense"] = np.ascontiguousarray(weights.dense_D)
        if len(weights.sparse_F):
            # -0.0 is written too, so that training goes on from the same bits.
            ids_A = np.flatnonzero((weights.sparse_F != 0) | np.signbit(weights.sparse_F)).astype(np.int32)
            tensors[f"{name}.ids"], tensors[f"{name}.values"] = ids_A, weights.sparse_F[ids_A]
            if name in indexes:
                tensors[f"{name}.names"] = packed_names(indexes[name].names(ids_A), path)
        if name in indexes and len(indexes[name]) != len(weights.sparse_F):
            raise ValueError(f"{len(indexes[name])} features, {len(weights.sparse_F)} weights")
    described: dict[str, Any] = {
        "format": FORMAT,
        "dense_names": {name: list(weights.dense_names) for name, weights in sets.items()},
        "sparse_size": {name: len(weights.sparse_F) for name, weights in sets.items()},
        "families": {name: [list(row) for row in signature(index)] for name, index in indexes.items()},
        "metadata": dict(metadata or {}),
    }
    described["crc32"] = _crc32(described, tensors)
    with atomic_write(path) as stream:
        # One key only: safetensors writes several in any order, and equal weights should give equal bytes.
        stream.write(save_tensors(tensors, {KEY: json.dumps(described)}))


@dataclass(frozen=True)
class WeightsFile:
    """What a weights file holds: weights by set, and the features of those sets that were written with their names."""

    sets: dict[str, Weights]
    features: dict[str, StoredFeatures]
    extra: dict[str, AnyArray]
    metadata: dict[str, Any]

    def learned(self, name: str) -> Iterator[LearnedFeature]:
        """The sparse features of a set whose weight is not 0, in the order of their ids; none without names."""
        if name in self.features:
            yield from self.features[name].learned(self.sets[name].sparse_F)

    def fitting(self, name: str, index: FeatureIndex | None, path: Path) -> Weights:
        """The weights of a set, whose sparse features must be those of an index, or none; all in 64 bits.

        Raises:
            InputError: they are of other features; `path` is what the message names.
        """
        weights = self.sets[name]
        held = signature(self.features[name]) if name in self.features else None
        expected = None if index is None else signature(index)
        if held != expected:
            raise InputError(
                "sparse weights of other features",
                file=path,
                seen=f"weights of {held}",
                expected=str(expected),
                remedy="translate with the work directory the run was trained on",
            )
        return replace(weights, sparse_F=weights.sparse_F.astype(np.float64))


def load_weights(path: str | Path) -> WeightsFile:
    """Reads what `save_weights` wrote.

    Raises:
        InputError: the file is missing, damaged, of another format, or holds a weight that is not finite.
    """
    path = Path(path)
    try:
        raw = plain_file(path).read_bytes()
    except OSError as error:
        remedy = "train again, or copy the file again"
        raise unreadable(path, error, FORMAT, remedy, "not a usable weights file") from error
    try:
        tensors = load_tensors(raw)
        described = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
        described = json.loads(described[KEY])
        earlier = described["format"] == EARLIER
        if not earlier:
            if described["format"] != FORMAT:
                raise ValueError(f"format {described['format']!r}")
            # safetensors notices a changed length, not a changed value.
            if described.pop("crc32") != _crc32(described, tensors):
                raise ValueError("its checksum differs")
            file = _unpacked(described, tensors)
    except Exception as error:
        raise InputError(
            "not a usable weights file",
            file=path,
            seen=f"{type(error).__name__}: {error}",
            expected=FORMAT,
            remedy="train again, or copy the file again",
        ) from error
    if earlier:
        raise InputError(
            "weights of an earlier version",
            file=path,
            seen=EARLIER,
            expected=FORMAT,
            remedy="remove the folder of the run, and train or import it again",
        )
    _check_finite(file.sets, path, "train again, or copy the file again")
    return file


def _check_finite(sets: Mapping[str, Weights], path: str | Path, remedy: str) -> None:
    strange = next((name for name, weights in sets.items() if not weights.finite), None)
    if strange is not None:
        raise InputError(
            "a weight that is no finite number",
            file=path,
            seen=f"among the weights {strange}",
            expected=f"finite numbers, none beyond {LARGEST_FLOAT32:.3g}",
            remedy=remedy,
        )


def _unpacked(described: Mapping[str, Any], tensors: dict[str, AnyArray]) -> WeightsFile:
    sets: dict[str, Weights] = {}
    features: dict[str, StoredFeatures] = {}
    for name, dense_names in described["dense_names"].items():
        size = described["sparse_size"][name]
        ids_A = tensors.pop(f"{name}.ids", np.zeros(0, dtype=np.int32))
        sparse_F = weights_of_ids(ids_A, tensors.pop(f"{name}.values", np.zeros(0)), size)
        sets[name] = Weights(tensors.pop(f"{name}.dense"), sparse_F, tuple(dense_names))
        if name in described["families"]:
            families = [(str(family), int(count)) for family, count in described["families"][name]]
            packed = tensors.pop(f"{name}.names").tobytes() if size else b""
            features[name] = StoredFeatures(families, ids_A, packed)
    return WeightsFile(sets, features, tensors, described["metadata"])


def _crc32(described: Mapping[str, Any], tensors: Mapping[str, AnyArray]) -> str:
    checksum = zlib.crc32(json.dumps(described).encode())
    for name, tensor in sorted(tensors.items()):
        checksum = zlib.crc32(f"{name} {tensor.dtype} {tensor.shape}".encode(), checksum)
        checksum = zlib.crc32(np.ascontiguousarray(tensor).tobytes(), checksum)
    return f"{checksum:08x}"
