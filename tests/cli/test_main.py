"""The command line: usage, exit statuses, messages, completion."""

from __future__ import annotations

import errno
import gc
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.commands import Capture, Said
from xlate import __version__
from xlate.cli import main as cli
from xlate.cli.completion import SHELLS
from xlate.cli.main import COMMANDS, main
from xlate.errors import InputError, Interrupted


def test_usage_lists_every_command(printed: Said) -> None:
    text = printed()
    assert all(name in text for name in COMMANDS)


@pytest.mark.parametrize("asked", ["--version", "-q -V", "train --version", "completion --version"])
def test_version(asked: str, printed: Said) -> None:
    assert printed(*asked.split()) == f"xlate {__version__}\n"


def test_a_process_looks_rarely_for_lost_objects_and_not_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = gc.get_threshold(), []
    monkeypatch.setattr(cli, "main", lambda: seen.append(gc.get_threshold()) or 143)
    try:
        assert cli.start() == 143
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
    assert seen[0][0] > before[0]


def test_errors_name_the_command_wherever_it_stands(printed: Said, refused: Said) -> None:
    assert refused("-q", "translate", "run=nowhere").startswith("xlate translate: ")
    said = refused("-q", "trian")
    assert said.startswith("xlate trian: ")
    assert "did you mean train?" in said
    assert "run: nowhere" in printed("-c", "job", "-q", "translate", "run=nowhere")


FILES = ["data=files", "data.name=x", "data.pair=a-b", "data.train_source=a", "data.train_target=b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "loss.etta=3"], ["loss.etta", "did you mean loss.eta?"]),
        (["train", "loss.eta=much"], ["loss.eta", "much"]),
        (["train", "loss=perceptrn"], ["loss=perceptrn", "did you mean loss=perceptron?"]),
        (["train", "work=nowhere/at/all"], ["nowhere/at/all", "xlate prepare"]),
        (["translate"], ["run is not set"]),
        (["prepare", FILES[0]], ["data.name, data.pair, data.train_source, data.train_target are not set"]),
        (["train", "--multirn"], ["--multirn", "did you mean --multirun?"]),
        (["train", "-m", "hydra/launcher=joblib", "work=w"], ["sweeps use no launchers of Hydra", "cluster=box"]),
        (["train", "--resolve", "work=w"], ["an option that needs another"]),
        (["train", "--config-dir=nowhere", "work=w"], ["no such configuration folder"]),
        (["train", "seed=1", "--cfg"], ["an option without its value", "job|hydra|all"]),
        (
            ["prepare", *FILES],
            ["no dev set", "data.dev_pairs"],
        ),
        (["prepare", *FILES, "data.dev_source=c"], ["c: a dev set without references", "data.dev_references"]),
        (["prepare", "data=multi30k", "data.root=null"], ["XLATE_DATA"]),
    ],
)
def test_bad_input_gives_one_message_and_status_2(
    arguments: list[str],
    words: list[str],
    refused: Said,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XLATE_DATA", raising=False)
    seen = refused(*arguments)
    assert all(word in seen for word in words), seen
    assert "Traceback" not in seen
    assert seen.count("xlate ") - seen.count("remedy:   xlate") <= 2


@pytest.mark.parametrize(
    ("raised", "status", "words"),
    [
        (InputError("bad", file="f", line=3), 2, "f:3: bad"),
        (Interrupted("stopped"), 143, "stopped"),
        (Interrupted("stopped", 130), 130, "stopped"),
        (KeyboardInterrupt(), 130, "stopped by a signal"),
        (OSError(errno.ENOSPC, "full"), 2, "the disk is full"),
        (MemoryError("Unable to allocate 61.0 GiB"), 2, "not enough memory: Unable to allocate 61.0 GiB"),
    ],
)
def test_exit_statuses(
    raised: BaseException,
    status: int,
    words: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(command: str, arguments: list[str]) -> int:
        raise raised

    monkeypatch.setattr(cli, "_run", fails)
    assert main(["train"]) == status
    assert words in capsys.readouterr().err


def test_a_program_error_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: str, arguments: list[str]) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "_run", fails)
    with pytest.raises(ZeroDivisionError):
        main(["train"])


def test_outputs_in_folders_of_sweeps_stand_in_lists_without_quotes(
    tmp_path: Path, printed: Said, refused: Said
) -> None:
    """The names of such folders have the signs that separate values."""
    outputs = [tmp_path / name / "dev.out" for name in ("loss=pro,seed=1", "loss=pro,seed=2", "ref=x")]
    for output in outputs:
        output.parent.mkdir()
        output.write_text("a small house stands here\n")
    assert '"bleu": 100.0' in printed(
        "score", f"hyp=[{outputs[0]},{outputs[1]}]", f"ref={outputs[2]}", "measures=[bleu]"
    )
    assert "quotes" in refused("score", f"hyp=[{outputs[0]},{tmp_path}/absent=1]", f"ref={outputs[2]}")


def test_words_of_a_command_and_values_of_options_are_told_apart(printed: Said) -> None:
    assert yaml.safe_load(printed("report", "a", "--cfg", "job", "b"))["runs"] == ["a", "b"]


def test_completion_calls_the_command_that_was_typed(tmp_path: Path) -> None:
    """In bash, without terminal: the function is called as bash calls it."""
    command = tmp_path / "bin" / "xlate"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\nprintf '%s\\n' \"$2\" model. model=\n")
    command.chmod(0o755)
    typed = f"{command} train mod"
    play = f"COMP_LINE={shlex.quote(typed)}; COMP_POINT=${{#COMP_LINE}}; _xlate_complete {command}"
    script = f"compopt() {{ :; }}\n{SHELLS['bash']}{play}\nprintf '%s|' \"${{COMPREPLY[@]}}\""
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == (f"{typed}|model.|model=|", "")


def test_an_empty_dev_set_is_refused(tmp_path: Path, refused: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a", "ein haus\n" * 5), ("b", "a house\n" * 5), ("empty", "")):
        (tmp_path / name).write_text(text)
    dev = ["data.dev_source=empty", "data.dev_references=empty"]
    assert "empty: an empty dev set" in refused("prepare", *FILES, *dev, "work=w")
