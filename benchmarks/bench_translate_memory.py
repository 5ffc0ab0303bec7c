"""Does the memory of translation grow with the text, and how fast is the first answer?

Runs of the block and the phrase model on the built-in corpus translate 2,000 and 20,000 lines, with one process and
with two (the block model with one only). Peak resident memory of the largest process, and lines per wall second. Then
the seconds until the first line is answered when lines come through a pipe that stays open.

Run: python benchmarks/bench_translate_memory.py [--quick]
     --quick: 200 and 2,000 lines
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from xlate.demo.corpus import DemoCorpus

SIZES = (200, 2_000) if "--quick" in sys.argv else (2_000, 20_000)
CORPUS = ["data=demo", "data.generated.train=1000", "data.generated.dev=30", "align=fast_align"]
TRAIN = {
    "block": ["loss.binary.epochs=2", "model.threshold=1"],
    "phrase": ["model=phrase", "decoder=phrase", "loss=mira", "loss.tune.rounds=1", "loss.tune.nbest=20"],
}
CASES = (("block", 1, ()), ("phrase", 1, ()), ("phrase", 2, ()), ("phrase", 2, ("nbest=10", "nbest_out=nbest.txt")))


def xlate(folder: Path, *arguments: str, stdin: Path | None = None) -> tuple[float, float]:
    """Runs a command; the peak of its largest process in MB, and seconds."""
    command = [sys.executable, "-m", "xlate.cli.main", *arguments]
    start = time.perf_counter()
    with (folder / "out.txt").open("wb") as out, (stdin or Path(os.devnull)).open("rb") as given:
        process = subprocess.Popen(command, cwd=folder, stdin=given, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} failed")
    return used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3), time.perf_counter() - start


def first_answer(folder: Path, run: str, processes: int) -> float:
    """Seconds from the second line to its translation, while the pipe stays open; the first line warms up."""
    command = [sys.executable, "-m", "xlate.cli.main", "translate", f"run={run}", f"processes={processes}"]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seconds = 0.0
        for _ in range(2):
            start = time.perf_counter()
            process.stdin.write(b"Nirka no holdo va bolko ast.\n")
            process.stdin.flush()
            process.stdout.readline()
            seconds = time.perf_counter() - start
        process.stdin.close()
    return seconds


def main() -> None:
    """Prints a table, and a JSON line last."""
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        xlate(folder, "prepare", "work=work", *CORPUS)
        for run, settings in TRAIN.items():
            xlate(folder, "train", "work=work", f"run={run}", *settings)
        DemoCorpus(7).write(folder / "text", train=SIZES[-1], dev=1, test=1)
        lines = (folder / "text" / "train.src").read_bytes().splitlines(keepends=True)
        print(f"{'run':8}{'processes':>10}{'list':>6}" + "".join(f"{n:>12,} lines" for n in SIZES) + f"{'lines/s':>12}")
        for run, processes, more in CASES:
            peaks, seconds = [], []
            for size in SIZES:
                (folder / "in.txt").write_bytes(b"".join(lines[:size]))
                command = ["translate", f"run={run}", f"processes={processes}", *more]
                peak, spent = xlate(folder, *command, stdin=folder / "in.txt")
                peaks.append(round(peak, 1))
                seconds.append(spent)
            rate = (SIZES[1] - SIZES[0]) / (seconds[1] - seconds[0])
            title = f"{run:8}{processes:>10}{10 if more else 1:>6}"
            print(title + "".join(f"{peak:>15.1f} MB" for peak in peaks) + f"{rate:>12.0f}")
            figures[f"{run}-{processes}-{10 if more else 1}"] = {"few": peaks[0], "many": peaks[1], "lines_s": rate}
        if "--batch" not in sys.argv:
            for run, processes in (("block", 1), ("phrase", 1), ("phrase", 2)):
                seconds_s = first_answer(folder, run, processes)
                print(f"{run}, processes={processes}: answered after {1000 * seconds_s:.1f} ms")
                figures[f"{run}-{processes}-1"]["answer_ms"] = round(1000 * seconds_s, 1)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
