"""Texts decoded by the tasks of every kind of cluster: the same lists and weights, whatever happens to the workers."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.clusters import BOX, SLOW, dask, reached
from tests.commands import succeed
from tests.made_once import as_prepared
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import FEW, SEARCH
from xlate.jobs.train import tuning

LISTS = [
    "loss.lists.rounds=2",
    "loss.lists.folds=2",
    "loss.lists.nbest=5",
    "loss.lists.shard=15",
    "loss.lists.epochs=1",
]
TRAIN = ["train", "work=work", "run=run", "model=phrase", "loss=xbleu", "sparse=local", *FEW, *SEARCH, *LISTS]


@pytest.fixture(scope="module")
def here(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A folder with a work directory and a run whose lists were made by its own process."""
    folder = tmp_path_factory.mktemp("here")
    as_prepared(work, folder / "work")
    return trained(folder)


@pytest.fixture
def again(here: Path, tmp_path: Path) -> Path:
    """The same without lists and run."""
    shutil.copytree(here / "work", tmp_path / "work", ignore=shutil.ignore_patterns("lists", "folds"))
    return tmp_path


def trained(folder: Path, *more: str) -> Path:
    """Trains in a folder, whose files are named by relative paths."""
    with contextlib.chdir(folder):
        succeed(*TRAIN, *more)
    return folder


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of the arrays of the lists, and of the weights learned from them."""
    paths = [*folder.glob("work/lists/*/fold-*/shard-*/*.npy"), folder / "run" / "weights.safetensors"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


def left_behind(folder: Path) -> list[Path]:
    return list((folder / "work" / "lists").rglob(".*"))


@pytest.mark.parametrize("cluster", [BOX, *SLOW])
def test_tasks_make_the_same_lists(
    here: Path, again: Path, monkeypatch: pytest.MonkeyPatch, cluster: list[str]
) -> None:
    """And they decode the dev set with the learned weights, in two parts."""
    monkeypatch.setattr(tuning, "PART", 16)
    with reached(cluster) as given:
        trained(again, *given, "loss.lists.processes=2")
    assert sums(again) == sums(here)
    assert len(sums(here)) > 100
    assert left_behind(again) == []


def begun(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """The command, once it has written a shard."""
    command = [sys.executable, "-m", "xlate.cli.main", *TRAIN, *more]
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    while not list(folder.glob("work/lists/*/fold-*/shard-0000")):
        assert process.poll() is None, (folder / "log.txt").read_text()
        time.sleep(0.01)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["task", "worker"])
def test_a_killed_worker_changes_nothing(here: Path, again: Path, victim: str) -> None:
    psutil = pytest.importorskip("psutil")
    if victim == "worker":
        with dask() as cluster:
            process = begun(again, "cluster=dask", f"cluster.address={cluster.scheduler_address}")
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
            assert process.wait() == 0, (again / "log.txt").read_text()
    else:
        process = begun(again, *BOX)
        child, *_ = (c for c in psutil.Process(process.pid).children() if "xlate.cluster" in c.cmdline())
        child.kill()
        assert process.wait() == 0, (again / "log.txt").read_text()
        assert "a task begins again: its process on" in (again / "log.txt").read_text()
    assert sums(again) == sums(here)
    assert left_behind(again) == []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_command_continues_where_it_stopped(here: Path, again: Path, number: int, status: int) -> None:
    psutil = pytest.importorskip("psutil")
    process = begun(again, *BOX)
    tasks = psutil.Process(process.pid).children()
    process.send_signal(number)
    assert process.wait() == status
    assert psutil.wait_procs(tasks, timeout=30)[1] == []
    kept = {path: path.stat().st_mtime_ns for path in again.glob("work/lists/*/fold-*/shard-*/header.json")}
    trained(again, *BOX)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert sums(again) == sums(here)
    assert left_behind(again) == []


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_command_which_then_continues(here: Path, again: Path) -> None:
    pytest.importorskip("distributed")
    file, dask = again / "scheduler.json", [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    with (again / "dask.txt").open("wb") as log, contextlib.ExitStack() as started:
        scheduler = subprocess.Popen(
            [*dask, "--port=0", "--dashboard-address=:0", f"--scheduler-file={file}"], stdout=log, stderr=log
        )
        started.callback(scheduler.kill)
        while not file.exists():
            assert scheduler.poll() is None, (again / "dask.txt").read_text()
            time.sleep(0.05)
        dask[-1] = "distributed.cli.dask_worker"
        worker = subprocess.Popen(
            [*dask, f"--scheduler-file={file}", "--nthreads=1", "--no-dashboard"], stdout=log, stderr=log
        )
        started.callback(worker.kill)
        process = begun(again, "cluster=dask", f"cluster.scheduler_file={file}")
        scheduler.kill()
        assert process.wait(200) == 2, (again / "log.txt").read_text()
        assert "scheduler" in (again / "log.txt").read_text()
        for one in (scheduler, worker):
            one.kill()
            one.wait()
    trained(again, *BOX)
    assert sums(again) == sums(here)
    assert left_behind(again) == []


# Tuning on a dev set of thirty sentences: two parts, or four for the tests that stop it.
TUNE = ["train", "work=work", "run=tuned", "model=phrase", *FEW, *SEARCH]
MIRA, PRO = ["loss=mira", "sparse=local"], ["loss=pro", "loss.tune.processes=2"]
SMALL_PARTS = """
import sys
from xlate.cli.main import main
from xlate.jobs.train import tuning
tuning.PART = 8
sys.exit(main())
"""


def tuned_sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of the weights, and of the lists of all rounds."""
    paths = [*folder.glob("tuned/checkpoint/round-*/*.npy"), folder / "tuned" / "weights.safetensors"]
    assert len(paths) > 10
    assert not list(folder.glob("tuned/checkpoint/parts-*"))
    assert not list(folder.glob("tuned/checkpoint/.*"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


@pytest.fixture
def place(work: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A folder with a work directory."""
    as_prepared(work, tmp_path / "work")
    return tmp_path


def tuned(folder: Path, *more: str) -> dict[str, str]:
    """Tunes in a folder in which only the work directory stays."""
    shutil.rmtree(folder / "tuned", ignore_errors=True)
    with contextlib.chdir(folder):
        succeed(*TUNE, *more)
    return tuned_sums(folder)


@pytest.mark.parametrize(
    ("cluster", "settings"),
    [
        (BOX, MIRA),
        pytest.param(BOX, ["loss=mert", "loss.tune.restarts=2"], marks=pytest.mark.slow),
        pytest.param(
            BOX, ["loss=pro", "loss.tune.metric='bleu:1,chrf:1'", "loss.tune.processes=2"], marks=pytest.mark.slow
        ),
        *(pytest.param(*one.values, MIRA, marks=one.marks) for one in SLOW),
    ],
)
def test_tasks_that_decode_the_dev_set_change_no_weight(
    place: Path, monkeypatch: pytest.MonkeyPatch, cluster: list[str], settings: list[str]
) -> None:
    expected = tuned(place, *settings)
    monkeypatch.setattr(tuning, "PART", 16)
    with reached(cluster) as given:
        assert tuned(place, *settings, *given) == expected


def begun_tuning(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """The command, once a part of a round is decoded."""
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", SMALL_PARTS, *TUNE, *MIRA, *more], cwd=folder, stdout=log, stderr=log
        )
    while not list(folder.glob("tuned/checkpoint/parts-*/shard-*")):
        assert process.poll() is None, (folder / "log.txt").read_text()
        time.sleep(0.01)
    return process


@pytest.mark.slow
def test_a_worker_killed_while_it_decodes_the_dev_set_changes_nothing(place: Path) -> None:
    with dask() as cluster:
        process = begun_tuning(place, "cluster=dask", f"cluster.address={cluster.scheduler_address}")
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        assert process.wait() == 0, (place / "log.txt").read_text()
    assert tuned_sums(place) == tuned(place, *MIRA)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143)])
def test_a_tuning_that_is_stopped_continues_with_the_missing_parts(place: Path, number: int, status: int) -> None:
    psutil = pytest.importorskip("psutil")
    process = begun_tuning(place, *BOX)
    tasks = psutil.Process(process.pid).children()
    process.send_signal(number)
    assert process.wait() == status
    assert psutil.wait_procs(tasks, timeout=30)[1] == []
    kept = {path: path.stat().st_mtime_ns for path in place.glob("tuned/checkpoint/parts-*/shard-*/header.json")}
    process = begun_tuning(place, *BOX)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert process.wait() == 0, (place / "log.txt").read_text()
    assert tuned_sums(place) == tuned(place, *MIRA)
