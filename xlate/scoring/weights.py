"""Weights, and their file: safetensors with the feature names inside, nothing that could run."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from xlate.errors import InputError
from xlate.text.lines import atomic_write

KEY = "xlate"
FORMAT = "xlate weights 1"


@dataclass(frozen=True)
class Weights:
    """D float and F sparse weights of one linear model."""

    dense_D: NDArray[np.float64]
    sparse_F: NDArray[np.float64]
    dense_names: tuple[str, ...]

    @classmethod
    def zeros(cls, dense_names: Sequence[str], sparse: int) -> Weights:
        """All weights 0."""
        return cls(np.zeros(len(dense_names)), np.zeros(sparse), tuple(dense_names))

    def copy(self) -> Weights:
        """The same values in arrays of their own."""
        return replace(self, dense_D=self.dense_D.copy(), sparse_F=self.sparse_F.copy())

    @property
    def active(self) -> int:
        """How many sparse weights are not 0."""
        return int(np.count_nonzero(self.sparse_F))

    @property
    def finite(self) -> bool:
        """Whether no weight is infinite or not a number."""
        return bool(np.isfinite(self.dense_D).all() and np.isfinite(self.sparse_F).all())


def save_weights(
    path: str | Path,
    sets: Mapping[str, Weights],
    *,
    sparse_names: Mapping[str, Sequence[str]] | None = None,
    extra: Mapping[str, NDArray[Any]] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Writes named weight sets into one safetensors file, whole or not at all.

    Args:
        path: the file.
        sets: the weights by name, such as `linked` and `neutral`.
        sparse_names: for a set, the names of its sparse features, one an id; kept as compressed UTF-8.
        extra: other arrays to keep with them, such as feature keys.
        metadata: anything JSON can say.

    Raises:
        InputError: a feature name holds a line end.
    """
    tensors: dict[str, NDArray[Any]] = dict(extra or {})
    for name, weights in sets.items():
        tensors[f"{name}.dense"] = np.ascontiguousarray(weights.dense_D)
        tensors[f"{name}.sparse"] = np.ascontiguousarray(weights.sparse_F)
    for name, names in (sparse_names or {}).items():
        if "\n" in "".join(names):
            raise InputError("a line end in a feature name", file=path, seen=repr(next(n for n in names if "\n" in n)))
        packed = zlib.compress("\n".join(names).encode("utf-8"), 6)
        tensors[f"{name}.names"] = np.frombuffer(packed, dtype=np.uint8)
    described: dict[str, Any] = {
        "format": FORMAT,
        "dense_names": {name: list(weights.dense_names) for name, weights in sets.items()},
        "metadata": dict(metadata or {}),
    }
    described["crc32"] = _crc32(described, tensors)
    with atomic_write(path) as stream:
        # One key only: safetensors writes several in any order, and equal weights should give equal bytes.
        stream.write(save_tensors(tensors, {KEY: json.dumps(described)}))


@dataclass(frozen=True)
class WeightsFile:
    """What a weights file holds."""

    sets: dict[str, Weights]
    extra: dict[str, NDArray[Any]]
    metadata: dict[str, Any]
    names: dict[str, bytes]

    def sparse_names(self, name: str) -> list[str]:
        """The names of a set's sparse features, one an id; empty when none were kept."""
        packed = self.names.get(name)
        text = zlib.decompress(packed).decode("utf-8") if packed else ""
        return text.split("\n") if text else []


def load_weights(path: str | Path) -> WeightsFile:
    """Reads what `save_weights` wrote.

    Raises:
        InputError: the file is missing, damaged, of another format, or holds a weight that is not finite.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        tensors = load_tensors(raw)
        described = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
        described = json.loads(described[KEY])
        if described["format"] != FORMAT:
            raise ValueError(f"format {described['format']!r}")
        # safetensors notices a changed length, not a changed value.
        if described.pop("crc32") != _crc32(described, tensors):
            raise ValueError("its checksum differs")
        sets = {
            name: Weights(tensors.pop(f"{name}.dense"), tensors.pop(f"{name}.sparse"), tuple(names))
            for name, names in described["dense_names"].items()
        }
        metadata = described["metadata"]
    except Exception as error:
        raise InputError(
            "not a usable weights file",
            file=path,
            seen=f"{type(error).__name__}: {error}",
            expected=FORMAT,
            remedy="train again, or copy the file again",
        ) from error
    strange = next((name for name, weights in sets.items() if not weights.finite), None)
    if strange is not None:
        raise InputError(
            "a weight that is no finite number",
            file=path,
            seen=f"among the weights {strange}",
            expected="finite numbers",
            remedy="train again, or copy the file again",
        )
    names = {key.removesuffix(".names"): tensors.pop(key).tobytes() for key in list(tensors) if key.endswith(".names")}
    return WeightsFile(sets, tensors, metadata, names)


def _crc32(described: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    checksum = zlib.crc32(json.dumps(described).encode())
    for name, tensor in sorted(tensors.items()):
        checksum = zlib.crc32(f"{name} {tensor.dtype} {tensor.shape}".encode(), checksum)
        checksum = zlib.crc32(np.ascontiguousarray(tensor).tobytes(), checksum)
    return f"{checksum:08x}"
