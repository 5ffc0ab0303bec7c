"""Killed at random moments by every signal and begun again, long jobs end with the bytes of undisturbed ones."""

from __future__ import annotations

import hashlib
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tests.test_rerank_end_to_end import RERANK, write_lists

KILLS = 3
SEED = 20261122
CORPUS = ["data=demo", "data.generated.train=300", "data.generated.dev=20", "data.generated.test=5", "align=fast_align"]
BLOCK = ["work=work", "model.threshold=1", "checkpoint_seconds=0", "dev_sentences=5"]
SEARCH = ["decoder.options=10", "decoder.max_phrase=4", "decoder.pop_limit=30", "loss.tune.nbest=15"]
PHRASE = ["work=work", "model=phrase", "decoder=phrase", *SEARCH, "checkpoint_seconds=0"]
ONLINE = [*PHRASE[:3], *SEARCH[:3], "checkpoint_seconds=0", "source=online", "source.nbest=15"]
LISTS = ["loss.lists.folds=3", "loss.lists.nbest=10", "loss.lists.shard=40", "loss.lists.processes=2"]
LEARNING = ["loss.lists.tolerance=0", "loss.lists.adagrad=true"]
GIVEN = ["nbest=train.nbest", "references=[train.ref]", "nbest_source=train.src"]
# What says how long something took, or of which commit the program was; the figures of lists do in their metadata.
TIMED = ("log.txt", "stage.json", "summary.json", "metrics.jsonl", "versions.json", "sparse-1.safetensors")


# A command, and which of the prepared folders it begins with.
Row = tuple[tuple[str, ...], tuple[str, ...]]
ROWS: dict[str, Row] = {
    "prepare": (("prepare", "work=work", *CORPUS), ()),
    "local": (("train", *BLOCK, "run=run", "loss.binary.epochs=40"), ("work",)),
    "mira": (("train", *PHRASE, "run=run", "loss=mira", "loss.tune.rounds=4"), ("work",)),
    "lists": (
        ("train", *PHRASE, *LISTS, *LEARNING, "loss=xbleu", "sparse=full", "loss.lists.epochs=200", "run=run",
         "loss.tune.rounds=1"),
        ("work",),
    ),
    "block lists": (
        ("train", *BLOCK, *LISTS, *LEARNING, "loss=xbleu", "base=base", "loss.lists.epochs=200", "run=run",
         "loss.lists.gamma=1", "loss.tune.rounds=1", "loss.tune.nbest=15"),
        ("work", "base"),
    ),
    "online": (
        ("train", *ONLINE, "sparse=local", "source.iterations=30", "source.batch=3", "source.processes=2", "run=run"),
        ("work",),
    ),
    "shards": (
        ("train", *ONLINE, "source.iterations=50", "source.shards=2", "source.select=best", "run=run"), ("work",)
    ),
    "context": (
        ("train", "work=work", "model=context", "model.folds=3", "model.bits=16", "loss.epochs=40", "loss.average=true",
         "checkpoint_seconds=0", "run=run"),
        ("work",),
    ),
    "rerank": (
        ("train", *RERANK, *GIVEN, "run=run", "loss.lists.epochs=400", "checkpoint_seconds=0"), ("lists",)
    ),
    "import": (("import", "moses=moses/moses.ini", "out=run"), ("moses",)),
    "global": (
        ("train", *BLOCK, "run=run", "base=base", "loss=global", "loss.globally.rounds=2"), ("work", "base")
    ),
}  # fmt: skip


def begin(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "xlate.cli.main", *arguments]
    folder.mkdir(exist_ok=True)
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)


def run(folder: Path, *arguments: str) -> float:
    """Runs a command to its end; the seconds it took."""
    start = time.monotonic()
    assert begin(folder, *arguments).wait() == 0, (folder / "log.txt").read_text()
    return time.monotonic() - start


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Work directory, block run, Moses system and lists that the rows begin with."""
    folder = tmp_path_factory.mktemp("prepared")
    run(folder, *ROWS["prepare"][0])
    shutil.copytree(folder / "work", folder / "made" / "work")
    (folder / "made" / "lists").mkdir()
    write_lists(folder / "made" / "lists", "train", range(300))
    run(folder, "train", *BLOCK, "run=base", "loss.binary.epochs=2")
    run(folder, "train", *PHRASE, "run=phrase", "loss=mira", "loss.tune.rounds=1")
    run(folder, "export", "run=phrase", "out=moses")
    for name in ("base", "moses"):
        shutil.copytree(folder / name, folder / "made" / name)
    return folder / "made"


def beginning(prepared: Path, folder: Path, row: Row) -> Path:
    """A folder with what the command begins with."""
    folder.mkdir()
    for name in row[1]:
        shutil.copytree(prepared / name, folder if name == "lists" else folder / name, dirs_exist_ok=True)
    return folder


def results(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        timed = path.name in TIMED or path.name.startswith("events.out") or path.match("work/lists/*/*/*/header.json")
        if not timed and "/." not in name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def undisturbed(prepared: Path, tmp_path_factory: pytest.TempPathFactory):
    """What each row gives, and how long it takes."""

    @cache
    def made(name: str) -> tuple[dict[str, str], float]:
        folder = beginning(prepared, tmp_path_factory.mktemp("whole") / name, ROWS[name])
        seconds = run(folder, *ROWS[name][0])
        return results(folder), seconds

    return made


def left_behind(folder: Path) -> list[str]:
    """Hidden files and folders."""
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.name.startswith(".")]
    return sorted(path.as_posix() for path in found)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("name", ROWS)
def test_killed_and_begun_again(name: str, number: signal.Signals, prepared: Path, undisturbed, tmp_path: Path) -> None:
    row, (expected, seconds) = ROWS[name], undisturbed(name)
    choose, kills, fresh = random.Random(f"{SEED} {name} {number}"), 0, True
    folder = beginning(prepared, tmp_path / "0", row)
    for attempt in range(1, 5 * KILLS):
        start = time.monotonic()
        status = signalled(folder, row, number, choose.uniform(0.35, 0.95) * seconds)
        kills += status != 0
        if kills == KILLS:
            break
        if status == 0:
            assert results(folder) == expected
            # The signal came too late: compiling is over, or the machine has less to do.
            seconds = time.monotonic() - start if fresh else seconds
            folder = beginning(prepared, tmp_path / str(attempt), row)
        fresh = status == 0
    assert kills == KILLS
    run(folder, *row[0])
    assert results(folder) == expected
    assert left_behind(folder) == []


def signalled(folder: Path, row: Row, number: signal.Signals, moment: float) -> int:
    """Signals a command after so many seconds; its exit status."""
    (folder / "log.txt").unlink(missing_ok=True)
    process = begin(folder, *row[0])
    try:
        status = process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        status = process.wait(timeout=600)
    log = (folder / "log.txt").read_text()
    # Before Python has begun and when it is about to end, a signal has the effect it has on any process.
    assert status in (0, -number, 128 + number), log
    assert "Traceback" not in log or status == -number
    return status
