"""Do the time per word and the memory of `xlate prepare` stay level as the text grows?

Mixes real parallel text into English (captions, verses, speeches, short sentences; named by XLATE_DATA), shuffled with
a fixed seed, and prepares its first N pairs, each time in a new folder: alignment by fast_align, a five-gram language
model, phrases. Per size: CPU seconds per million target words without the alignment, and the peak memory of the largest
process, stage by stage. The ratio is the time per word of the largest text to that of the smallest.

Run: python benchmarks/bench_scale.py [--quick] [--keep FOLDER] [SIZE ...]
     --quick: the built-in corpus with 2,000 and 4,000 pairs; otherwise 25,000, 50,000 and 100,000 pairs, or those named
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from xlate.demo.corpus import DemoCorpus

SIZES, QUICK = (25_000, 50_000, 100_000), (2_000, 4_000)
STAGES = ("corpus", "align", "lm", "phrases")
BIBLES = ("0-bsb", "1-nheb", "2-bbe", "3-ylt", "4-asv", "5-acv", "6-webster")


def sides(root: Path) -> list[tuple[Path, Path]]:
    """The files of every text, foreign and English."""
    found = [(f"multi30k/train.{x}", "multi30k/train.en") for x in ("de", "fr", "cs")]
    found += [(f"tatoeba/{x}-en.train.{x}", f"tatoeba/{x}-en.train.en") for x in ("de", "es", "fr")]
    found += [(f"europarl/{x}-en.raw.{x}", f"europarl/{x}-en.raw.en") for x in ("es", "fr")]
    found += [(f"bible/train.{x}", f"bible/train.en.{y}") for y in BIBLES for x in ("de", "fr", "es")]
    return [(root / f"{foreign}.gz", root / f"{english}.gz") for foreign, english in found]


def lines_of(path: Path) -> list[str]:
    """The lines of a gzip file, split at line feeds alone."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").replace("\r", " ").removesuffix("\n").split("\n")


def mixed(root: Path, folder: Path, size: int) -> int:
    """Writes the first `size` pairs of the mixed text; returns how many there are."""
    pairs = [pair for one, two in sides(root) for pair in zip(lines_of(one), lines_of(two), strict=True)]
    random.Random(1).shuffle(pairs)
    for name, column in zip(("train.src", "train.tgt"), zip(*pairs[:size], strict=True), strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in column), encoding="utf-8")
    return min(size, len(pairs))


def prepare(folder: Path, memory: str) -> tuple[float, float]:
    """Prepares the text of a folder; CPU seconds of all processes, and the peak of the largest one in MB."""
    command = [sys.executable, "-m", "xlate.cli.main", "prepare", "data=files", "data.name=mix", "data.pair=de-en"]
    command += [f"data.train_source={folder}/train.src", f"data.train_target={folder}/train.tgt", "data.dev_pairs=0"]
    command += ["align=fast_align", "lm=fivegram", f"memory={memory}", f"work={folder}/work"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    """Prints a table, and a JSON line last."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("sizes", type=int, nargs="*")
    asked = parser.parse_args()
    rows = []
    print(
        f"{'pairs':>9}{'words':>12}{'CPU s':>9}{'s/M words':>11}{'peak MB':>9}  " + "".join(f"{s:>18}" for s in STAGES)
    )
    for size in asked.sizes or (QUICK if asked.quick else SIZES):
        with tempfile.TemporaryDirectory() as made:
            folder = (asked.keep or Path(made)) / str(size)
            folder.mkdir(parents=True, exist_ok=True)
            if asked.quick:
                DemoCorpus(7).write(folder, train=size, dev=1, test=1)
            else:
                mixed(Path(os.environ["XLATE_DATA"]), folder, size)
            start = time.perf_counter()
            cpu, peak = prepare(folder, asked.memory)
            wall = time.perf_counter() - start
            made_of = {s: json.loads((folder / "work" / s / "stage.json").read_text()) for s in STAGES}
            disk = sum(path.stat().st_size for path in (folder / "work").rglob("*") if path.is_file()) / 1e6
        words = made_of["corpus"]["figures"]["target_words"]
        parts = {stage: (record["seconds"], record["peak_mb"]) for stage, record in made_of.items()}
        rows.append({"pairs": size, "words": words, "cpu": cpu, "wall": wall, "peak_mb": peak, "disk_mb": disk} | parts)
        shown = "".join(f"{seconds:9.1f} s{mb:6.0f}MB" for seconds, mb in parts.values())
        print(f"{size:>9,}{words:>12,}{cpu:>9.1f}{cpu / words * 1e6:>11.1f}{peak:>9.0f}  {shown}", flush=True)
    rates = [row["cpu"] / row["words"] for row in rows]
    record = {"name": "scale", "ours": rates[-1] * 1e6, "peer": rates[0] * 1e6, "unit": "CPU s per million words"}
    record |= {"ratio": round(rates[-1] / rates[0], 3), "peak_mb": round(rows[-1]["peak_mb"]), "rows": rows}
    print(json.dumps(record))


if __name__ == "__main__":
    main()
