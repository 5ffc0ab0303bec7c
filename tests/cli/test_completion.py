"""Completion: the words that may follow, and the scripts for bash, zsh and fish as those run them."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import xlate
from tests.commands import Said
from xlate.cli.completion import SHELLS, candidates
from xlate.cli.main import main


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a sweep's jobs and a run are called as they are without `run=`."""
    monkeypatch.chdir(tmp_path)
    for name in ("a-sweep/loss.eta=0.01,seed=1", "a,model=floats"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs/a-sweep/loss.eta=0.01,seed=1/test.hyp").touch()
    (tmp_path / "work").mkdir()
    return tmp_path


RUN = "runs/a-sweep/loss.eta=0.01,seed=1"


@pytest.mark.usefixtures("sweep")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("translate run=runs/a-sweep/loss.eta=0.01,se", [f"run={RUN}/"]),
        (f"score hyp={RUN}/te", [f"hyp={RUN}/test.hyp"]),
        (f"score ref=[runs/a,model=floats,{RUN}/te", [f"ref=[runs/a,model=floats,{RUN}/test.hyp"]),
        (f"nbest check merge=[ours={RUN}/te", [f"merge=[ours={RUN}/test.hyp"]),
        (f"translate run=ours={RUN}/te", []),
        ("report runs/a-sweep/loss.eta=0.01,se", [f"{RUN}/"]),
        ("translate run=runs/a,model=fl", ["run=runs/a,model=floats/"]),
        ("report runs/a,model=floats ou", ["out="]),
        ("prepare data.train_source=", ["data.train_source=runs/", "data.train_source=work/"]),
        ("train los", ["loss=", "loss."]),
        ("train work=", ["work=runs/", "work=work/"]),
        ("train work=work/d", ["work=work/demo"]),
        ("score measures=t", ["measures=ter"]),
        ("train loss=mira loss.tune.metric=", [f"loss.tune.metric={name}" for name in ("bleu", "chrf", "ter")]),
        ("train -m loss=mira,p", ["loss=mira,perceptron", "loss=mira,pro"]),
        ("train seed=", ["seed=1"]),
        ("train exper", ["experiment="]),
        ("train experiment=auli2014/table4-row", [f"experiment=auli2014/table4-row{row}" for row in range(1, 5)]),
        ("train loss.f", ["loss.floats."]),
        ("train loss/t", ["loss/tune="]),
        ("score exper", []),
        ("nbest ", ["check", "import", "oracle", "rescore", "pairs", "score"]),
        ("nbest check ru", ["runs/", "run="]),
        ("nothing x", []),
        (" train   --mu", ["--multirun"]),
        ("tr", ["train", "translate"]),
    ],
)
def test_what_may_follow_a_line(line: str, found: list[str]) -> None:
    assert candidates(f"xlate {line}") == found


@pytest.mark.usefixtures("sweep")
def test_keys_follow_what_is_chosen_by_a_path_that_looks_like_a_key() -> None:
    """A path with `=` is quoted for Hydra, which would otherwise know no more of what is chosen before."""
    words = candidates(f"xlate train loss=mira base={RUN} loss.tune.r")
    assert words == ["loss.tune.references=", "loss.tune.rounds="]


# Without the settings of whoever runs the tests.
PLAIN = {"bash": ("--norc", "--noprofile", "-i"), "zsh": ("-f", "-i")}


@pytest.fixture
def command(sweep: Path) -> Path:
    """A command that completes as xlate does, and otherwise says what it was called with."""
    command, program = sweep / "xlate", f'{sys.executable} -m xlate.cli.main "$@"'
    command.write_text(f'#!/bin/bash\n[[ $1 == --complete ]] && exec {program}\nprintf "GOT %s\\n" "$*"\n')
    command.chmod(0o755)
    return command


def environment(folder: Path) -> dict[str, str]:
    """Variables of a shell that finds the command of a folder."""
    known = {"TERM": "dumb", "PYTHONPATH": str(Path(xlate.__file__).parents[1]), "PATH": f"{folder}:/usr/bin:/bin"}
    return {**os.environ, **known, "HOME": str(folder), "ZDOTDIR": str(folder)}


def typed(folder: Path, before: str, keys: str, shell: str = "bash") -> str:
    """What stands on the command line of a shell after some keys, in a terminal."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(shell, [shell, *PLAIN[shell]], environment(folder))
    (folder / "script").write_text(f"{before}\n{SHELLS[shell]}")
    os.write(terminal, b"source ./script; PS1=; echo re''ady\n")
    _read_until(terminal, "ready")
    os.write(terminal, f"{keys}\n".encode())
    said = _read_until(terminal, "GOT ", "\n")
    os.write(terminal, b"exit\n")
    os.waitpid(process, 0)
    os.close(terminal)
    return said.rpartition("GOT ")[2].strip()


def _read_until(terminal: int, mark: str, end: str = "") -> str:
    """What a terminal says up to a mark, and from there to an end."""
    said, latest = "", time.monotonic() + 60
    while time.monotonic() < latest and (mark not in said or end not in said[said.rindex(mark) :]):
        if select.select([terminal], [], [], 1)[0]:
            said += os.read(terminal, 4096).decode()
    return said


@pytest.mark.usefixtures("command")
@pytest.mark.parametrize("before", ["", "COMP_WORDBREAKS=${COMP_WORDBREAKS//=}"])
def test_bash_puts_values_behind_their_key(sweep: Path, before: str) -> None:
    path, metric = "translate run=runs/a-sweep/loss.eta=0.01,se", "train loss.tune.metric=bleu:1,ch"
    assert typed(sweep, before, f"xlate {path}\t") == f"translate run={RUN}/"
    assert typed(sweep, before, f"xlate {metric}\t") == f"{metric}rf"


@pytest.mark.usefixtures("command")
@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
@pytest.mark.parametrize(
    ("keys", "whole"),
    [
        ("trans\t run=runs/a-sweep/l\t", f"translate run={RUN}/"),
        ("train loss=mir\t", "train loss=mira"),
    ],
)
def test_zsh_completes_words_and_values(sweep: Path, keys: str, whole: str) -> None:
    assert typed(sweep, "", f"xlate {keys}", "zsh") == whole


@pytest.mark.usefixtures("command")
@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on this machine")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("trans", ["translate"]),
        ("train loss=mir", ["loss=mira"]),
        ("report runs/a-sweep/l", [f"{RUN}/"]),
    ],
)
def test_fish_completes_words_and_values(sweep: Path, line: str, found: list[str]) -> None:
    asked = ["fish", "--no-config", "-c", f"{SHELLS['fish']}\ncomplete -C'xlate {line}'"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, env=environment(sweep))
    assert said.stdout.split() == found


def test_the_script_of_each_shell_is_printed(printed: Said) -> None:
    for shell, part in (("bash", "complete -F"), ("zsh", "compdef _xlate xlate"), ("fish", "complete -c xlate")):
        assert part in printed("-q", "completion", shell)
    assert main(["completion", "tcsh"]) == 2
