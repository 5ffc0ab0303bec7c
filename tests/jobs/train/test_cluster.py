"""Texts decoded by the tasks of every kind of cluster: the same lists and weights, whatever happens to the workers."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.clusters import BOX, SLOW, begun, check_ends, dask, reached, sums, times
from tests.commands import succeed
from tests.made_once import as_prepared
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import FEW, SEARCH
from xlate.jobs.train import tuning

COMMON = ["train", "work=work", "run=run", "model=phrase", *FEW, *SEARCH]
LISTS = (
    "loss=xbleu sparse=local loss.tune.rounds=1 loss.lists.rounds=2 loss.lists.folds=2 loss.lists.nbest=5 "
    "loss.lists.shard=15 loss.lists.epochs=1"
)
# The dev set has thirty sentences: four parts.
SMALL_PARTS = """
import sys
from xlate.cli.main import main
from xlate.jobs.train import tuning
tuning.PART = 8
sys.exit(main())
"""


@dataclass(frozen=True)
class Job:
    """A training.

    Attributes:
        given: its settings.
        parts: the folders that its tasks write.
        lists: the folders of its lists in the end.
    """

    given: list[str]
    parts: str = "run/checkpoint/parts-*/shard-*"
    lists: str = "run/checkpoint/round-*"


SHARDS = "work/lists/*/fold-*/shard-*"
JOBS = {
    "lists": Job(LISTS.split(), SHARDS, SHARDS),
    "mira": Job(["loss=mira", "sparse=local"]),
    "mert": Job(["loss=mert", "loss.tune.restarts=2"]),
    "pro": Job(["loss=pro", "loss.tune.metric='bleu:1,chrf:1'", "loss.tune.processes=2"]),
}
SAME = ("lists", "mira")


@pytest.fixture(scope="module")
def here(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A folder with a work directory."""
    folder = tmp_path_factory.mktemp("here")
    as_prepared(work, folder / "work")
    return folder


@pytest.fixture(scope="module")
def expected(here: Path) -> Callable[[str], dict[str, str]]:
    """What each job makes in a process of its own."""

    @cache
    def made(name: str) -> dict[str, str]:
        shutil.rmtree(here / "run", ignore_errors=True)
        return trained(here, name)

    return made


@pytest.fixture
def place(here: Path, tmp_path: Path) -> Path:
    """A folder with the same work directory, without lists."""
    shutil.copytree(here / "work", tmp_path / "work", ignore=shutil.ignore_patterns("lists", "folds"))
    return tmp_path


def trained(folder: Path, name: str, *more: str) -> dict[str, str]:
    """Trains in a folder, whose files are named by relative paths."""
    with contextlib.chdir(folder):
        succeed(*COMMON, *JOBS[name].given, *more)
    return results(folder, name)


def results(folder: Path, name: str) -> dict[str, str]:
    """The SHA-256 of the arrays of the lists, and of the weights learned from them; nothing else is left behind."""
    for pattern in ("work/lists/**/.*", "run/checkpoint/.*", "run/checkpoint/parts-*"):
        assert not list(folder.glob(pattern))
    paths = [*folder.glob(f"{JOBS[name].lists}/*.npy"), folder / "run" / "weights.safetensors"]
    assert len(paths) > 10
    return sums(folder, paths)


@pytest.mark.parametrize(
    ("name", "cluster"),
    [
        ("lists", BOX),
        *(pytest.param(name, BOX, marks=pytest.mark.slow) for name in ("mira", "mert", "pro")),
        *(pytest.param(name, *one.values, marks=one.marks) for one in SLOW for name in SAME),
    ],
)
def test_tasks_make_the_same_lists_and_weights(
    expected: Callable[[str], dict[str, str]],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    cluster: list[str],
) -> None:
    """The dev set is decoded in two parts."""
    monkeypatch.setattr(tuning, "PART", 16)
    processes = ["loss.lists.processes=2"] if name == "lists" else []
    with reached(cluster) as given:
        found = trained(place, name, *given, *processes)
    assert found == expected(name)


def begin(folder: Path, name: str, *more: str) -> subprocess.Popen[bytes]:
    """A job, once a task has written a part."""
    return begun(folder, SMALL_PARTS, [*COMMON, *JOBS[name].given, *more], JOBS[name].parts)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "victim"), [("lists", "task"), ("lists", "worker"), ("mira", "worker")])
def test_a_killed_worker_changes_nothing(
    expected: Callable[[str], dict[str, str]], place: Path, name: str, victim: str
) -> None:
    psutil = pytest.importorskip("psutil")
    if victim == "worker":
        with dask() as cluster:
            process = begin(place, name, "cluster=dask", f"cluster.address={cluster.scheduler_address}")
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
            check_ends(process, place)
    else:
        process = begin(place, name, *BOX)
        child, *_ = (c for c in psutil.Process(process.pid).children() if "xlate.cluster" in c.cmdline())
        child.kill()
        check_ends(process, place)
        assert "a task begins again: its process on" in (place / "log.txt").read_text()
    assert results(place, name) == expected(name)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("name", SAME)
def test_a_stopped_command_continues_where_it_stopped(
    expected: Callable[[str], dict[str, str]], place: Path, name: str, number: int, status: int
) -> None:
    psutil = pytest.importorskip("psutil")
    process = begin(place, name, *BOX)
    tasks = psutil.Process(process.pid).children()
    process.send_signal(number)
    assert process.wait() == status
    assert psutil.wait_procs(tasks, timeout=30)[1] == []
    headers = f"{JOBS[name].parts}/header.json"
    kept = times(place, headers)
    process = begin(place, name, *BOX)
    assert kept.items() <= times(place, headers).items()
    check_ends(process, place)
    # The parts of a round are removed behind it.
    assert name != "lists" or kept.items() <= times(place, headers).items()
    assert results(place, name) == expected(name)


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_command_which_then_continues(
    expected: Callable[[str], dict[str, str]], place: Path
) -> None:
    pytest.importorskip("distributed")
    file, dask = place / "scheduler.json", [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    with (place / "dask.txt").open("wb") as log, contextlib.ExitStack() as started:
        scheduler = subprocess.Popen(
            [*dask, "--port=0", "--dashboard-address=:0", f"--scheduler-file={file}"], stdout=log, stderr=log
        )
        started.callback(scheduler.kill)
        while not file.exists():
            assert scheduler.poll() is None, (place / "dask.txt").read_text()
            time.sleep(0.05)
        dask[-1] = "distributed.cli.dask_worker"
        worker = subprocess.Popen(
            [*dask, f"--scheduler-file={file}", "--nthreads=1", "--no-dashboard"], stdout=log, stderr=log
        )
        started.callback(worker.kill)
        process = begin(place, "lists", "cluster=dask", f"cluster.scheduler_file={file}")
        scheduler.kill()
        assert process.wait(200) == 2, (place / "log.txt").read_text()
        assert "scheduler" in (place / "log.txt").read_text()
        for one in (scheduler, worker):
            one.kill()
            one.wait()
    assert trained(place, "lists", *BOX) == expected("lists")
