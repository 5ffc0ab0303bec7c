"""Weights, and their file: safetensors with names and families of the sparse features, and nothing executable.

Local training compares blocks one for one, so every family of block bigrams is above 0 on average: more and smaller
blocks score higher (Tillmann & Zhang 2007, section 5.4). `centred` leaves only what distinguishes one bigram from
another.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from xlate.array_types import NO_FLOATS, NO_INTS32, AnyArray, AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import places_of
from xlate.arrays.ranges import pieces
from xlate.errors import InputError, refuse_if
from xlate.features.index import FeatureIndex, Sizes, families_at
from xlate.text.lines import atomic_write, unreadable
from xlate.text.numbers import LARGEST_FLOAT32
from xlate.text.opening import plain_file

if TYPE_CHECKING:
    # Not needed just to open weights.
    from xlate.candidates.batch import CandidateBatch


@dataclass(frozen=True)
class StoredFeatures:
    """The F features of a weight set as its file describes them; the A features that have a weight have known names.

    Attributes:
        sizes: the families and how many features each has, in the order of the ids.
        ids_A: the features that have a weight, ascending.
        packed: their names as compressed lines of UTF-8.
    """

    sizes: Sizes
    ids_A: Ints32
    packed: bytes

    @cached_property
    def names_A(self) -> list[str]:
        """The names of the features that have a weight."""
        return zlib.decompress(self.packed).decode().split("\n") if len(self.ids_A) else []


# The name of the file of a run.
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
        """The same values in separate arrays."""
        return replace(self, dense_D=self.dense_D.copy(), sparse_F=self.sparse_F.copy())

    def single(self) -> Weights:
        """The same weights, the sparse ones rounded to 32 bits."""
        rounded: AnyArray = self.sparse_F.astype(np.float32)
        return replace(self, sparse_F=rounded)

    @property
    def floats(self) -> dict[str, float]:
        """The dense weights by name."""
        return dict(zip(self.dense_names, self.dense_D.tolist(), strict=True))

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
    """Writes named weight sets into one safetensors file, all or nothing.

    Only those of a set's sparse weights that are not 0 are written, in the type they have.

    Args:
        path: the file.
        sets: the weights by name, such as `linked` and `neutral`.
        features: the features of a set's sparse weights; their names are written with the weights.
        extra: other arrays to keep with them, such as feature keys.
        metadata: anything that JSON can hold.

    Raises:
        InputError: a weight is not finite, or a feature name holds a line end.
        ValueError: the numbers of features and of sparse weights differ.
    """
    _check_finite(sets, path, "train again with smaller rates, margins and scales")
    tensors: dict[str, AnyArray] = dict(extra or {})
    indexes = features or {}
    for name, weights in sets.items():
        tensors[f"{name}.dense"] = np.ascontiguousarray(weights.dense_D)
        if len(weights.sparse_F):
            # -0.0 is written too, so that training continues from the same bits.
            ids_A = np.flatnonzero((weights.sparse_F != 0) | np.signbit(weights.sparse_F)).astype(np.int32)
            tensors[f"{name}.ids"], tensors[f"{name}.values"] = ids_A, weights.sparse_F[ids_A]
            if name in indexes:
                packer, packed = zlib.compressobj(6), b""
                for rows in pieces(len(ids_A)):
                    lines = "\n".join(indexes[name].names(ids_A[rows]))
                    if lines.count("\n") >= rows.stop - rows.start:
                        seen = repr(next(one for one in indexes[name].names(ids_A[rows]) if "\n" in one))
                        raise InputError("a line end in a feature name", seen, file=path)
                    packed += packer.compress(f"{lines}\n".encode() if rows.stop < len(ids_A) else lines.encode())
                tensors[f"{name}.names"] = np.frombuffer(packed + packer.flush(), np.uint8)
        if name in indexes and len(indexes[name]) != len(weights.sparse_F):
            raise ValueError(f"{len(indexes[name])} features, {len(weights.sparse_F)} weights")
    described: dict[str, Any] = {
        "format": FORMAT,
        "dense_names": {name: list(weights.dense_names) for name, weights in sets.items()},
        "sparse_size": {name: len(weights.sparse_F) for name, weights in sets.items()},
        "families": {name: [list(row) for row in index.sizes] for name, index in indexes.items()},
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

    def learned(self, name: str) -> Iterator[tuple[int, str, str, float]]:
        """Id, family, name and weight of the sparse features of a set whose weight is not 0, in the order of their ids.

        Sets without names have none.
        """
        if name not in self.features:
            return
        features = self.features[name]
        families = families_at(features.sizes, features.ids_A)
        weights = self.sets[name].sparse_F[features.ids_A].tolist()
        rows = zip(features.ids_A.tolist(), families, features.names_A, weights, strict=True)
        yield from (row for row in rows if row[-1])

    def fitting(self, name: str, index: FeatureIndex | None, path: Path) -> Weights:
        """The weights of a set, whose sparse features must be those of an index, or none; all in 64 bits.

        Raises:
            InputError: they are of other features; the message names `path`.
        """
        weights = self.sets[name]
        held = self.features[name].sizes if name in self.features else None
        expected = None if index is None else index.sizes
        refuse_if(
            held != expected,
            "sparse weights of different features",
            f"weights of {held}",
            str(expected),
            "translate with the work directory the run was trained on",
            file=path,
        )
        return replace(weights, sparse_F=weights.sparse_F.astype(np.float64))


def load_weights(path: str | Path) -> WeightsFile:
    """Reads what `save_weights` wrote.

    Raises:
        InputError: the file is missing, damaged, of another format, or holds a weight that is not finite.
    """
    path, unusable, remedy = Path(path), "not a usable weights file", "train again, or copy the file again"
    try:
        raw = plain_file(path).read_bytes()
    except OSError as error:
        raise unreadable(path, error, FORMAT, remedy, unusable) from error
    try:
        tensors = load_tensors(raw)
        described = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
        described = json.loads(described[KEY])
        if described["format"] == EARLIER:
            again = "remove the folder of the run, and train or import it again"
            raise InputError("weights of an earlier version", EARLIER, FORMAT, again, file=path)
        if described["format"] != FORMAT:
            raise ValueError(f"format {described['format']!r}")
        # safetensors detects a changed length, not a changed value.
        if described.pop("crc32") != _crc32(described, tensors):
            raise ValueError("its checksum differs")
        file = _unpacked(described, tensors)
    except InputError:
        raise
    except Exception as error:
        raise InputError(unusable, f"{type(error).__name__}: {error}", FORMAT, remedy, file=path) from error
    _check_finite(file.sets, path, remedy)
    return file


def _check_finite(sets: Mapping[str, Weights], path: str | Path, remedy: str) -> None:
    strange = next((name for name, weights in sets.items() if not weights.finite), None)
    refuse_if(
        strange is not None,
        "a weight is not a finite number",
        f"among the weights {strange}",
        f"finite numbers, none beyond {LARGEST_FLOAT32:.3g}",
        remedy,
        path,
    )


def _unpacked(described: Mapping[str, Any], tensors: dict[str, AnyArray]) -> WeightsFile:
    sets: dict[str, Weights] = {}
    features: dict[str, StoredFeatures] = {}
    for name, dense_names in described["dense_names"].items():
        size = described["sparse_size"][name]
        ids_A = tensors.pop(f"{name}.ids", NO_INTS32)
        values_A = tensors.pop(f"{name}.values", NO_FLOATS)
        within = not len(ids_A) or (ids_A[0] >= 0 and ids_A[-1] < size and bool((np.diff(ids_A) > 0).all()))
        if len(ids_A) != len(values_A) or not within:
            raise ValueError(f"{len(values_A)} weights of {len(ids_A)} features that are not among {size}")
        sparse_F = np.zeros(size, values_A.dtype)
        sparse_F[ids_A] = values_A
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


def centred(weights: Weights, families: Mapping[str, slice], count_F: AnyInts) -> Weights:
    """Weights with the mean of each family moved to 0 over the occurrences of its features.

    Args:
        weights: with F sparse ones.
        families: the ids of each family.
        count_F: how often each feature occurs; a family that never occurs is unchanged.
    """
    sparse_F = weights.sparse_F.copy()
    for ids in families.values():
        total = int(count_F[ids].sum())
        if total:
            sparse_F[ids] -= (sparse_F[ids] @ count_F[ids]) / total
    return replace(weights, sparse_F=sparse_F)


def true_occurrences(events: CandidateBatch, features: int) -> Ints:
    """How often each of `features` features occurs in true candidates, those with a gain above 0; a plain batch."""
    true_C = np.flatnonzero(np.asarray(events.gain_CG)[:, 0] > 0)
    ids_M = np.asarray(events.part_ids_N)[places_of(events.part_id_offsets_P1, true_C)]
    return np.bincount(ids_M, minlength=features)
