"""How much faster are two Dask workers than one, and what does a task cost?

Counts the phrases of a text and translates it, once in the process of the command and then as tasks of one and of two
workers on this machine. The text is the German-English Multi30k if XLATE_DATA names it, otherwise the built-in corpus.
The ratios are those of the times of one worker and of two. The time of one worker beyond that of the command alone,
divided by the number of tasks, is what a task costs: a process, its imports, and opening the system.

Run: python benchmarks/bench_cluster.py [--quick]
     --quick: a quarter of the lines to translate. Needs the extra `cluster` and two idle cores.
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

PAIRS, LINES, QUICK, TASKS = 29_000, 4_000, 1_000, 4
DECODER = ["decoder.pop_limit=100"]
# Parts so small that there are several.
COMMAND = """
import sys
from xlate.cli.main import main
from xlate.jobs import translation_parts
from xlate.work import text_stages
text_stages.PART, translation_parts.PART = int(sys.argv.pop(1)), int(sys.argv.pop(1))
sys.exit(main())
"""


def write_text(folder: Path, lines: int) -> None:
    """Writes the text, a small dev set, and lines to translate."""
    if not (root := os.environ.get("XLATE_DATA")):
        DemoCorpus(7).write(folder, train=PAIRS, dev=100, test=1)
    for name, split, size in (("train", "train", PAIRS), ("dev", "val", 100)):
        for language, side in (("de", "src"), ("en", "tgt")) if root else ():
            text = gzip.decompress((Path(root or "") / f"multi30k/{split}.{language}.gz").read_bytes())
            (folder / f"{name}.{side}").write_bytes(b"".join(text.splitlines(True)[:size]))
    source = (folder / "train.src").read_bytes().splitlines(True)
    (folder / "in").write_bytes(b"".join(source[:lines]))


def seconds(folder: Path, lines: int, *words: str) -> float:
    """The wall time of a command."""
    parts = [str(-(-size // TASKS)) for size in (PAIRS, lines)]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", COMMAND, *parts, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Measures both commands and prints the figures."""
    lines = QUICK if "--quick" in sys.argv else LINES
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_text(folder, lines)
        corpus = [
            "data=files",
            "data.name=text",
            "data.pair=de-en",
            "data.train_source=train.src",
            "data.train_target=train.tgt",
        ]
        corpus += ["data.dev_source=dev.src", "data.dev_references=[dev.tgt]", "align=fast_align", "work=work"]
        prepare = ["prepare", *corpus, "stages=[phrases]"]
        translate = ["translate", "run=run", "input=in", "output=out", *DECODER]
        seconds(folder, lines, "prepare", *corpus)
        fast = ["loss.tune.rounds=1", "loss.tune.nbest=10", *DECODER]
        seconds(folder, lines, "train", "model=phrase", "loss=mira", "work=work", "run=run", *fast)
        seconds(folder, lines, *translate)
        times: dict[str, dict[int, float]] = {"phrases": {}, "translate": {}}
        for workers in (0, 1, 2):
            with LocalCluster(n_workers=max(1, workers), threads_per_worker=1, dashboard_address=":0") as cluster:
                where = ["cluster=dask", f"cluster.address={cluster.scheduler_address}"] if workers else []
                shutil.rmtree(folder / "work/phrases")
                times["phrases"][workers] = seconds(folder, lines, *prepare, *where)
                times["translate"][workers] = seconds(folder, lines, *translate, *where)
    report: dict[str, object] = {"name": "cluster", "unit": "times as fast with two workers as with one"}
    for name, one in times.items():
        print(f"{name:<10}" + "".join(f"{one[n]:>10.1f} s" for n in (0, 1, 2)) + "   (no cluster, 1 and 2 workers)")
        report |= {name: round(one[1] / one[2], 2), f"{name}_s_per_task": round((one[1] - one[0]) / TASKS, 2)}
    print(json.dumps({**report, "ratio": report["translate"]}))


if __name__ == "__main__":
    main()
