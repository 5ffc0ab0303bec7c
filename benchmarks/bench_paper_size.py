"""How long does the training of Tillmann & Zhang (2007) take, which took them 15 minutes on one core?

Its size (section 5.3): 3.15 million datapoints with 1.98 positives and 7.45 negatives each, 7 floats, 15 million binary
features, 40 iterations. The store is written to disk in the benchmark and read as training reads it, memory-mapped.
Peak memory is told with and without what is mapped from the store. `--quick` is a twentieth of the datapoints and
features and 4 iterations. `--block=N` shuffles runs of N neighbours, as for stores larger than memory.

Run: python benchmarks/bench_paper_size.py [--quick] [--block=N]
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

from xlate.candidates.batch import RaggedBatch
from xlate.candidates.sampler import epoch_order
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.scoring.weights import Weights
from xlate.train.learner import OnlineLearner
from xlate.train.state import PhaseSettings

DATAPOINTS, FEATURES, ITERATIONS, CHUNK = 3_150_000, 15_000_000, 40, 150_000
PAPER_SECONDS = 15 * 60
NAMES = tuple(f"f{d}" for d in range(FLOATS))


def write_store(folder: Path, datapoints: int, features: int) -> None:
    """Writes the synthetic datapoints chunk by chunk."""
    with StoreWriter(folder, NAMES, features) as writer:
        for number, start in enumerate(range(0, datapoints, CHUNK)):
            made = synthetic(min(CHUNK, datapoints - start), features, seed=number)
            writer.append(
                RaggedBatch(made.candidate_offsets_I1, made.dense_CD, made.gain_CG, made.id_offsets_C1, made.ids_N)
            )


def memory_mb() -> dict[str, float]:
    """Resident memory of this process in MB: all of it, and what is mapped from files."""
    text = Path("/proc/self/status").read_text()
    return {name: int(re.search(rf"{name}:\s+(\d+)", text).group(1)) / 1e3 for name in ("VmHWM", "VmRSS", "RssFile")}  # type: ignore[union-attr]


def train(store: CandidateStore, iterations: int, block: int | None) -> tuple[float, float, list[float]]:
    """Wall and CPU seconds of so many iterations, and the loss of each."""
    settings = PhaseSettings(
        name="binary", weights="linked", trained=(True,) * FLOATS, train_sparse=True, use_sparse=True,
        epochs=iterations, eta=1e-4, eta_sparse=0.03, project=True,
    )  # fmt: skip
    weights = Weights.zeros(NAMES, store.sparse_size)
    learner = OnlineLearner(settings, store, weights, {})
    learner.learn(np.arange(10), 1.0)  # compiles
    wall, cpu, losses = time.perf_counter(), time.process_time(), []
    for epoch in range(iterations):
        order = epoch_order(len(store), 1, epoch, block=block)
        losses.append(learner.learn(order, 1.0)[0] / len(store))
    return time.perf_counter() - wall, time.process_time() - cpu, losses


def main() -> None:
    """Prints what was measured, and a JSON line last."""
    share, iterations = (20, 4) if "--quick" in sys.argv else (1, ITERATIONS)
    block = next((int(a.removeprefix("--block=")) for a in sys.argv if a.startswith("--block=")), None)
    datapoints, features = DATAPOINTS // share, FEATURES // share
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_store(Path(folder) / "store", datapoints, features)
        written = time.perf_counter() - start
        size = sum(f.stat().st_size for f in (Path(folder) / "store").iterdir()) / 1e6
        store = CandidateStore.open(Path(folder) / "store")
        wall, cpu, losses = train(store, iterations, block)
        memory = memory_mb()
    rate = datapoints * iterations / cpu
    print(
        f"python {platform.python_version()}; {datapoints:,} datapoints, {features:,} features, {iterations} iterations"
    )
    print(f"store {size:,.0f} MB, made and written in {written:.0f} s; loss {losses[0]:.4f} to {losses[-1]:.4f}")
    print(f"wall {wall:.1f} s, CPU {cpu:.1f} s, {rate:,.0f} datapoints a CPU second")
    beyond = memory["VmRSS"] - memory["RssFile"]
    print(f"resident {memory['VmRSS']:,.0f} MB, of it {memory['RssFile']:,.0f} mapped from files; {beyond:,.0f} beyond")
    whole = cpu * (DATAPOINTS * ITERATIONS) / (datapoints * iterations)
    figures = {"ours": round(whole, 1), "peer": PAPER_SECONDS, "unit": "s (the whole training, CPU)"}
    print(
        json.dumps(
            {"name": "paper_size", **figures, "ratio": round(PAPER_SECONDS / whole, 2), "peak_mb": round(beyond)}
        )
    )


if __name__ == "__main__":
    main()
