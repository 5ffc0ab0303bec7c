"""xlate demo: the complete path on the built-in corpus, each kind of system once, with paired tests between them.

The meaning of a word in that corpus often depends on the words around it. The phrase system sees some of them inside
its phrases. The block models get blocks of at most two words on each side, so the deciding word is often in another
block. That makes pairs of neighbouring blocks worth learning about.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from xlate.config.load import load
from xlate.config.schema import DemoConfig, PrepareConfig, ReportConfig, TrainConfig
from xlate.errors import InputError, Interrupted
from xlate.jobs.prepare import prepare
from xlate.jobs.report import report
from xlate.jobs.sparse_features import new_table
from xlate.jobs.train.train import train
from xlate.metrics.score import Evaluation, evaluate
from xlate.metrics.significance import paired_runs
from xlate.settings import Json
from xlate.text.folders import write_json
from xlate.text.lines import read_lines
from xlate.work.directory import WorkDirectory
from xlate.work.stages import side_by_side

log = logging.getLogger(__name__)

TUNING = ("loss.tune.nbest=50", "loss.tune.rounds=5")
MIRA = ("loss=mira", *TUNING)
# The absolute values of tuned weights sum to 1, so score differences are small; expected BLEU magnifies them.
BLOCK_LISTS = ("loss.lists.nbest=50", "loss.lists.gamma=10", "loss.lists.rate=0.03", "loss.lists.epochs=10")
BIGRAMS = ("model.binary=[BB,TP,WB]", "model.threshold=1", *TUNING, *BLOCK_LISTS)
# The work directories, by the end of their names.
WORDS = {"phrases": (), "blocks": ("phrases.max_length=2",)}
BETTER, WORSE = 2, 1
STEP = "the classifier of translations in context"
WIDTH = 100


@dataclass(frozen=True)
class System:
    """One run of the demo.

    Attributes:
        name: of its folder. title: what it is; without one it is a step towards another system and is in no table.
        settings: of `xlate train`. `{runs}` is the folder of the runs.
        against: the system it is compared with.
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
SYSTEMS = (*FIRST, *OTHERS)
# The two rows train in parallel, as no system in one builds on one in the other. They take about the same time. Slow
# compilations are needed in only one row, or later in the other, which then finds them done.
BESIDE = SYSTEMS[:4], SYSTEMS[4:]


class Row(NamedTuple):
    """A system of the demo and what it scored on the test set."""

    system: System
    evaluation: Evaluation
    output: list[str]
    summary: Json


def demo(config: DemoConfig) -> dict[str, Row]:
    """Prepares the built-in corpus, trains all systems, translates the test set with each and prints the figures.

    Raises:
        InputError: a training was stopped by a signal.
    """
    start = time.perf_counter()
    with _few_words():
        log.info("the built-in corpus: word alignment, language model, phrases, blocks")
        log.info("the first run compiles loops, which takes a few minutes, once per installation")
        # Nothing is prepared before this forks: forked processes do not have the aligner's threads.
        found = side_by_side([partial(_trained_row, config, row) for row in BESIDE])
        summaries = {name: summary for row in found for name, summary in row.items()}
        works = {text: WorkDirectory(Path(f"{config.work}-{text}")).check() for text in WORDS}
        rows = {}
        for system in SYSTEMS:
            if system.title:
                work, output = works[system.text], read_lines(Path(config.run) / system.name / "test.out")
                evaluation = evaluate(output, work.references("test"), lowercase=work.lowercased)
                rows[system.name] = Row(system, evaluation, output, summaries[system.name])
        log.info("a page of all runs")
        settings = [f"runs=[{config.run}]", f"out={config.run}/report"]
        written = report(load(ReportConfig, "report", settings), printed=False)
        page = next(path for path in written if path.suffix == ".html")
    systems = {
        name: {"title": row.system.title, **row.evaluation.to_json(), "seconds": row.summary["seconds"]}
        for name, row in rows.items()
    }
    write_json(Path(config.run) / "summary.json", {"systems": systems})
    console, work = Console(width=None if Console().is_terminal else WIDTH), works["phrases"]
    title = f"The built-in corpus, {len(work.source_lines('test')):,} test sentences"
    console.print(_table(title, rows, FIRST))
    _print_samples(console, work, rows["phrase"], rows["sparse"])
    console.print(_table("Other systems on the same sentences", rows, OTHERS))
    print(f"\n{time.perf_counter() - start:.0f} seconds in total. The runs are in {config.run}.")
    print(f"See them in a browser:     {page.resolve().as_uri()}")
    print(f"See their training:        tensorboard --logdir {config.run}")
    print(f"Try one and see why:       xlate serve run={config.run}/sparse other={config.run}/phrase")
    return rows


