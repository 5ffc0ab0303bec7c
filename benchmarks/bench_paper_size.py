"""How long does the training of Tillmann & Zhang (2007) take? It took them 15 minutes on one core.

Its size (section 5.3): 3.15 million datapoints with 1.98 positives and 7.45 negatives each, 7 floats, 15 million binary
features, 40 iterations. The store is written to disk in the benchmark and read as training reads it, memory-mapped.
Peak memory is reported with and without what is mapped from the store. `--quick` uses a twentieth of the datapoints and
features and 4 iterations. `--block=N` shuffles runs of N neighbours, as for stores larger than memory; `--keep=FOLDER`
writes the store there or reads it from there; `--iterations=N` sets the number of iterations.

Run: python benchmarks/bench_paper_size.py [--quick] [--block=N] [--keep=FOLDER] [--datapoints=N] [--iterations=N]

For a store four times the memory (as root, with version 1 control groups; the store is read twice, once without and
once with the limit; memory includes the pages of files that the process reads):

    python benchmarks/bench_paper_size.py --keep=/tmp/s --datapoints=6000000 --iterations=2 --block=4096
    sync; echo 3 > /proc/sys/vm/drop_caches
    mkdir /sys/fs/cgroup/memory/x; echo 600000000 > /sys/fs/cgroup/memory/x/memory.limit_in_bytes
    (echo $BASHPID > /sys/fs/cgroup/memory/x/cgroup.procs; python benchmarks/bench_paper_size.py …the same…)
"""

from __future__ import annotations

import json
import platform
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_vw import FLOATS, synthetic

from xlate.candidates.store import CandidateStore, StoreWriter, epoch_order
from xlate.learning.learner import InstanceLearner, PhaseSettings
from xlate.scoring.weights import Weights
from xlate.updates.rule import UpdateRule

DATAPOINTS, FEATURES, ITERATIONS, CHUNK = 3_150_000, 15_000_000, 40, 150_000
PAPER_SECONDS = 15 * 60
NAMES = tuple(f"f{d}" for d in range(FLOATS))


def write_store(folder: Path, datapoints: int, features: int) -> None:
    """Writes the synthetic datapoints chunk by chunk."""
    with StoreWriter(folder, NAMES, features) as writer:
        for number, start in enumerate(range(0, datapoints, CHUNK)):
            writer.append(synthetic(min(CHUNK, datapoints - start), features, seed=number))


def memory_mb() -> dict[str, float]:
    """Resident memory of this process in MB: all of it, and what is mapped from files."""
    text = Path("/proc/self/status").read_text()
    return {name: int(re.search(rf"{name}:\s+(\d+)", text).group(1)) / 1e3 for name in ("VmHWM", "VmRSS", "RssFile")}  # type: ignore[union-attr]


def train(
    store: CandidateStore, iterations: int, block: int | None
) -> tuple[float, float, list[float], dict[str, float]]:
    """Wall and CPU seconds of so many iterations, the loss of each, and the memory at the end."""
    settings = PhaseSettings(
        name="binary", weights="linked", trained=(True,) * FLOATS, train_sparse=True, use_sparse=True,
        epochs=iterations, eta=1e-4, eta_sparse=0.03, rule=UpdateRule(project=True),
    )  # fmt: skip
    weights = Weights.zeros(NAMES, store.sparse_size)
    learner = InstanceLearner(settings, store, weights, {})
    learner.learn(np.arange(10), 1.0)  # compiles
    wall, cpu, losses = time.perf_counter(), time.process_time(), []
    for epoch in range(iterations):
        order = epoch_order(len(store), 1, epoch, block=block)
        losses.append(learner.learn(order, 1.0)[0] / len(store))
    return time.perf_counter() - wall, time.process_time() - cpu, losses, memory_mb()


def option(name: str, default: int | None) -> int | None:
    """The number given as `--name=N`."""
    return next((int(a.partition("=")[2]) for a in sys.argv if a.startswith(f"--{name}=")), default)


def main() -> None:
    """Prints what was measured, and a JSON line last."""
    share = 20 if "--quick" in sys.argv else 1
    iterations = option("iterations", 4 if share > 1 else ITERATIONS) or 1
    datapoints, features = (option("datapoints", None) or DATAPOINTS) // share, FEATURES // share
    with tempfile.TemporaryDirectory() as temporary:
        named = [a.removeprefix("--keep=") for a in sys.argv if a.startswith("--keep=")]
        folder = Path(named[0] if named else temporary) / "store"
        start = time.perf_counter()
        if not (folder / "header.json").exists():
            write_store(folder, datapoints, features)
        written = time.perf_counter() - start
        size = sum(f.stat().st_size for f in folder.iterdir()) / 1e6
        wall, cpu, losses, memory = train(CandidateStore.open(folder), iterations, option("block", None))
    done = datapoints * iterations
    print(
        f"python {platform.python_version()}; {datapoints:,} datapoints, {features:,} features, {iterations} iterations"
    )
    print(f"store {size:,.0f} MB, made and written in {written:.0f} s; loss {losses[0]:.4f} to {losses[-1]:.4f}")
    print(f"wall {wall:.1f} s, CPU {cpu:.1f} s; {done / wall:,.0f} datapoints/s, {done / cpu:,.0f} per CPU second")
    beyond = memory["VmRSS"] - memory["RssFile"]
    print(f"resident {memory['VmRSS']:,.0f} MB, of it {memory['RssFile']:,.0f} mapped from files; {beyond:,.0f} beyond")
    whole = cpu * (DATAPOINTS * ITERATIONS) / done
    report = {"name": "paper_size", "ours": round(whole, 1), "peer": PAPER_SECONDS, "unit": "CPU s, whole training"}
    print(json.dumps({**report, "ratio": round(PAPER_SECONDS / whole, 2), "peak_mb": round(beyond)}))


if __name__ == "__main__":
    main()
