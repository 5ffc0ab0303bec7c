"""Translations and lists on standard output, and what a killed command leaves; from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_streams import shell
from tests.commands import Said, succeed
from tests.test_end_to_end import CORPUS, run, translate, work  # noqa: F401

TEXT = "Nirka va.\nthe zzz é\n"


def test_minus_and_process_substitution(
    run: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Said,
) -> None:
    expected = translate(run, tmp_path, TEXT).encode()
    done = shell(tmp_path, f"xlate translate run={run} input=<(cat in.txt) output=- nbest=2 nbest_out=-")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(expected + b"0 ||| ")
    assert not (tmp_path / "-").exists()
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input: closed" in refused("translate", f"run={run}")


def test_what_a_killed_prepare_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    command = [sys.executable, "-m", "xlate.cli.main", "prepare", f"work={folder}", *CORPUS]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(folder.glob(".align.*.partial")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    # With the processes beside it, which would else put their stages in place.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert list(folder.glob(".align.*.partial")), "killed while it aligned"
    succeed("prepare", f"work={folder}", *CORPUS)
    assert sorted(os.listdir(folder)) == ["align", "corpus", "generated", "lm", "phrases", "plan.json"]
    assert list(folder.rglob("*.partial")) == []