@contextlib.contextmanager
def _few_words() -> Iterator[None]:
    """Shows only the warnings of trainings, or everything with `-v`."""
    whole = logging.getLogger("xlate")
    level = whole.level
    log.setLevel(max(level, logging.INFO))
    whole.setLevel(level if level == logging.DEBUG else logging.WARNING)
    try:
        yield
    finally:
        whole.setLevel(level)


def _trained_row(config: DemoConfig, row: Sequence[System]) -> dict[str, Json]:
    """Trains systems one after the other; returns the summaries of their runs.

    If two processes prepare the same work directory, one waits for the other and finds it done.
    """
    works = {}
    for text in dict.fromkeys(["phrases", *(system.text for system in row)]):
        given = ["data=demo", f"data.generated.test={config.sentences}", f"seed={config.seed}", *WORDS[text]]
        works[text] = prepare(load(PrepareConfig, "prepare", [*given, f"work={config.work}-{text}"]))
    summaries = {}
    for system in row:
        log.info("training: %s", system.title or STEP)
        given = [f"work={works[system.text].path}", f"seed={config.seed}", f"measure_test={bool(system.title)}"]
        given += [setting.format(runs=config.run) for setting in system.settings]
        folder = Path(config.run) / system.name
        try:
            summaries[system.name] = train(load(TrainConfig, "train", given), folder)
        except Interrupted as error:
            raise InputError("the demo was stopped", file=folder, remedy="rerun the same command to resume") from error
    return summaries


def _table(title: str, rows: Mapping[str, Row], systems: tuple[System, ...]) -> Table:
    table = new_table(title, "system", "BLEU", "gain", "p", "features", "seconds")
    for row in (rows[system.name] for system in systems if system.name in rows):
        figures = row.evaluation.to_json()
        table.add_row(
            row.system.title,
            f"{figures['bleu']:.2f} ± {figures['bleu_interval']:.2f}",
            *_against(row, rows.get(row.system.against)),
            f"{row.summary.get('active_features', 0):,}",
            f"{row.summary['seconds']:.0f}",
        )
    return table


def _against(row: Row, other: Row | None) -> tuple[str, str]:
    """How much better one system is than another, and how likely that is by chance alone."""
    if other is None:
        return "", ""
    ours, theirs = ({"bleu": one.evaluation.stats["bleu"]} for one in (row, other))
    test = paired_runs([ours], [theirs])["bleu"]
    return f"{test.difference:+.2f}", f"{test.p_randomisation:.4f}"


def _print_samples(console: Console, work: WorkDirectory, before: Row, after: Row) -> None:
    """The sentences that improved most, and the one that got worse most, by chrF."""
    source, references = work.source_lines("test"), work.references("test")
    chrf = [row.evaluation.stats["chrf"] for row in (before, after)]
    first_S, second_S = (stats.scores(stats.values_SK) for stats in chrf)
    order = np.argsort(first_S - second_S, kind="stable").tolist()
    for words, numbers in (("better", order[:BETTER]), ("worse", order[-WORSE:])):
        for number in numbers:
            console.print(
                f"\n{words} by the largest margin, line {number + 1} of the test set", markup=False, highlight=False
            )
            lines = {"source": source[number], "reference": references[0][number]}
            lines |= {row.system.name: row.output[number] for row in (before, after)}
            for name, line in lines.items():
                console.print(f"  {name:<10} {line}", markup=False, highlight=False)
    console.print()
