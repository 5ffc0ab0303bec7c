"""How many hypotheses per second does `xlate nbest rescore run=RUN` rank, from reading records to writing them?

The list is of vLLM's records of 50 hypotheses, with a total and a column. The run has weights for these, for words in a
row, for pairs with words of the source and for lengths. The command runs as a process of its own, so its start counts.

Run: python benchmarks/bench_rescore_lists.py [--quick]
     --quick: 20,000 hypotheses instead of 1,000,000
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import xlate
from xlate.text.lines import write_lines

HYPOTHESES, QUICK, SIZE = 1_000_000, 20_000, 50
LENGTH, WORDS, TRAINED = 20, 5_000, 60


def records(lists: int, seed: int) -> Iterator[dict[str, Any]]:
    """Lists whose hypotheses differ from the first one in some words."""
    random = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(WORDS)], object)
    for number in range(lists):
        first = (random.pareto(1.0, LENGTH) * 20).astype(np.int64) % WORDS
        other = (random.pareto(1.0, (SIZE, LENGTH)) * 20).astype(np.int64) % WORDS
        text = words[np.where(random.random((SIZE, LENGTH)) < 0.2, other, first)]
        total, quality = -10 * random.random(SIZE), random.random(SIZE)
        outputs = [
            {"index": place, "text": " ".join(row), "cumulative_logprob": one, "qe": two, "finish_reason": "stop"}
            for place, (row, one, two) in enumerate(zip(text, total.tolist(), quality.tolist(), strict=True))
        ]
        yield {"request_id": f"sentence-{number}", "prompt": " ".join(words[first]), "outputs": outputs}


def prepare(folder: Path, hypotheses: int) -> None:
    """Trains a run and writes a list."""
    lists = list(records(TRAINED, 1))
    references = [str(one["prompt"]) for one in lists]
    settings: dict[str, Any] = {"loss.tune.heldout_every": 4}
    xlate.Reranker.train(lists, references, loss="mira", run=folder / "run", **settings)
    write_lines(folder / "list.jsonl", map(json.dumps, records(hypotheses // SIZE, 2)))


def main() -> None:
    """Ranks a list and prints the figures."""
    hypotheses = QUICK if "--quick" in sys.argv else HYPOTHESES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: one that is started inherits the peak memory of the one that starts it.
        preparing = multiprocessing.get_context("spawn").Process(target=prepare, args=(folder, hypotheses))
        preparing.start()
        preparing.join()
        command = [sys.executable, "-m", "xlate.cli.main", "nbest", "rescore", str(folder / "list.jsonl")]
        start = time.perf_counter()
        process = subprocess.Popen([*command, f"run={folder / 'run'}", f"out={folder / 'out.jsonl'}"])
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            sys.exit("the command failed")
    cpu = used.ru_utime + used.ru_stime
    peak = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    print(f"{hypotheses:,} hypotheses: {seconds:.1f} s, {cpu:.1f} CPU s, {peak:.0f} MB")
    report = {
        "name": "rescore_lists",
        "ours": round(hypotheses / seconds),
        "unit": "hypotheses/s",
        "cpu_seconds_per_million": round(cpu / hypotheses * 1e6, 1),
        "peak_mb": round(peak),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
