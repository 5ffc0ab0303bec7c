"""Jobs of sweeps: how much is said, and the summary at the end."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from omegaconf.errors import OmegaConfBaseException

from tests.commands import Capture
from xlate.cli.arguments import Words
from xlate.cli.compose import run_with_hydra
from xlate.cli.streams import begin_talk
from xlate.cli.sweeps import TABLE, summary_of, write_table
from xlate.config.schema import TranslateConfig
from xlate.errors import InputError
from xlate.report.runs import Run


@pytest.mark.parametrize(("flags", "level"), [(["--quiet"], "WARNING"), ([], "INFO"), (["--verbose"], "DEBUG")])
def test_how_much_is_said(flags: list[str], level: str, capsys: Capture) -> None:
    root, ours = logging.getLogger(), logging.getLogger("xlate")
    before = root.level, ours.level, list(root.handlers)
    try:
        begin_talk(flags)
        log = logging.getLogger("xlate.somewhere")
        for each in ("DEBUG", "INFO", "WARNING"):
            log.log(getattr(logging, each), "said as %s", each)
        logging.getLogger("matplotlib.font_manager").info("generated new fontManager")
        said = capsys.readouterr().err.splitlines()
    finally:
        root.setLevel(before[0])
        ours.setLevel(before[1])
        root.handlers[:] = before[2]
        begin_talk([])
        root.handlers[:] = before[2]
    assert said[0].endswith(f"said as {level}")
    assert said[-1].endswith("said as WARNING")
    assert all(("xlate.somewhere" in line) == (level == "DEBUG") for line in said)


def of(name: str, bleu: float | None, finished: bool = True) -> Run:
    figures = {"dev_bleu": bleu, "dev_bleu_interval": 1.25, "seconds": 200.0} if bleu is not None else {}
    return Run(Path(name), name, {}, {"finished": finished, **figures} if finished else None)


def test_the_summary_of_a_sweep_has_the_best_first(tmp_path: Path) -> None:
    runs = [of("seed=3", 31.5), of("seed=1", 30.0), of("seed=4", None), of("seed=2", None, finished=False)]
    text = summary_of(runs, tmp_path).splitlines()
    assert text[0].endswith("4 runs, best first")
    assert text[2].split() == ["31.50", "±", "1.25", "-", "3", "min", "seed=3"]
    assert text[5].split() == ["not", "finished", "-", "-", "seed=2"]
    assert str(tmp_path / TABLE) in text[-1]
    write_table(tmp_path / TABLE, runs)
    rows = [line.split("\t") for line in (tmp_path / TABLE).read_text().splitlines()]
    assert rows[1] == ["seed=3", "true", "31.5", "1.25", "", "200.0"]


def asked(*overrides: str) -> TranslateConfig:
    """What a command is called with."""
    called: list[TranslateConfig] = []
    assert run_with_hydra("translate", called.append, Words(frozenset(), (), overrides)) == 0
    (config,) = called
    return config


@pytest.mark.parametrize(("wrong", "seen"), [("nbset=3", "nbset"), ("nbest=x", "nbest"), ("nbest=1,2", "nbest")])
def test_settings_and_errors_are_the_same_with_a_job_of_hydra_and_without(wrong: str, seen: str) -> None:
    given = ("run=a b", "nbest=3", "decoder.beam=7")
    assert asked(*given) == asked(*given, "hydra.verbose=false")
    said = []
    for more in ((), ("hydra.verbose=false",)):
        with pytest.raises(InputError) as error:
            asked("run=a", wrong, *more)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert seen in said[0]


def test_what_a_command_raises_stays_as_it_is() -> None:
    def fail(config: TranslateConfig) -> None:
        raise OmegaConfBaseException(f"of {config.run}")

    for more in ((), ("hydra.verbose=false",)):
        with pytest.raises(OmegaConfBaseException, match="of a"):
            run_with_hydra("translate", fail, Words(frozenset(), (), ("run=a", *more)))
