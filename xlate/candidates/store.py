"""The candidate store: batches appended to plain .npy files, read back memory-mapped.

Events of the training text, imported n-best lists, lists of the training text and rounds of tuning are all kept this
way. A store is one shard, or a folder of shards `shard-0000`, `shard-0001` …, each a folder with a header and checksums
of its own.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from xlate.array_types import AnyArray, AnyInts
from xlate.arrays.ranges import check_lengths, check_offsets, check_within, pieces, refuse
from xlate.arrays.stored import HEADER, ArrayStream, StoredArrays, open_arrays, remedy_for, unusable, write_header
from xlate.candidates.batch import BETWEEN, CONTEXTS, WORDS, CandidateBatch
from xlate.errors import InputError
from xlate.text.folders import WholeFolder, remove_folder, without_mark
from xlate.text.json_files import Fields, check_fields
from xlate.text.lines import naming_file

log = logging.getLogger(__name__)

KIND = "candidate store"
STRANGERS = without_mark(HEADER, f'"{KIND}"', r"header\.json|\w+\.npy|sparse_names\.gz")
REMEDY = "name another folder"
LAYOUT = {
    "candidate_offsets_I1": ("<i8", 1),
    "dense_CD": ("<f4", 2),
    "gain_CG": ("<f4", 2),
    "part_id_offsets_P1": ("<i8", 1),
    "part_ids_N": ("<i4", 1),
    "part_offsets_I1": ("<i8", 1),
    "candidate_part_offsets_C1": ("<i8", 1),
    "candidate_parts_K": ("<i4", 1),
    "part_values_N": ("<f4", 1),
    "base_C": ("<f4", 1),
    "sentence_I": ("<i8", 1),
    "draws_C": ("<i4", 1),
    "unit_PU": ("<i4", 2),
    "between_offsets_P1": ("<i8", 1),
    "between_T": ("<i4", 1),
    "word_offsets_C1": ("<i8", 1),
    "words_T": ("<i4", 1),
    "context_offsets_I1": ("<i8", 1),
    "contexts_X": ("<i4", 1),
}
UNITS = ("unit_PU", "between_offsets_P1", "between_T")
OPTIONAL = (*BETWEEN, "part_values_N", "base_C", "sentence_I", "draws_C", *UNITS, *WORDS, *CONTEXTS)
SHARDS = "shard-*"
FIELDS: Fields = {"dense_names": list, "gain_names": list, "sparse_size": int, "metadata": dict}


class StoreWriter:
    """Writes a store batch by batch into a folder aside, which takes its final name when closed.

    Only the batch at hand is in memory. Used as a context manager it closes when all went well and leaves nothing
    behind otherwise. Files of the caller's own that belong to the store go into the folder `aside`.

    Raises:
        InputError: a folder stands under that name that is neither empty nor a candidate store.
    """

    def __init__(
        self,
        directory: str | Path,
        dense_names: Sequence[str],
        sparse_size: int,
        gain_names: Sequence[str] = ("gain",),
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.directory = Path(directory)
        self._whole = WholeFolder(self.directory, "a candidate store", STRANGERS, REMEDY)
        self.aside = self._whole.path
        self._described: dict[str, Any] = {
            "dense_names": list(dense_names),
            "gain_names": list(gain_names),
            "sparse_size": int(sparse_size),
            "metadata": metadata or {},
        }
        self._files: dict[str, BinaryIO] = {}
        self._arrays: dict[str, ArrayStream] = {}
        self._ends: dict[str, int] = {}
        self._unit_width: int | None = None

    def append(self, batch: CandidateBatch) -> None:
        """Adds a batch's instances behind those already written.

        Raises:
            ValueError: the batch does not fit itself, the names given, or the batches before it.
        """
        batch.validate()
        for name, names in (("dense_CD", "dense_names"), ("gain_CG", "gain_names")):
            if getattr(batch, name).shape[1] != len(self._described[names]):
                raise ValueError(f"{name}: {getattr(batch, name).shape[1]} columns, named {self._described[names]}")
        if len(batch.part_ids_N) and batch.part_ids_N.max() >= self._described["sparse_size"]:
            raise ValueError(
                f"part_ids_N: id {batch.part_ids_N.max()}, expected below {self._described['sparse_size']}"
            )
        width = None if batch.unit_PU is None else batch.unit_PU.shape[1]
        if self._files and width != self._unit_width:
            raise ValueError(f"unit_PU: {width} columns, {self._unit_width} in the batches before")
        self._unit_width = width
        present = {name for name in LAYOUT if getattr(batch, name) is not None}
        if self._files and present != set(self._files):
            raise ValueError(f"arrays {sorted(present)}, the batches before had {sorted(self._files)}")
        for name in LAYOUT:
            if name in present:
                self._append(name, getattr(batch, name))

    def close(self) -> None:
        """Completes the files and gives the folder its final name; an older store of that name is replaced."""
        if not self._files:
            self.append(_no_instances(len(self._described["dense_names"]), len(self._described["gain_names"])))
        entries = {}
        for name, array in self._arrays.items():
            with naming_file(self.directory / f"{name}.npy"):
                entries[name] = array.finish()
                self._files[name].close()
        write_header(self.aside, KIND, entries, self._described)
        self._whole.keep()

    def discard(self) -> None:
        """Removes what was written so far."""
        for stream in self._files.values():
            with contextlib.suppress(OSError):
                stream.close()
        self._whole.discard()

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            try:
                self.close()
            except BaseException:
                self.discard()
                raise
        else:
            self.discard()

    def _append(self, name: str, array: AnyArray) -> None:
        if name not in self._files:
            stream = (self.aside / f"{name}.npy").open("w+b")
            self._files[name] = stream
            self._arrays[name] = ArrayStream(stream, np.dtype(LAYOUT[name][0]), array.shape[1:])
            self._ends[name] = 0
            if "offsets" in name:
                self._arrays[name].append(np.zeros(1, dtype=np.int64))
        if "offsets" in name:
            moved = array[1:] + self._ends[name]
            self._ends[name] += int(array[-1])
            array = moved
        with naming_file(self.directory / f"{name}.npy"):
            self._arrays[name].append(array)


class CandidateStore:
    """A store opened for reading: its arrays are mapped, so it may be larger than memory."""

    def __init__(self, directory: Path, described: Mapping[str, Any], arrays: CandidateBatch) -> None:
        self.directory = directory
        self.arrays = arrays
        self.dense_names: list[str] = described["dense_names"]
        self.gain_names: list[str] = described["gain_names"]
        self.sparse_size: int = described["sparse_size"]
        self.metadata: dict[str, Any] = described["metadata"]

    @classmethod
    def open(cls, directory: str | Path, *, memory_map: bool = True) -> CandidateStore:
        """Opens and checks what `StoreWriter` wrote; values are read the first time on a machine.

        Args:
            directory: a shard, or a folder of shards, which are then taken in the order of their names.
            memory_map: false to read the arrays into memory.

        Raises:
            InputError: no store, another version, a file missing or damaged, offsets that do not lead through the
                arrays, parts and ids that are not there.
        """
        folder = Path(directory)
        shards = [] if (folder / HEADER).exists() else sorted(folder.glob(SHARDS))
        return cls.of_shards(shards or [folder], folder, memory_map=memory_map)

    @classmethod
    def of_shards(
        cls, shards: Sequence[Path], directory: Path | None = None, *, memory_map: bool = True
    ) -> CandidateStore:
        """Opens shards as one store, whose arrays are copied into memory when there are several.

        Raises:
            InputError: as `open` does, naming the shard; or shards with other features or gains than the first.
        """
        opened = [
            open_arrays(shard, KIND, LAYOUT, _check, optional=OPTIONAL, memory_map=memory_map) for shard in shards
        ]
        for stored in opened:
            check_fields(stored.metadata, FIELDS, stored.folder / HEADER, remedy_for(stored.folder))
            for name in ("dense_names", "gain_names"):
                seen, expected = stored.metadata[name], str(opened[0].metadata[name])
                if str(seen) != expected:
                    message = f"{name} are not those of the first shard"
                    raise unusable(stored.folder / HEADER, message, seen, expected)
        batches, first = [CandidateBatch(**stored.arrays) for stored in opened], opened[0]
        try:
            whole = batches[0] if len(batches) == 1 else CandidateBatch.joined(batches)
        except ValueError as error:
            raise unusable(
                first.folder / HEADER, "shards of one store differ", error, "the same arrays in each"
            ) from error
        described = {**first.metadata, "sparse_size": max(stored.metadata["sparse_size"] for stored in opened)}
        return cls(directory or first.folder, described, whole)

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
    """Whether a store or a shard of one is there as it was written; a damaged one is named in a warning, and removed.

    Raises:
        InputError: something else stands there.
    """
    if not shard.exists():
        return False
    try:
        CandidateStore.open(shard)
    except InputError as error:
        if STRANGERS(shard):
            raise
        log.warning("%s cannot be used and is made again: %s", shard, error)
        remove_folder(shard)
        return False
    return True


def _no_instances(dense: int, gains: int) -> CandidateBatch:
    start = np.zeros(1, dtype=np.int64)
    rows = np.zeros((0, dense), dtype=np.float32), np.zeros((0, gains), dtype=np.float32)
    return CandidateBatch(start, *rows, start, np.zeros(0, dtype=np.int32))


def _check(stored: StoredArrays) -> None:
    """Looks whether the arrays fit each other, and parts and ids are there."""
    check_fields(stored.metadata, FIELDS, stored.folder / HEADER, remedy_for(stored.folder))
    instances, candidates = len(stored["candidate_offsets_I1"]) - 1, len(stored["dense_CD"])
    parts, ids = len(stored["part_id_offsets_P1"]) - 1, len(stored["part_ids_N"])
    described = stored.metadata
    check_lengths(
        stored,
        dense_CD=(candidates, len(described["dense_names"])),
        gain_CG=(candidates, len(described["gain_names"])),
        part_values_N=(ids,),
        base_C=(candidates,),
        draws_C=(candidates,),
        sentence_I=(instances,),
    )
    if "unit_PU" in stored.arrays:
        check_lengths(stored, unit_PU=(parts, stored["unit_PU"].shape[1]))
    _check_together(stored, UNITS)
    _check_together(stored, WORDS)
    _check_together(stored, CONTEXTS)
    if "contexts_X" in stored.arrays:
        check_lengths(stored, context_offsets_I1=(instances + 1,))
        check_offsets(stored, "context_offsets_I1", len(stored["contexts_X"]))
    if "words_T" in stored.arrays:
        check_lengths(stored, word_offsets_C1=(candidates + 1,))
        check_offsets(stored, "word_offsets_C1", len(stored["words_T"]))
    if "between_T" in stored.arrays:
        check_lengths(stored, between_offsets_P1=(parts + 1,))
        check_offsets(stored, "between_offsets_P1", len(stored["between_T"]))
    check_offsets(stored, "candidate_offsets_I1", candidates)
    check_offsets(stored, "part_id_offsets_P1", ids)
    check_within(stored, "part_ids_N", 0, int(described["sparse_size"]))
    _check_together(stored, BETWEEN)
    if BETWEEN[0] not in stored.arrays:
        check_lengths(stored, part_id_offsets_P1=(candidates + 1,))
    else:
        check_lengths(stored, part_offsets_I1=(instances + 1,), candidate_part_offsets_C1=(candidates + 1,))
        check_offsets(stored, "part_offsets_I1", parts)
        check_offsets(stored, "candidate_part_offsets_C1", len(stored["candidate_parts_K"]))
        _check_parts(stored)


def _check_together(stored: StoredArrays, names: Sequence[str]) -> None:
    there = [name for name in names if name in stored.arrays]
    if 0 < len(there) < len(names):
        raise refuse(stored, there[0], ", ".join(there), "with " + ", ".join(names))


def _check_parts(stored: StoredArrays) -> None:
    """Looks whether candidates have parts of their own instance."""
    candidate_offsets, part_offsets = stored["candidate_offsets_I1"], stored["part_offsets_I1"]
    ends_C1 = stored["candidate_part_offsets_C1"]
    for piece in pieces(len(candidate_offsets) - 1):
        ends_I = ends_C1[candidate_offsets[piece.start : piece.stop + 1]]
        sizes_I = np.diff(part_offsets[piece.start : piece.stop + 1])
        for some in pieces(int(ends_I[-1] - ends_I[0])):
            places = np.arange(some.start, some.stop) + ends_I[0]
            parts_K = stored["candidate_parts_K"][places[0] : places[-1] + 1]
            instance_K = np.searchsorted(ends_I, places, side="right") - 1
            wrong = np.flatnonzero((parts_K < 0) | (parts_K >= sizes_I[instance_K]))
            if len(wrong):
                seen = f"{parts_K[wrong[0]]} at {places[wrong[0]]}"
                expected = f"from 0 up, below {sizes_I[instance_K[wrong[0]]]}, the parts of its instance"
                raise refuse(stored, "candidate_parts_K", seen, expected)
