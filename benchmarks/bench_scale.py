"""Do the time per word and the memory of `xlate prepare` stay level as the text grows?

Mixes real parallel text into English (captions, verses, speeches, short sentences; named by XLATE_DATA), shuffled with
a fixed seed, and prepares its first N pairs, each time in a new folder. The first command makes the corpus and aligns
it by fast_align, the second makes a five-gram language model and phrases. Per size: CPU seconds of both, those of the
second per million target words, and the peak memory of the largest process of each: its private memory, without files
that are mapped, which the kernel can drop. The ratio is the time per word of the largest text to that of the smallest.

Run: python benchmarks/bench_scale.py [--quick] [--keep FOLDER] [--memory SIZE] [--sample PAIRS] [SIZE ...]
     --sample: the pairs that the aligner learns from; by default those of `xlate prepare`
     --quick: the built-in corpus with 2,000 and 4,000 pairs; otherwise 25,000, 50,000 and 100,000 pairs, or those named
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from xlate.demo.corpus import DemoCorpus

SIZES, QUICK = (25_000, 50_000, 100_000), (2_000, 4_000)
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


def prepare(folder: Path, memory: str, stages: str, sample: int) -> tuple[float, float]:
    """Prepares the text of a folder; CPU seconds of all processes, and the peak of the largest one in MB.

    Memory is sampled several times per second.
    """
    command = [sys.executable, "-m", "xlate", "prepare", "data=files", "data.name=mix", "data.pair=de-en"]
    command += [f"data.train_source={folder}/train.src", f"data.train_target={folder}/train.tgt", "data.dev_pairs=0"]
    command += ["align=fast_align", f"align.sample={sample}", "lm=fivegram", f"memory={memory}"]
    command += [f"stages={stages}", f"work={folder}/work"]
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before, peak = os.times(), 0
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            for one in (process, *process.children(recursive=True)):
                held = one.memory_info()
                peak = max(peak, held.rss - held.shared)
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, peak / 1e6


def main() -> None:
    """Prints a table, and a JSON line last."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--sample", type=int, default=500_000)
    parser.add_argument("sizes", type=int, nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        # Compiles what is measured.
        DemoCorpus(7).write(made, train=200, dev=1, test=1)
        prepare(Path(made), asked.memory, "[lm,phrases]", asked.sample)
    rows = []
    heads = ("pairs", "words", "corpus s", "MB", "lm, phrases s", "MB", "s/M words", "disk MB")
    print("".join(f"{head:>15}" for head in heads))
    for size in asked.sizes or (QUICK if asked.quick else SIZES):
        with tempfile.TemporaryDirectory() as made:
            folder = (asked.keep or Path(made)) / str(size)
            folder.mkdir(parents=True, exist_ok=True)
            if asked.quick:
                DemoCorpus(7).write(folder, train=size, dev=1, test=1)
            else:
                mixed(Path(os.environ["XLATE_DATA"]), folder, size)
            aligned, first_mb = prepare(folder, asked.memory, "[]", asked.sample)
            counted, peak_mb = prepare(folder, asked.memory, "[lm,phrases]", asked.sample)
            words = json.loads((folder / "work/corpus/stage.json").read_text())["figures"]["target_words"]
            disk_mb = sum(path.stat().st_size for path in (folder / "work").rglob("*") if path.is_file()) / 1e6
        row = (size, words, aligned, first_mb, counted, peak_mb, counted / words * 1e6, disk_mb)
        rows.append(row)
        print("".join(f"{number:>15,.0f}" for number in row), flush=True)
    rates = [row[6] for row in rows]
    record = {"name": "scale", "ours": rates[-1], "peer": rates[0], "unit": "CPU s per million words"}
    record |= {"ratio": rates[-1] / rates[0], "peak_mb": max(rows[-1][3], rows[-1][5])}
    print(json.dumps(record | {"rows": rows}))


if __name__ == "__main__":
    main()
