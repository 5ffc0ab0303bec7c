"""xlate demo: the whole path on the built-in corpus, each kind of system once, with paired tests between them.

What a word means in that corpus often depends on words around it. The phrase system sees some of them inside its
phrases. The models over blocks get blocks of two words at most on each side, so that the word that decides often
stands in another block: there pairs of neighbouring blocks are worth learning about.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from xlate.config.load import load
from xlate.config.schema import DemoConfig, PrepareConfig, TrainConfig
from xlate.errors import InputError
from xlate.jobs.prepare.prepare import prepare
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.train.train import train
from xlate.metrics.score import Evaluation, evaluate
from xlate.metrics.significance import paired
from xlate.text.lines import atomic_write, read_lines

TUNING = ("loss.tune.nbest=50", "loss.tune.rounds=5")
MIRA = ("loss=mira", *TUNING)
# Tuned weights have sizes that sum to 1, so differences of scores are small, and expected BLEU magnifies them.
BLOCK_LISTS = ("loss.lists.nbest=50", "loss.lists.gamma=10", "loss.lists.rate=0.03", "loss.lists.epochs=10")
BIGRAMS = ("model.binary=[BB,TP,WB]", "model.threshold=1", *TUNING, *BLOCK_LISTS)
# The work directories, by the end of their names.
WORDS = {"phrases": (), "blocks": ("phrases.max_length=2",)}
SAMPLES = 3
WIDTH = 100


@dataclass(frozen=True)
class System:
    """One run of the demo.

    Attributes:
        name: of its folder. title: what it is; without one it is a step towards another and stands in no table.
        settings: of `xlate train`. `{runs}` is the folder of the runs.
        against: the system that it is compared with.
        text: the work directory, a key of `WORDS`.
    """

    name: str
    title: str
    settings: tuple[str, ...]
    against: str = ""
    text: str = "phrases"


FIRST = (
    System("phrase", "phrase system, tuned for BLEU", ("model=phrase", *MIRA)),
    System(
        "sparse",
        "and sparse features (expected BLEU)",
        ("model=phrase", "sparse=all", "loss=xbleu", *TUNING, "base={runs}/phrase"),
        against="phrase",
    ),
)
OTHERS = (
    System("classifier", "", ("model=context",)),
    System(
        "context",
        "phrase system with predictions in context",
        ("model=phrase", "context=feature", "model.context.run={runs}/classifier", *MIRA),
        against="phrase",
    ),
    System("hierarchical", "hierarchical system", ("model=hierarchical", *MIRA), against="phrase"),
    System("local", "blocks of two words, trained locally", ("model=floats",), text="blocks"),
    System(
        "tuned",
        "and tuned for BLEU",
        ("model=floats", *MIRA, "loss.tune.start=base", "base={runs}/local"),
        against="local",
        text="blocks",
    ),
    System(
        "bigrams",
        "and bigrams of blocks (expected BLEU)",
        ("model=block", "loss=xbleu", *BIGRAMS, "base={runs}/tuned"),
        against="tuned",
        text="blocks",
    ),
)


@dataclass(frozen=True)
class Row:
    """A system of the demo and what it scored on the test set."""

    system: System
    evaluation: Evaluation
    output: list[str]
    summary: dict[str, Any]


def demo(config: DemoConfig) -> dict[str, Row]:
    """Prepares the built-in corpus, trains all systems, translates the test set with each and prints the figures.

    Raises:
        InputError: a training was stopped by a signal.
    """
    start = time.perf_counter()
    given = ["data=demo", f"data.generated.test={config.sentences}", f"seed={config.seed}"]
    works = {
        text: prepare(load(PrepareConfig, "prepare", [*given, *settings, f"work={config.work}-{text}"]))
        for text, settings in WORDS.items()
    }
    rows = {}
    for system in (*FIRST, *OTHERS):
        summary = _trained(config, works[system.text], system)
        if system.title:
            rows[system.name] = _row(config, works[system.text], system, summary)
    _write_summary(Path(config.run), rows)
    _print(config, works["phrases"], rows, time.perf_counter() - start)
    return rows


def _trained(config: DemoConfig, work: WorkDirectory, system: System) -> dict[str, Any]:
    """The summary of a system's run, which translates the test set when the system has a title."""
    settings = [setting.format(runs=config.run) for setting in system.settings]
    given = [f"work={work.path}", f"seed={config.seed}", *settings, f"measure_test={str(bool(system.title)).lower()}"]
    folder = Path(config.run) / system.name
    outcome = train(load(TrainConfig, "train", given), folder)
    if outcome.summary is None:
        raise InputError("the demo was stopped", file=folder, remedy="the same command goes on from here")
    return outcome.summary


