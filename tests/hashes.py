"""Hashes that a change of the code must not alter: tensors of small trainings, and identities of every table's row.

    python -m tests.hashes before.json data=multi30k    # small Multi30k under XLATE_DATA; or data=demo
    python -m tests.hashes after.json data=multi30k
    diff before.json after.json

It runs the `xlate` command beside this Python in a folder of its own, with an empty cache of compiled code, because
numba serves old code where a function in another file has changed. It hashes the values of tensors and not files, whose
headers hold settings.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from safetensors.numpy import load_file

from xlate.config.choices import rows_of_tables
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import identity_of_training
from xlate.report.run_directory import identity_hash

SEEDS = (1, 2, 3)
SMALL = {
    "demo": ("data.generated.train=800", "data.generated.dev=100", "data.generated.test=10"),
    "multi30k": ("data.max_sentences=1000", "data.dev_source=null", "data.dev_references=[]", "data.dev_pairs=100"),
}
SHORT = ("loss.tune.rounds=3", "loss.tune.nbest=50")
# By name, the settings of `xlate train`, in an order in which a base comes before what starts from it.
SYSTEMS = {
    "block": ("model.threshold=1",),
    "distortion": ("model=distortion", "model.threshold=1"),
    "mira": ("model=phrase", "loss=mira", *SHORT),
    "mert": ("model=phrase", "loss=mert", *SHORT),
    "pro": ("model=phrase", "loss=pro", *SHORT),
    "expected_bleu": ("model=phrase", "loss=expected_bleu", *SHORT),
    "sparse": ("model=phrase", "sparse=all", "loss=xbleu", "base=runs/mira-{seed}", "loss.lists.epochs=2", *SHORT),
    "rules": ("model=hierarchical", "loss=mira", *SHORT),
    "online": (
        *("model=hierarchical", "structure=classes", "source=online", "source.iterations=2"),
        *("source.start=base", "base=runs/rules-{seed}"),
    ),
    "context": ("model=context",),
    "rerank": (
        *("model=rerank", "loss=mira", "nbest=dev.nbest", "nbest_source=dev.source", "references=[dev.reference]"),
        *("model.rerank.min_lists=2", "loss.tune.rounds=3"),
    ),
}
# Every system with its own defaults.
MODELS = ("block", "floats", "distortion", "phrase", "hierarchical", "context", "rerank")


def hashes_of_tensors(folder: Path) -> Iterator[tuple[str, str]]:
    """The SHA-256 of every tensor of every run in a folder, by run and name."""
    for weights in sorted(folder.glob("**/weights.safetensors")):
        for name, values in sorted(load_file(weights).items()):
            held = f"{values.dtype} {values.shape}".encode() + values.tobytes()
            yield f"{weights.parent.relative_to(folder)} {name}", hashlib.sha256(held).hexdigest()


def identities() -> Iterator[tuple[str, str]]:
    """What makes a run this one and no other, of every row of a table and every model with its defaults."""
    chosen = [f"experiment={row}" for rows in rows_of_tables().values() for row in rows]
    for choice in (*chosen, *(f"model={model}" for model in MODELS)):
        yield choice, identity_hash(identity_of_training(load(TrainConfig, "train", [choice])))


def train_all(folder: Path, data: str) -> None:
    """Prepares a small corpus in a folder and trains each system with each seed in its folder `runs`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "numba"), "PYTHONPATH": os.getcwd()}

    def xlate(*words: str, **streams: str) -> None:
        command = [str(Path(sys.executable).parent / "xlate"), *words]
        with open(streams.get("stdin", os.devnull), "rb") as given:
            subprocess.run(command, cwd=folder, env=environment, stdin=given, stdout=subprocess.DEVNULL, check=True)

    if data == "demo":
        xlate("demo", "work=work/whole", "run=demo")
    xlate("prepare", f"data={data}", *SMALL[data], "data.case=lower", "lm=fivegram", "work=work/small")
    for name in SYSTEMS:
        if name == "rerank":
            raw = folder / "work" / "small" / "corpus"
            for side, kept in (("source", "dev.source"), ("reference.0", "dev.reference")):
                lines = subprocess.run(["gzip", "-dc", str(raw / f"dev.{side}.gz")], capture_output=True, check=True)
                (folder / kept).write_bytes(lines.stdout)
            listed = ("nbest=20", "nbest_out=dev.nbest")
            xlate("translate", "run=runs/mira-1", *listed, stdin=str(folder / "dev.source"))
        for seed in SEEDS:
            settings = [setting.format(seed=seed) for setting in SYSTEMS[name]]
            xlate("train", "work=work/small", f"seed={seed}", "measures=[bleu]", *settings, f"run=runs/{name}-{seed}")


def main(out: str, chosen: str = "data=demo") -> None:
    """Writes the hashes as JSON."""
    with tempfile.TemporaryDirectory() as held:
        train_all(Path(held), chosen.removeprefix("data="))
        found = dict(hashes_of_tensors(Path(held)))
    Path(out).write_text(json.dumps({"tensors": found, "identities": dict(identities())}, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
