"""Tasks in processes of their own: their results, their errors, and what happens when they are killed."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from xlate.cluster import BoxConfig, DaskConfig, SlurmConfig, run_tasks, uses_cluster
from xlate.errors import InputError
from xlate.machine import Stopped
from xlate.report.run_directory import AnotherRun


def doubled(number: int) -> int:
    print("not a result")
    if number == 7:
        raise InputError("wrong", number, "another number", "try again", file="a.txt", line=3)
    if number == 8:
        raise AnotherRun(Path("runs/mine"), [("seed", 1, 2)])
    return 2 * number


def killed_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def killed_always() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def slow(seconds: float) -> None:
    time.sleep(seconds)


Box = Callable[..., None]


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return partial(run_tasks, BoxConfig("box", 2), tmp_path)


def test_tasks_return_values_and_errors_of_some_do_not_end_the_others(box: Box) -> None:
    made: list[object] = []
    box(doubled, [(1,), (7,), (2,), (8,)], "tasks", done=made.append)
    told = [
        str(InputError("wrong", 7, "another number", "try again", file="a.txt", line=3)),
        str(AnotherRun(Path("runs/mine"), [("seed", 1, 2)])),
    ]
    assert sorted(map(str, made)) == sorted(["2", "4", *told])


def test_the_message_of_a_task_is_that_of_the_command(box: Box) -> None:
    with pytest.raises(InputError, match="wrong"):
        box(doubled, [(7,)], "tasks")


def test_a_killed_task_begins_again(box: Box, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made: list[str] = []
    with caplog.at_level(logging.WARNING):
        box(killed_once, [(str(tmp_path / "mark"),)], "tasks", done=made.append)
    assert made == ["done"]
    assert "a task begins again: its process on" in caplog.text
    assert "status -9" in caplog.text
    with pytest.raises(InputError, match=r"(?s)failed repeatedly.*status -9.*run the command again"):
        box(killed_always, [()], "tasks")


def test_tasks_end_when_they_are_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.monotonic()
    with pytest.raises(Stopped):
        run_tasks(BoxConfig("box", 1), tmp_path, slow, [(60,), (60,)], "tasks", lambda: True)
    assert time.monotonic() - start < 50


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    for given in ({}, {"scheduler_file": str(tmp_path / "none")}, {"scheduler_file": "a", "address": "b"}):
        with pytest.raises(InputError, match="needs a scheduler"):
            uses_cluster(DaskConfig("dask", **given))
    pytest.importorskip("submitit")
    wrong = SlurmConfig("slurm", options=["wrong=1"], address="local")
    with pytest.raises(InputError, match=r"(?s)Slurm cannot be used.*cluster=box"):
        run_tasks(wrong, tmp_path, doubled, [(1,)], "tasks")