def _row(config: DemoConfig, work: WorkDirectory, system: System, summary: dict[str, Any]) -> Row:
    output = read_lines(Path(config.run) / system.name / "test.out")
    return Row(system, evaluate(output, work.references("test"), lowercase=work.lowercased), output, summary)


def _write_summary(folder: Path, rows: Mapping[str, Row]) -> None:
    systems = {
        name: {"title": row.system.title, **row.evaluation.to_json(), "seconds": row.summary["seconds"]}
        for name, row in rows.items()
    }
    with atomic_write(folder / "summary.json") as stream:
        stream.write(json.dumps({"systems": systems}, indent=2, ensure_ascii=False).encode("utf-8") + b"\n")


def _print(config: DemoConfig, work: WorkDirectory, rows: Mapping[str, Row], seconds: float) -> None:
    console = Console(width=None if Console().is_terminal else WIDTH)
    title = f"The built-in corpus, {len(work.source_lines('test')):,} test sentences"
    console.print(_table(title, work, rows, FIRST))
    _print_samples(console, work, rows["phrase"], rows["sparse"])
    console.print(_table("Other systems on the same sentences", work, rows, OTHERS))
    console.print(f"\n{seconds:.0f} seconds in all. The runs are in {config.run}, their figures in summary.json there.")
    console.print(f"Look at the training: tensorboard --logdir {config.run}")
    console.print(f"Ask why a sentence came out so: xlate inspect run={config.run}/sparse sentence=\"'…'\"")


def _table(title: str, work: WorkDirectory, rows: Mapping[str, Row], systems: tuple[System, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("system", "BLEU", "gain", "p", "features", "seconds"):
        table.add_column(column, justify="left" if column == "system" else "right")
    for row in (rows[system.name] for system in systems if system.name in rows):
        figures = row.evaluation.to_json()
        table.add_row(
            row.system.title,
            f"{figures['bleu']:.2f} ± {figures['bleu_interval']:.2f}",
            *_against(work, row, rows.get(row.system.against)),
            f"{row.summary.get('active_features', 0):,}",
            f"{row.summary['seconds']:.0f}",
        )
    return table


def _against(work: WorkDirectory, row: Row, other: Row | None) -> tuple[str, str]:
    """How much better a system is than another, and how likely chance alone would have it so."""
    if other is None:
        return "", ""
    references = work.references("test")
    test = paired(row.output, other.output, references, lowercase=work.lowercased, measures=["bleu"])["bleu"]
    return f"{test.difference:+.2f}", f"{test.p_randomisation:.4f}"


def _print_samples(console: Console, work: WorkDirectory, before: Row, after: Row) -> None:
    """The first sentences that two systems translate differently."""
    source, references = work.source_lines("test"), work.references("test")
    differing = [n for n, (a, b) in enumerate(zip(before.output, after.output, strict=True)) if a != b]
    for number in differing[:SAMPLES]:
        lines = {"source": source[number], "reference": references[0][number]}
        lines |= {row.system.name: row.output[number] for row in (before, after)}
        console.print()
        for name, line in lines.items():
            console.print(f"{name:<10} {line}", markup=False, highlight=False)
    console.print()
