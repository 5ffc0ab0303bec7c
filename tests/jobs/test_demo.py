"""The demo: what its systems stand on, what it says meanwhile, and its tables."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.demo.corpus import DemoCorpus
from xlate.jobs import demo
from xlate.jobs.train.train import check_training
from xlate.metrics.score import evaluate


@pytest.mark.parametrize("system", demo.SYSTEMS, ids=lambda system: system.name)
def test_a_system_can_be_trained_and_stands_on_earlier_ones(system: demo.System) -> None:
    row = next(row for row in demo.BESIDE if system in row)
    earlier = [one.name for one in row[: row.index(system)]]
    config = load(TrainConfig, "train", [setting.format(runs="runs") for setting in system.settings])
    named = [config.base, config.model.context and config.model.context.run]
    if not any(named):
        # What stands on another run is checked when that is there.
        check_training(config)
    assert all(Path(name).name in earlier for name in named if name)
    assert system.against in ("", *(other.name for other in demo.SYSTEMS[: demo.SYSTEMS.index(system)]))
    assert system.text in demo.WORDS


@pytest.mark.parametrize(("given", "within"), [(logging.INFO, logging.WARNING), (logging.DEBUG, logging.DEBUG)])
def test_trainings_say_little_unless_asked(caplog: pytest.LogCaptureFixture, given: int, within: int) -> None:
    logger = logging.getLogger("xlate")
    with caplog.at_level(given, "xlate"):
        with demo._few_words():
            assert logger.level == within
            assert demo.log.isEnabledFor(logging.INFO)
        assert logger.level == given


def test_tables_and_samples() -> None:
    pairs = DemoCorpus(1).pairs(30, "test")
    sources, references = ([line for line, _ in pairs], [line for _, line in pairs])
    work = SimpleNamespace(source_lines=lambda _: sources, references=lambda _: [references])
    worse = [" ".join(reversed(line.split())) if number % 2 else line for number, line in enumerate(references)]
    rows = {
        name: demo.Row(system, evaluate(output, work.references("test")), output, {"seconds": 1.0})
        for name, output, system in (("phrase", worse, demo.FIRST[0]), ("sparse", references, demo.FIRST[1]))
    }
    console = Console(width=demo.WIDTH, file=io.StringIO(), record=True)
    console.print(demo._table("title", rows, demo.FIRST))
    demo._print_samples(console, cast(Any, work), rows["phrase"], rows["sparse"])
    text = console.export_text()
    gain = rows["sparse"].evaluation.to_json()["bleu"] - rows["phrase"].evaluation.to_json()["bleu"]
    assert f"{gain:+.2f}" in text
    assert max(map(len, text.splitlines())) <= demo.WIDTH
    shown = re.findall(r" by the largest margin, line (\d+)", text)
    assert len(shown) == demo.BETTER + demo.WORSE
    even = [int(number) % 2 == 0 for number in shown[: demo.BETTER]]
    assert all(even), "lines are counted from 1, and every second one was turned round"
