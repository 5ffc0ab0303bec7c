"""xlate demo: the whole path on the built-in corpus, four systems side by side.

Blocks are of two words at most on each side. What a word means often depends on a neighbour, which then stands in
another block: so pairs of neighbouring blocks are worth learning about.
"""

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
from xlate.metrics.significance import paired
from xlate.text.lines import atomic_write, write_lines

PREPARED = ("data=demo", "data.generated.test=1000", "phrases.max_length=2")
TUNING = ("loss.tune.nbest=50", "loss.tune.rounds=5")
# Tuned weights have sizes that sum to 1, so differences of scores are small, and expected BLEU magnifies them.
LISTS = ("loss.lists.nbest=50", "loss.lists.gamma=10", "loss.lists.rate=0.03", "loss.lists.epochs=10")
FROM_BASE = (*TUNING, "loss.tune.start=base")
BIGRAMS = ("model.binary=[BB,TP,WB]", "model.threshold=1", *TUNING, *LISTS)
SYSTEMS = (
    ("mon", "MON, floats trained locally", ("model=floats", "decoder=mon")),
    ("swap-or", "SWAP&OR, floats trained locally", ("model=floats", "decoder=swap_or")),
    (
        "tuned",
        "SWAP&OR, floats tuned for BLEU",
        ("model=floats", "decoder=swap_or", "loss=mira", *FROM_BASE),
    ),
    ("binary", "the same and bigrams of blocks", ("model=block", "decoder=swap_or", "loss=xbleu", *BIGRAMS)),
)
# Each of these starts from the weights of another system.
BASES = {"tuned": "swap-or", "binary": "tuned"}
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
    overrides = [f"work={config.work}", *PREPARED, f"seed={config.seed}"]
    work = prepare(load(PrepareConfig, "prepare", overrides))
    rows = [_system(config, work, *system) for system in SYSTEMS]
    _write_summary(Path(config.run), rows)
    _print(config, work, rows, time.perf_counter() - start)
    return rows


def _system(config: DemoConfig, work: WorkDirectory, name: str, title: str, settings: tuple[str, ...]) -> Row:
    folder, given = Path(config.run) / name, [f"work={config.work}", f"seed={config.seed}", *settings]
    if name in BASES:
        given.append(f"base={Path(config.run) / BASES[name]}")
    outcome = train(load(TrainConfig, "train", given), folder)
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
            "P": row.summary.get("P"),
            "seconds": row.summary["seconds"],
        }
        for row in rows
    }
    with atomic_write(folder / "summary.json") as stream:
        stream.write(json.dumps({"systems": systems}, indent=2, ensure_ascii=False).encode("utf-8") + b"\n")


def _print(config: DemoConfig, work: WorkDirectory, rows: list[Row], seconds: float) -> None:
    console = Console(width=None if Console().is_terminal else 110)
    table = Table(title=f"Built-in corpus, {len(rows[0].output)} test sentences")
    for column in ("system", "BLEU", "±", "chrF", "against the row before", "features", "seconds"):
        table.add_column(column, justify="left" if column == "system" else "right")
    for before, row in zip([None, *rows], rows, strict=False):
        figures = row.evaluation.to_json()
        table.add_row(
            row.title,
            f"{figures['bleu']:.2f}",
            f"{figures['bleu_interval']:.2f}",
            f"{figures['chrf']:.2f}",
            "" if before is None else _against(work, before, row),
            f"{row.summary.get('active_features', 0):,}",
            f"{row.summary['seconds']:.1f}",
        )
    console.print(table)
    _print_samples(console, work, rows)
    console.print(f"signature {rows[0].evaluation.to_json()['bleu_signature']}", highlight=False)
    console.print(
        f"{seconds:.0f} seconds in all; the runs are in {config.run}, the figures in {config.run}/summary.json"
    )
    console.print(f"look at the training: tensorboard --logdir {config.run}")


def _against(work: WorkDirectory, before: Row, row: Row) -> str:
    """How much better a system is than another, and how likely chance alone would have it so."""
    references = [reference[: len(row.output)] for reference in work.references("test")]
    test = paired(row.output, before.output, references, lowercase=work.lowercased, measures=["bleu"])["bleu"]
    return f"{test.difference:+.2f} (p = {test.p_randomisation:.4f})"


def _print_samples(console: Console, work: WorkDirectory, rows: list[Row]) -> None:
    """The first sentences that the last two systems translate differently."""
    source, references = work.source_lines("test"), work.references("test")
    differing = [n for n, (a, b) in enumerate(zip(rows[-2].output, rows[-1].output, strict=True)) if a != b]
    for number in differing[:SAMPLES]:
        console.print(f"\nsource     {source[number]}", markup=False, highlight=False)
        for row in rows[-2:]:
            console.print(f"{row.name[:10]:<10} {row.output[number]}", markup=False, highlight=False)
        console.print(f"reference  {references[0][number]}", markup=False, highlight=False)
    console.print()
