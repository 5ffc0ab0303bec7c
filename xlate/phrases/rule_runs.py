"""Sorted runs of counted rules: the rules of a part of a corpus, kept aside in files, and merged at the end."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.arrays.stored import ArrayStream
from xlate.kernels.counting.rule_extraction import RuleStore
from xlate.kernels.counting.sorted_runs import CountedRows, Numbers, Totals, merge_rows, merge_sequences
from xlate.phrases.extract import number_nodes
from xlate.phrases.rules import gaps_of
from xlate.phrases.table import select_phrases
from xlate.text.encoded import EncodedText

SIDES = ("source", "target", "shape")


class Run(NamedTuple):
    """N rules, sorted by the rows of their source sides, target sides and shapes, which are sorted too."""

    sequences: tuple[EncodedText, EncodedText, EncodedText]
    rows: tuple[Ints32, Ints32, Ints32]
    weight_N: Ints


class MergedRules(NamedTuple):
    """B rules over P source sides, Q target sides and X shapes, sorted by (source_B, target_B); weights as in `Run`."""

    sources: EncodedText
    targets: EncodedText
    shapes: EncodedText
    source_B: Ints32
    target_B: Ints32
    shape_B: Ints32
    weight_B: Ints
    totals: Totals


def sorted_run(store: RuleStore) -> Run:
    """The rules of a store as a run."""
    rules, size = int(store.rules.size_1[0]), int(store.shaped.size_1[0])
    keys = store.rules.keys_K[:rules]
    sources, source_B = number_nodes(store.sources, (keys >> np.uint64(32)).astype(np.int32))
    targets, target_B = number_nodes(store.targets, keys.astype(np.uint32).astype(np.int32))
    order = np.argsort((source_B.astype(np.int64) << 32) | target_B)
    rank_B = np.empty(rules, dtype=np.int64)
    rank_B[order] = np.arange(rules)
    keys_N = store.shaped.keys_K[:size]
    shapes, shape_N = number_nodes(store.shapes, keys_N.astype(np.uint32).astype(np.int32))
    rule_N = (keys_N >> np.uint64(32)).astype(np.int64)
    order = np.argsort((rank_B[rule_N] << 32) | shape_N)
    rule_N = rule_N[order]
    rows = source_B[rule_N], target_B[rule_N], shape_N[order]
    return Run((sources, targets, shapes), rows, store.weight_N[:size][order])


class RuleRuns:
    """Runs in a scratch folder; the last one need not be written when it is the only one."""

    def __init__(self, scratch: Path | None = None) -> None:
        """Runs in a folder of their own below `scratch`, or where temporary files go."""
        self._scratch = scratch
        self._files = ExitStack()
        self._streams: dict[str, ArrayStream] = {}
        self._folder = Path()
        self._ends: list[tuple[int, ...]] = []

    def __enter__(self) -> RuleRuns:
        return self

    def __exit__(self, *_: object) -> None:
        """Removes the runs."""
        self._files.close()

    def __len__(self) -> int:
        """How many runs were written."""
        return len(self._ends)

    def write(self, run: Run) -> None:
        """Writes a run behind those that came before."""
        ends = self._ends[-1] if self._ends else (0, 0, 0, 0)
        for side, text, rows, end in zip(SIDES, run.sequences, run.rows, ends[:3], strict=True):
            self._append(f"{side}_ids", text.ids_T)
            self._append(f"{side}_lengths", np.diff(text.offsets_S1).astype(np.int32))
            self._append(side, rows + np.int32(end))
        self._append("weight", run.weight_N)
        sizes = [len(text) for text in run.sequences] + [len(run.weight_N)]
        self._ends.append(tuple(end + size for end, size in zip(ends, sizes, strict=True)))

    def merge(self, last: Run, least: int = 0) -> MergedRules:
        """The rules of all runs and of a last one; those with gaps that weigh less than `least` are left out."""
        if not self._ends:
            ends_RE = np.array([[0] * 4, [*map(len, last.sequences), len(last.weight_N)]], dtype=np.int64)
            return _merge(list(last.sequences), [*last.rows, last.weight_N], ends_RE, least)
        self.write(last)
        for stream in self._streams.values():
            stream.finish()
        sequences = [EncodedText(self._open(f"{s}_ids"), offsets_of(self._open(f"{s}_lengths"))) for s in SIDES]
        ends_RE = np.array([(0, 0, 0, 0), *self._ends], dtype=np.int64)
        return _merge(sequences, [self._open(name) for name in (*SIDES, "weight")], ends_RE, least)

    def _append(self, name: str, rows: AnyArray) -> None:
        if not self._streams:
            made = tempfile.TemporaryDirectory(prefix="rules-", dir=self._scratch)
            self._folder = Path(self._files.enter_context(made))
        if name not in self._streams:
            stream = self._files.enter_context((self._folder / f"{name}.npy").open("wb"))
            self._streams[name] = ArrayStream(stream, rows.dtype)
        self._streams[name].append(rows)

    def _open(self, name: str) -> AnyArray:
        # Writable as far as compiled loops can see, so that they are not compiled twice.
        mode: Literal["c"] | None = "c" if self._streams[name].rows else None
        return np.asarray(np.load(self._folder / f"{name}.npy", mmap_mode=mode))


def _merge(sequences: list[EncodedText], columns: list[AnyArray], ends_RE: Ints, least: int) -> MergedRules:
    numbers, distinct = [], []
    for text, ends_R1 in zip(sequences, ends_RE.T, strict=False):
        number_N, row_M = merge_sequences(text.ids_T, text.offsets_S1, np.ascontiguousarray(ends_R1))
        numbers.append(number_N)
        distinct.append(select_phrases(text, row_M))
    rows = CountedRows(*columns, runs_R1=np.ascontiguousarray(ends_RE[:, 3]))  # type: ignore[misc]
    totals = Totals(np.zeros(len(distinct[0]), dtype=np.int64), np.zeros(len(distinct[1]), dtype=np.int64))
    least_P = np.where(gaps_of(distinct[0]) > 0, least, 0)
    source_B, target_B, shape_B, weight_B = merge_rows(rows, Numbers(*numbers), totals, least_P)
    sources, targets, shapes = distinct
    return MergedRules(sources, targets, shapes, source_B, target_B, shape_B, weight_B, totals)
