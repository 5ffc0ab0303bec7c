"""Several processes at once, from the command line: those that write one folder, those that die, those that answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Said, succeed
from tests.made_once import as_prepared
from tests.test_end_to_end import CORPUS, run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, phrase_run  # noqa: F401
from tests.test_sparse_end_to_end import SPARSE
from tests.text.test_locks import holding

LINE = b"Nirka no holdo va bolko ast.\n"


def begun(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "xlate.cli.main", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


def test_every_line_is_answered_before_the_next_is_asked_for(phrase_run: Path) -> None:  # noqa: F811
    with begun("translate", f"run={phrase_run}", "processes=2") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(4):
            process.stdin.write(LINE)
            process.stdin.flush()
            assert process.stdout.readline().endswith(b".\n")
        rest, _ = process.communicate(LINE * 50 + b"\n" + LINE.strip())
    assert process.returncode == 0
    assert len(rest.splitlines()) == 52


def test_a_run_is_trained_by_one_process_and_read_by_any(
    work: Path,  # noqa: F811
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
) -> None:
    (tmp_path / "in.txt").write_bytes(LINE)
    with holding(phrase_run) as process:
        seen = refused("train", f"work={work}", f"run={phrase_run}", *PHRASE, "loss=mira")
        assert "another process is writing this run" in seen
        assert f"process {process.pid} on" in seen
        refused("import", "moses=x.ini", f"out={phrase_run}")
        refused("export", f"run={phrase_run}", f"out={phrase_run}")
        succeed("translate", f"run={phrase_run}", f"input={tmp_path / 'in.txt'}")
        succeed("inspect", f"run={phrase_run}")
        process.communicate("\n")
    assert not list(phrase_run.parent.glob(".*"))


def test_a_work_directory_is_prepared_by_one_process_at_a_time(work: Path, tmp_path: Path) -> None:  # noqa: F811
    work = as_prepared(work, tmp_path / "own" / "work")
    with holding(work) as holder, begun("prepare", f"work={work}", *CORPUS) as process:
        assert process.stderr is not None
        assert f"waiting for process {holder.pid} on" in process.stderr.readline().decode()
        holder.communicate("\n")
        _, seen = process.communicate()
    assert process.returncode == 0
    assert seen.decode().count("unchanged") == 4
    assert not list(work.parent.glob(".*"))


@pytest.mark.slow
def test_runs_that_share_a_work_directory_are_trained_side_by_side(work: Path, tmp_path: Path) -> None:  # noqa: F811
    """None is refused: they wait while one makes the model or decodes a fold, and each ends with the same lists."""
    as_prepared(work, tmp_path / "work")
    settings = [*SPARSE, "sparse=local", "loss.lists.epochs=2", "loss.tune.rounds=1"]
    both = [begun("train", f"work={tmp_path / 'work'}", f"run={tmp_path / name}", *settings) for name in ("a", "b")]
    for process in both:
        _, seen = process.communicate()
        assert process.returncode == 0, seen.decode()
    assert len(list((tmp_path / "work" / "theta").iterdir())) == 1
    one, two = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("a", "b"))
    assert one == two
    assert not list((tmp_path / "work").rglob(".*"))
    assert not list((tmp_path / "work").glob("folds/*/*")), "models of folds are removed"
