"""What does translating one line from a shell cost, compared with importing PyTorch in Python?

Runs of the phrase model on the built-in corpus, without sparse features and with them, translate one line each; caches
are warm. They take turns with `python -c "import torch"` and `python -c "import numba"`. CPU seconds (user and system)
of the whole process, medians of seven.

Run: python benchmarks/bench_startup.py [--quick]
     --quick: medians of three, of smaller systems
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUICK = "--quick" in sys.argv
ROUNDS = 3 if QUICK else 7
CORPUS = ["data=demo", "align=fast_align", *(["data.generated.train=600", "data.generated.dev=30"] if QUICK else [])]
FEW = ["loss.tune.rounds=1", "loss.tune.nbest=20"]
TRAIN = {
    "phrase": ["model=phrase", "loss=mira", *FEW],
    "sparse": ["model=phrase", "sparse=all", "loss=xbleu", "loss.lists.nbest=20", "base=phrase", *FEW],
}
LINE = b"Nirka no holdo va bolko ast.\n"
XLATE = [sys.executable, "-m", "xlate.cli.main"]


def spent(command: list[str], folder: Path) -> tuple[float, float, float]:
    """CPU seconds of a process, seconds by the clock, and the most memory it had in MB."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        process.stdin.write(LINE)
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    peak = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return used.ru_utime + used.ru_stime, time.perf_counter() - start, peak


def main() -> None:
    """Prints a table, and a JSON line last."""
    commands = {name: [*XLATE, "translate", f"run={name}"] for name in TRAIN}
    commands |= {f"import {name}": [sys.executable, "-c", f"import {name}"] for name in ("torch", "numba")}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        spent([*XLATE, "prepare", "work=work", *CORPUS], folder)
        for name, settings in TRAIN.items():
            spent([*XLATE, "train", "work=work", f"run={name}", *settings], folder)
        for command in commands.values():
            spent(command, folder)
        measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                measured[name].append(spent(command, folder))
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in measured.items()
    }
    print(f"{'process':16}{'CPU s':>8}{'clock s':>10}{'peak MB':>10}")
    for name, (cpu, clock, peak) in medians.items():
        print(f"{name:16}{cpu:>8.2f}{clock:>10.2f}{peak:>10.0f}")
    ours, peer = medians["phrase"][0], medians["import torch"][0]
    figures = {"name": "startup", "ours": round(ours, 2), "peer": round(peer, 2), "unit": "CPU s"}
    print(json.dumps({**figures, "ratio": round(ours / peer, 2), "peak_mb": round(medians["phrase"][2])}))


if __name__ == "__main__":
    main()
