"""How much faster are two Dask workers than one, and what does a task cost?

Counts the phrases of a text and translates it, once in the process of the command and then as tasks of one and of two
workers on this machine. The text is the German-English Multi30k if XLATE_DATA names it, otherwise the built-in corpus.
The ratios are those of the times of one worker and of two. The time of one worker beyond that of the command alone,
divided by the number of tasks, is what a task costs: a process, its imports, and opening the system.

Run: python benchmarks/bench_cluster.py [--quick]
     --quick: a fifth of the text. Needs the extra `cluster` and two idle cores.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import LocalCluster

from xlate.demo.corpus import DemoCorpus

PAIRS, QUICK, TASKS = 29_000, 5_800, 8
DECODER = ["decoder.pop_limit=100"]
# Parts so small that there are several.
COMMAND = """
import sys
from xlate.cli.main import main
from xlate.jobs import translation_parts
from xlate.work import text_stages
translation_parts.PART = text_stages.PART = int(sys.argv.pop(1))
sys.exit(main())
"""


def write_text(folder: Path, pairs: int) -> None:
    """Writes the text and a small dev set."""
    if not (root := os.environ.get("XLATE_DATA")):
        DemoCorpus(7).write(folder, train=pairs, dev=100, test=1)
        return
    for split in ("train", "val"):
        for language, side in (("de", "src"), ("en", "tgt")):
            lines = gzip.decompress((Path(root) / f"multi30k/{split}.{language}.gz").read_bytes()).splitlines(True)
            name = f"{split}.{side}" if split == "train" else f"dev.{side}"
            (folder / name).write_bytes(b"".join(lines[: pairs if split == "train" else 100]))


def seconds(folder: Path, part: int, *words: str) -> float:
    """The wall time of a command."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", COMMAND, str(part), *words], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def main() -> None:
    """Measures both commands and prints the figures."""
    pairs = QUICK if "--quick" in sys.argv else PAIRS
    part = -(-pairs // TASKS)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_text(folder, pairs)
        corpus = [
            "data=files",
            "data.name=text",
            "data.pair=de-en",
            "data.train_source=train.src",
            "data.train_target=train.tgt",
        ]
        corpus += ["data.dev_source=dev.src", "data.dev_references=[dev.tgt]", "align=fast_align", "work=work"]
        prepare = ["prepare", *corpus, "stages=[phrases]"]
        translate = ["translate", "run=run", "input=train.src", "output=out", *DECODER]
        seconds(folder, part, "prepare", *corpus)
        fast = ["loss.tune.rounds=1", "loss.tune.nbest=10", *DECODER]
        seconds(folder, part, "train", "model=phrase", "loss=mira", "work=work", "run=run", *fast)
        seconds(folder, part, *translate)
        times: dict[str, dict[int, float]] = {"phrases": {}, "translate": {}}
        for workers in (0, 1, 2):
            with LocalCluster(n_workers=max(1, workers), threads_per_worker=1, dashboard_address=":0") as cluster:
                where = ["cluster=dask", f"cluster.address={cluster.scheduler_address}"] if workers else []
                shutil.rmtree(folder / "work/phrases")
                times["phrases"][workers] = seconds(folder, part, *prepare, *where)
                times["translate"][workers] = seconds(folder, part, *translate, *where)
    report: dict[str, object] = {"name": "cluster", "unit": "times as fast with two workers as with one"}
    for name, one in times.items():
        print(f"{name:<10}" + "".join(f"{one[n]:>10.1f} s" for n in (0, 1, 2)) + "   (no cluster, 1 and 2 workers)")
        report |= {name: round(one[1] / one[2], 2), f"{name}_s_per_task": round((one[1] - one[0]) / TASKS, 2)}
    print(json.dumps({**report, "ratio": report["translate"]}))


if __name__ == "__main__":
    main()
