"""The candidate store: batches appended to plain .npy files, read back memory-mapped.

Events of the training text, imported n-best lists, lists of the training text and rounds of tuning are all kept this
way. A store is one shard, or a folder of shards `shard-0000`, `shard-0001` …, each a folder with its own header and
checksums.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import NO_INTS32, AnyArray, AnyInts, Bools, Ints
from xlate.arrays.ranges import check_lengths, check_within
from xlate.arrays.stored import (
    HEADER,
    ArrayStream,
    StoredArrays,
    layout_of,
    open_arrays,
    remedy_for,
    unusable,
    write_header,
)
from xlate.candidates.batch import CandidateBatch, check_arrays
from xlate.errors import InputError
from xlate.text.folders import Fields, check_fields, remove_folder, whole_folder, without_mark
from xlate.text.lines import naming_file

log = logging.getLogger(__name__)

KIND = "candidate store"
STRANGERS = without_mark(HEADER, f'"{KIND}"', r"header\.json|\w+\.npy|sparse_names\.gz")
REMEDY = "name another folder"
REQUIRED, OPTIONAL = layout_of(CandidateBatch)
LAYOUT = {**REQUIRED, **OPTIONAL}
SHARDS = "shard-*"
FIELDS: Fields = {"dense_names": list, "gain_names": list, "sparse_size": int, "metadata": dict}


class StoreWriter(contextlib.ExitStack):
    """Writes a store batch by batch into a temporary folder, which gets its final name at the end of the `with` block.

    Only the current batch is in memory. If the block fails, nothing is left behind.
    Further files of the caller that belong to the store go into the folder `aside`.

    Raises:
        InputError: the name belongs to a folder that is neither empty nor a candidate store.
    """

    def __init__(
        self,
        directory: str | Path,
        dense_names: Sequence[str],
        sparse_size: int,
        gain_names: Sequence[str] = ("gain",),
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.directory = Path(directory)
        self.aside = self.enter_context(whole_folder(self.directory, "a candidate store", STRANGERS, REMEDY))
        self.push(self._end)
        self._described: dict[str, Any] = {
            "dense_names": list(dense_names),
            "gain_names": list(gain_names),
            "sparse_size": int(sparse_size),
            "metadata": metadata or {},
        }
        self._arrays: dict[str, ArrayStream] = {}
        self._ends: dict[str, int] = {}

    def append(self, batch: CandidateBatch) -> None:
        """Adds a batch's instances after those already written.

        Raises:
            ValueError: the batch is inconsistent, or does not fit the given names or the batches before it.
        """
        batch.validate()
        for name, names in (("dense_CD", "dense_names"), ("gain_CG", "gain_names")):
            if getattr(batch, name).shape[1] != len(self._described[names]):
                raise ValueError(f"{name}: {getattr(batch, name).shape[1]} columns, named {self._described[names]}")
        if len(batch.part_ids_N) and batch.part_ids_N.max() >= self._described["sparse_size"]:
            raise ValueError(
                f"part_ids_N: id {batch.part_ids_N.max()}, expected below {self._described['sparse_size']}"
            )
        present = {name: array for name in LAYOUT if (array := getattr(batch, name)) is not None}
        if self._arrays and present.keys() != self._arrays.keys():
            raise ValueError(f"arrays {sorted(present)}, the batches before had {sorted(self._arrays)}")
        for name, array in present.items():
            if name in self._arrays and array.shape[1:] != self._arrays[name].columns:
                before = self._arrays[name].columns[0]
                raise ValueError(f"{name}: {array.shape[1]} columns, but {before} in the batches before")
        for name, array in present.items():
            if name not in self._arrays:
                stream = (self.aside / f"{name}.npy").open("w+b")
                self._arrays[name] = ArrayStream(stream, np.dtype(LAYOUT[name][0]), array.shape[1:])
                self._ends[name] = 0
                if "offsets" in name:
                    self._arrays[name].append(np.zeros(1, np.int64))
            rows = array
            if "offsets" in name:
                rows = array[1:] + self._ends[name]
                self._ends[name] += int(array[-1])
            with naming_file(self.directory / f"{name}.npy"):
                self._arrays[name].append(rows)

    def _end(self, kind: object, *_: object) -> None:
        """Completes the files, unless something failed, and closes them."""
        try:
            if kind is None:
                self._complete()
        finally:
            for array in self._arrays.values():
                with contextlib.suppress(OSError):
                    array.stream.close()

    def _complete(self) -> None:
        if not self._arrays:
            start = np.zeros(1, np.int64)
            dense, gains = (len(self._described[kind]) for kind in ("dense_names", "gain_names"))
            rows = np.zeros((0, dense), np.float32), np.zeros((0, gains), np.float32)
            self.append(CandidateBatch(start, *rows, start, NO_INTS32))
        entries = {}
        for name, array in self._arrays.items():
            with naming_file(self.directory / f"{name}.npy"):
                entries[name] = array.finish()
                array.stream.close()
        write_header(self.aside, KIND, entries, self._described)


@dataclass(frozen=True, eq=False)
class CandidateStore:
    """A store opened for reading; its arrays are memory-mapped, so it may be larger than memory."""

    arrays: CandidateBatch
    dense_names: list[str]
    gain_names: list[str]
    sparse_size: int
    metadata: dict[str, Any]

    @classmethod
    def open(cls, directory: str | Path, *, mapped: bool = True) -> CandidateStore:
        """Opens and checks what `StoreWriter` wrote; the first time on a machine, values are checked too.

        Args:
            directory: a shard, or a folder of shards, which are then used in the order of their names.
            mapped: whether the arrays of a single shard are mapped from their files, or read into memory.

        Raises:
            InputError: there is no store, it has another version, a file is missing or damaged, offsets do not fit the
                arrays, or parts or ids do not exist.
        """
        folder = Path(directory)
        shards = [] if (folder / HEADER).exists() else sorted(folder.glob(SHARDS))
        return cls.of_shards(shards or [folder], mapped=mapped)

    @classmethod
    def of_shards(cls, shards: Sequence[Path], *, mapped: bool = True) -> CandidateStore:
        """Opens shards as one store; the arrays of several shards are copied into memory.

        Raises:
            InputError: as in `open`, naming the shard; or shards differ from the first in features or gains.
        """
        opened = [open_arrays(shard, KIND, LAYOUT, _check, optional=tuple(OPTIONAL), mapped=mapped) for shard in shards]
        for stored in opened:
            for name in ("dense_names", "gain_names"):
                seen, expected = stored.metadata[name], str(opened[0].metadata[name])
                if str(seen) != expected:
                    raise unusable(stored.folder / HEADER, f"{name} are not those of the first shard", seen, expected)
        batches, first = [CandidateBatch(**stored.arrays) for stored in opened], opened[0]
        try:
            whole = batches[0] if len(batches) == 1 else CandidateBatch.joined(batches)
        except ValueError as error:
            raise unusable(
                first.folder / HEADER, "shards of one store differ", error, "the same arrays in each"
            ) from error
        described = {name: first.metadata[name] for name in FIELDS}
        described["sparse_size"] = max(stored.metadata["sparse_size"] for stored in opened)
        return cls(whole, **described)

    def __len__(self) -> int:
        """The number of instances."""
        return len(self.arrays)

    def batch(self, instances: Sequence[int] | AnyInts) -> CandidateBatch:
        """The given instances in that order, copied out of the mapped files."""
        return self.arrays.select(instances)


def shard_path(folder: Path, number: int) -> Path:
    """The folder of a shard of a store."""
    return folder / f"shard-{number:04}"


def is_whole(shard: Path) -> bool:
    """Whether a store or a shard of one exists and is intact; a damaged one is removed with a warning.

    Raises:
        InputError: the path holds something else.
    """
    if not shard.exists():
        return False
    try:
        CandidateStore.open(shard)
    except InputError as error:
        if STRANGERS(shard):
            raise
        log.warning("remaking %s, which cannot be used: %s", shard, error)
        remove_folder(shard)
        return False
    return True


def _check(stored: StoredArrays) -> None:
    """Checks that the arrays fit each other and the header, and that parts and ids exist."""
    check_fields(stored.metadata, FIELDS, stored.folder / HEADER, remedy_for(stored.folder))
    candidates = len(stored["dense_CD"])
    check_lengths(
        stored,
        dense_CD=(candidates, len(stored.metadata["dense_names"])),
        gain_CG=(candidates, len(stored.metadata["gain_names"])),
    )
    check_arrays(stored)
    check_within(stored, "part_ids_N", 0, int(stored.metadata["sparse_size"]))


def epoch_order(size: int, seed: int, epoch: int, *, name: str = "", block: int | None = None) -> Ints:
    """A random order of `size` instances, the same for the same (seed, name, epoch).

    With `block`, runs of that many neighbouring instances stay together: the runs are shuffled, and the instances
    within each run, so that a store larger than memory is read almost in sequence.
    """
    random = np.random.Generator(np.random.PCG64([seed, zlib.crc32(name.encode()), epoch]))
    if block is None or block >= size:
        return random.permutation(size)
    starts = random.permutation(np.arange(0, size, block))
    return np.concatenate([start + random.permutation(min(block, size - start)) for start in starts])


def held_out(size: int, every: int) -> Bools:
    """Which of `size` lists or sentences are held out, (size,): every N-th; none if `every` is 0."""
    held_I: Bools = np.arange(size) % every == every - 1 if every else np.zeros(size, np.bool_)
    return held_I


def spread(size: int, fraction: float) -> Ints:
    """A `fraction` of `size` instances, evenly spread; at least one if there are any."""
    count = min(size, max(1, round(size * fraction))) if size else 0
    return (np.arange(count) * (size / max(1, count))).astype(np.int64)


def will_need(array: AnyArray, first: int, last: int) -> None:
    """Prefetches rows `first` to `last` (end excluded) of a contiguous array; does nothing if it is not mapped."""
    mapped: Any = array
    while mapped is not None and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    file = getattr(mapped, "_mmap", None)
    if file is None or last <= first or not hasattr(mmap, "MADV_WILLNEED"):
        return
    begin = array[first:last].ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
    start = begin - begin % mmap.PAGESIZE
    length = min(begin + array[first:last].nbytes, len(file)) - start
    file.madvise(mmap.MADV_WILLNEED, start, length)
