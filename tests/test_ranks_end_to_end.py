"""Ranks that torchrun starts: the same weights in every run, also if ranks are killed and resume."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.commands import sets_of
from tests.test_rerank_end_to_end import RERANK, write_lists

pytestmark = pytest.mark.slow
EPOCHS = 100
LISTS = [*RERANK, f"loss.lists.epochs={EPOCHS}", "loss.lists.adagrad=true"]


def begin(folder: Path, run: str, ranks: int, *more: str, keys: Sequence[str] = LISTS) -> subprocess.Popen[bytes]:
    """Ranks that learn to rank the lists of a folder; without torchrun for no ranks."""
    torchrun = [*["torch.distributed.run", "--standalone", "--max-restarts=2"], f"--nproc-per-node={ranks}", "-m"]
    given = ["nbest=train.nbest", "references=[train.ref]", "nbest_source=train.src", "checkpoint_seconds=0"]
    command = [sys.executable, "-m", *(torchrun if ranks else []), "xlate", "train", f"run={run}", *keys, *given, *more]
    with (folder / f"{run}.log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)


def learned(folder: Path, run: str, ranks: int, *more: str) -> str:
    """The SHA-256 of the weights that ranks end with."""
    assert begin(folder, run, ranks, *more).wait(600) == 0, (folder / f"{run}.log").read_text()
    return hashlib.sha256((folder / run / "weights.safetensors").read_bytes()).hexdigest()


def under_way(folder: Path, run: str) -> None:
    """Waits until there is a checkpoint of some epochs."""
    metrics, limit = folder / run / "metrics.jsonl", time.monotonic() + 300
    while not metrics.exists() or metrics.read_text().count("train_loss") < EPOCHS // 10:
        assert time.monotonic() < limit, (folder / f"{run}.log").read_text()
        time.sleep(0.05)


def children(process: subprocess.Popen[bytes]) -> dict[str, int]:
    """The processes of the ranks, by their numbers."""
    found = {}
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        for variable in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"RANK="):
                found[variable.removeprefix(b"RANK=").decode()] = int(child)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ranks")
    write_lists(made, "train", range(61))
    return made


@pytest.fixture(scope="module")
def expected(folder: Path) -> str:
    return learned(folder, "whole", 2)


def test_two_ranks_learn_the_same_in_every_run(folder: Path, expected: str) -> None:
    assert learned(folder, "again", 2) == expected
    assert json.loads((folder / "again" / "run.json").read_text())["identity"]["ranks"] == 2
    # Only the first rank writes figures and messages.
    tags = [json.loads(line)["step"] for line in (folder / "again" / "metrics.jsonl").read_text().splitlines()
            if "train_loss" in line]  # fmt: skip
    assert tags == list(range(1, EPOCHS + 1))
    assert (folder / "again.log").read_text().count("epoch 7:") == 1


def test_one_rank_is_plain_training(folder: Path, expected: str) -> None:
    plain = learned(folder, "plain", 0)
    assert learned(folder, "one", 1) == plain != expected
    identities = [json.loads((folder / run / "run.json").read_text())["identity"] for run in ("plain", "one")]
    assert identities[0] == identities[1]


def test_a_killed_rank_is_started_again_with_all_others(folder: Path, expected: str) -> None:
    process = begin(folder, "killed", 2)
    under_way(folder, "killed")
    os.kill(children(process)["1"], signal.SIGKILL)
    assert process.wait(600) == 0, (folder / "killed.log").read_text()
    assert learned(folder, "killed", 2) == expected


def test_stopped_ranks_resume_with_the_same_command(folder: Path, expected: str) -> None:
    process = begin(folder, "stopped", 2)
    under_way(folder, "stopped")
    process.terminate()
    assert process.wait(120) != 0
    assert not (folder / "stopped" / "weights.safetensors").exists()
    assert learned(folder, "stopped", 2) == expected


def test_another_number_of_ranks_is_another_run(folder: Path, expected: str) -> None:
    process = begin(folder, "whole", 0)
    assert process.wait(120) == 2
    assert "ranks: 2 there, nothing requested" in (folder / "whole.log").read_text()
    assert sets_of(folder / "whole")
    assert expected


def test_a_tuner_refuses_ranks(folder: Path) -> None:
    process = begin(folder, "tuned", 2, keys=["model=rerank", "loss=mira", "loss.tune.heldout_every=4"])
    assert process.wait(120) != 0
    assert "this training runs in one process" in (folder / "tuned.log").read_text()
