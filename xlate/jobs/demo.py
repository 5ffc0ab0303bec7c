"""xlate demo: the whole path on the built-in corpus, four systems side by side."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from xlate.config.load import load
from xlate.config.schema import DemoConfig, PrepareConfig, TrainConfig, TranslateConfig
from xlate.errors import InputError
from xlate.jobs.prepare.prepare import prepare
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.train.train import train
from xlate.jobs.translate import Translator
from xlate.metrics.score import Evaluation, evaluate
from xlate.text.lines import atomic_write, write_lines

SYSTEMS = (
    ("mon-uniform", "MON, uniform weights", ("model=floats", "loss=uniform", "decoder=mon")),
    ("mon", "MON, trained", ("model=floats", "decoder=mon")),
    ("swap-or", "SWAP&OR, floats trained", ("model=floats", "decoder=swap_or")),
    ("binary", "SWAP&OR, floats and block bigrams", ("model=block", "decoder=swap_or")),
)
SAMPLES = 5


@dataclass(frozen=True)
class Row:
    """One system of the demo and what it scored on the test set."""

    name: str
    title: str
    evaluation: Evaluation
    output: list[str]
    summary: dict[str, Any]


def demo(config: DemoConfig) -> list[Row]:
    """Prepares the built-in corpus, trains four systems, translates the test set with each and prints the figures.

    Raises:
        InputError: a training was stopped by a signal.
    """
    start = time.perf_counter()
    overrides = [f"work={config.work}", "data=demo", f"seed={config.seed}"]
    work = prepare(load(PrepareConfig, "prepare", overrides))
    rows = [_system(config, work, *system) for system in SYSTEMS]
    _write_summary(Path(config.run), rows)
    _print(config, work, rows, time.perf_counter() - start)
    return rows


def _system(config: DemoConfig, work: WorkDirectory, name: str, title: str, settings: tuple[str, ...]) -> Row:
    folder = Path(config.run) / name
    outcome = train(load(TrainConfig, "train", [f"work={config.work}", f"seed={config.seed}", *settings]), folder)
    if outcome.summary is None:
        raise InputError("the demo was stopped", file=folder, remedy="the same command goes on from here")
    translator = Translator.open(load(TranslateConfig, "translate", [f"run={folder}"]))
    lines = work.source_lines("test")[: config.sentences]
    output = [t.text for t in translator.translate(lines)]
    write_lines(folder / "test.out", output)
    references = [reference[: len(lines)] for reference in work.references("test")]
    return Row(name, title, evaluate(output, references), output, outcome.summary)


def _write_summary(folder: Path, rows: list[Row]) -> None:
    systems = {
        row.name: {
            "title": row.title,
            **row.evaluation.to_json(),
            "P": row.summary["P"],
            "seconds": row.summary["seconds"],
        }
        for row in rows
    }
    with atomic_write(folder / "summary.json") as stream:
        stream.write(json.dumps({"systems": systems}, indent=2, ensure_ascii=False).encode("utf-8") + b"\n")


def _print(config: DemoConfig, work: WorkDirectory, rows: list[Row], seconds: float) -> None:
    console = Console(width=None if Console().is_terminal else 110)
    table = Table(title=f"Built-in corpus, {len(rows[0].output)} test sentences")
    for column in ("system", "BLEU", "±", "chrF", "P", "features", "seconds"):
        table.add_column(column, justify="left" if column == "system" else "right")
    for row in rows:
        figures = row.evaluation.to_json()
        error = "" if row.summary["P"] is None else f"{row.summary['P']:.4f}"
        table.add_row(
            row.title,
            f"{figures['bleu']:.2f}",
            f"{figures['bleu_interval']:.2f}",
            f"{figures['chrf']:.2f}",
            error,
            f"{row.summary['active_features']:,}",
            f"{row.summary['seconds']:.1f}",
        )
    console.print(table)
    _print_samples(console, work, rows)
    console.print(f"signature {rows[0].evaluation.to_json()['bleu_signature']}", highlight=False)
    console.print(
        f"{seconds:.0f} seconds in all; the runs are in {config.run}, the figures in {config.run}/summary.json"
    )
    console.print(f"look at the training: tensorboard --logdir {config.run}")


def _print_samples(console: Console, work: WorkDirectory, rows: list[Row]) -> None:
    """The first sentences that the first and the last system translate differently."""
    source, references = work.source_lines("test"), work.references("test")
    differing = [n for n, (a, b) in enumerate(zip(rows[0].output, rows[-1].output, strict=True)) if a != b]
    for number in differing[:SAMPLES]:
        console.print(f"\nsource     {source[number]}", markup=False, highlight=False)
        for row in (rows[0], rows[-1]):
            console.print(f"{row.name[:10]:<10} {row.output[number]}", markup=False, highlight=False)
        console.print(f"reference  {references[0][number]}", markup=False, highlight=False)
    console.print()
