"""One round of tuning on disk: the weights that a text was decoded with, and the lists that came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.scoring.weights import Weights
from xlate.text.lines import atomic_write

_ARRAYS = ("candidate_offsets_I1", "dense_CD", "gain_CG", "part_id_offsets_P1", "part_ids_N")


@dataclass(frozen=True)
class Round:
    """Plain n-best lists, and the D float and F sparse weights they were decoded with."""

    lists: CandidateBatch
    dense_D: NDArray[np.float64]
    sparse_F: NDArray[np.float64]

    def made_with(self, weights: Weights) -> bool:
        """Whether these are the weights."""
        same = np.array_equal(self.dense_D, weights.dense_D) and np.array_equal(self.sparse_F, weights.sparse_F)
        return bool(same)


def round_path(folder: Path, number: int) -> Path:
    """The file of a round."""
    return folder / f"round-{number:03d}.safetensors"


def save_round(path: Path, done: Round) -> None:
    """Writes a round, whole or not at all."""
    tensors: dict[str, NDArray[Any]] = {name: getattr(done.lists, name) for name in _ARRAYS}
    if done.lists.part_values_N is not None:
        tensors["part_values_N"] = done.lists.part_values_N
    tensors |= {"dense_D": done.dense_D, "sparse_F": done.sparse_F}
    with atomic_write(path) as stream:
        stream.write(save_tensors({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def load_round(path: Path) -> Round:
    """Reads a round.

    Raises:
        InputError: the file is damaged.
    """
    try:
        tensors = load_tensors(path.read_bytes())
        arrays = {name: tensors[name] for name in _ARRAYS}
        lists = CandidateBatch(**arrays, part_values_N=tensors.get("part_values_N")).validate()
        return Round(lists, tensors["dense_D"], tensors["sparse_F"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(
            "a damaged round of tuning",
            file=path,
            seen=error,
            expected="the n-best lists of a round",
            remedy="remove the file: the round is decoded again",
        ) from error
