"""Do sparse weights learn from the lists of 4 million pairs in 8 GB of memory?

Makes lists of the shape of Multi30k's (`sparse=all`, 100-best: 86 parts per list, 8.5 parts per hypothesis, 75 ids per
part, most of them of frequent words) shard by shard, and learns 45 million weights from them with AdaGrad as a training
does: the lists go to a store on disk, from which passes read them in random order. By default a thousandth of the
lists, and a quarter of those for the straight line through both: CPU seconds of making the store and of an epoch, bytes
on disk, and anonymous memory at its highest (pages of mapped files can be dropped at any time, so they do not count).
What a list adds to the memory is measured with few weights, beside which it would not be seen. The ratio is 8 GB to the
memory at full size.

Run: python benchmarks/bench_large_lists.py [--quick] [--full] [--folder FOLDER]
     --quick: half as many; --full: all 4 million lists, with 170 GB of disk in FOLDER
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.features.index import Sizes
from xlate.jobs.train.lists import learn
from xlate.learning.ranks import ONE
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights

LISTS, FEATURES, FEW, EPOCHS, GIGABYTES = 4_000_000, 45_000_000, 1000, 3, 8
LIST, PARTS, SHARD, FLOATS = 100, 86, 1000, 15
OF_WORDS, OF_PHRASES = 69, 6
KEYS = ["model=phrase", "loss=xbleu", f"loss.lists.epochs={EPOCHS}", "loss.lists.tolerance=0"]


class MadeUpFeatures:
    """Ids of a phrase: most are of frequent words, the others of phrases and pairs, spread over all ids."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    @property
    def sizes(self) -> Sizes:
        return [("made-up", self.size)]

    def names(self, ids: AnyInts, members: int = 0) -> Iterator[str]:  # noqa: ARG002
        return (f"made-up:source_phrase={feature}" for feature in ids.tolist())

    def of_units(self, unit_PU: Ints32) -> tuple[Ints, Ints32]:
        """A number below 1 for each phrase and family, always the same, and an id from it."""
        families = np.arange(OF_WORDS + OF_PHRASES, dtype=np.uint64)
        mixed = (unit_PU.astype(np.uint64) * np.uint64(75) + families + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        share = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
        ids = np.where(families < OF_WORDS, self.size**share - 1, self.size * share).astype(np.int32)
        return np.arange(len(unit_PU) + 1) * ids.shape[1], ids.reshape(-1)


def shards(lists: int) -> Iterator[CandidateBatch]:
    """Shards of made-up lists."""
    for first in range(0, lists, SHARD):
        size, rng = min(SHARD, lists - first), np.random.default_rng(first)
        candidates, parts = size * LIST, size * PARTS
        ends_C1 = offsets_of(rng.integers(6, 12, candidates))
        words_C = rng.integers(9, 16, candidates)
        counted_C4 = words_C[:, None] - np.arange(4)
        parts_K = rng.integers(0, PARTS, ends_C1[-1]).astype(np.int32)
        # Few phrases are frequent, and some are better than others.
        phrase_P = (2.0 ** (30 * rng.random(parts))).astype(np.int32)
        part_K = parts_K + np.repeat(np.arange(size) * PARTS, np.diff(ends_C1[::LIST]))
        good_C = np.add.reduceat(phrase_P[part_K] % 8 / 8, ends_C1[:-1]) / np.diff(ends_C1)
        matched_C4 = (counted_C4 * good_C[:, None] ** np.arange(1, 5)).astype(np.int64)
        statistics = [words_C[:, None], np.full((candidates, 1), 12), matched_C4, counted_C4]
        yield CandidateBatch(
            np.arange(size + 1) * LIST,
            rng.normal(size=(candidates, FLOATS)).astype(np.float32),
            np.concatenate(statistics, axis=1).astype(np.float32),
            np.zeros(parts + 1, np.int64),
            np.zeros(0, np.int32),
            np.arange(size + 1) * PARTS,
            ends_C1,
            parts_K,
            unit_PU=phrase_P[:, None],
            between_offsets_P1=np.zeros(parts + 1, np.int64),
            between_T=np.zeros(0, np.int32),
        )


class Watch(Reporter):
    """Notes the CPU time and the bytes on disk when an epoch ends, and the highest anonymous memory until and since the
    first epoch begins.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.seconds, self.disk_mb, self.peaks_mb = folder, list[float](), 0.0, [0.0, 0.0]
        self._ended = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def scalar(self, tag: str, value: float, step: int) -> None:  # noqa: ARG002
        if tag == "sparse/heldout_loss":
            self.seconds.append(time.process_time())
            self.disk_mb = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file()) / 1e6

    def end(self) -> None:
        """Ends the watch over memory."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            anonymous = re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())
            assert anonymous is not None
            begun = bool(self.seconds)
            self.peaks_mb[begun] = max(self.peaks_mb[begun], int(anonymous.group(1)) / 1e3)


class Context:
    """What learning asks of a run."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter, self.ranks = reporter, ONE

    def stops(self) -> bool:
        """Never."""
        return False


def measured(lists: int, size: int, folder: Path) -> dict[str, float]:
    """What learning from so many lists took."""
    theta_D: Floats = np.full(FLOATS, 0.01)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        watch, start = Watch(Path(made)), time.process_time()
        features: Any = MadeUpFeatures(size)
        run: Any = Context(watch)
        theta = Weights(theta_D, np.zeros(size), tuple(map(str, range(FLOATS))))
        learn(load(TrainConfig, "train", KEYS), features, shards(lists), theta, Path(made) / "w.safetensors", run)
        watch.end()
    per_epoch, made_seconds = statistics.median(np.diff(watch.seconds).tolist()), watch.seconds[0] - start
    first_mb, then_mb = watch.peaks_mb
    return {
        "made": made_seconds,
        "epoch": per_epoch,
        "disk_mb": watch.disk_mb,
        "first_mb": first_mb,
        "then_mb": then_mb,
    }


def alone(*given: Any) -> dict[str, float]:
    """The same in a process of its own, so that memory is comparable."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, given)


def main() -> None:
    """Prints a table, and a JSON line last."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    # The C library gives back what is freed at once: what it keeps would hide what a list adds.
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "131072"
    # At least a shard, so that what is made shard by shard takes the same memory.
    least, most = SHARD, LISTS if asked.full else LISTS // (2000 if asked.quick else 1000)
    alone(40, FEW, asked.folder)
    runs = [(least, FEW), (most, FEW), (least, FEATURES), (most, FEATURES)]
    rows = [alone(*run, asked.folder) for run in runs]
    titles = ("lists", "weights", "made, CPU s", "epoch, CPU s", "disk MB", "anonymous MB", "in epochs")
    print("".join(f"{title:>15}" for title in titles))
    for run, row in zip(runs, rows, strict=True):
        print("".join(f"{number:>15,}" for number in run) + "".join(f"{number:>15,.2f}" for number in row.values()))

    def at_full(name: str, less: int, more: int) -> float:
        slope = (rows[more][name] - rows[less][name]) / (most - least)
        return rows[3][name] + slope * (LISTS - most)

    hours, made_hours = (at_full(name, 2, 3) / 3600 for name in ("epoch", "made"))
    disk_gb = at_full("disk_mb", 2, 3) / 1e3
    memory_gb = max(rows[3]["first_mb"], at_full("then_mb", 0, 1)) / 1e3
    print(
        f"{LISTS:,} lists on the straight line: {made_hours:.1f} hours of CPU to make the store and {hours:.2f} per "
        f"epoch, {disk_gb:.0f} GB on disk, {memory_gb:.2f} GB of anonymous memory per rank"
    )
    record = {"name": "large_lists", "ours": round(memory_gb, 2), "peer": GIGABYTES, "unit": "GB per rank at full size"}
    record |= {"ratio": round(GIGABYTES / memory_gb, 2), "hours_per_epoch": hours, "disk_gb": disk_gb}
    print(json.dumps(record | {"peak_mb": rows[3]["then_mb"], "rows": rows}))


if __name__ == "__main__":
    main()
