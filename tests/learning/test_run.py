"""A run by a method made for the test: what it is given, what is written when it ends, stops, fails or goes on."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xlate.errors import InputError, Interrupted
from xlate.learning.run import Run, conduct
from xlate.machine import StopFlag, Stopped
from xlate.report.run_directory import Records


class Counting:
    """Counts to a number, one checkpoint a step; `at_step` is called before each."""

    def __init__(self, steps: int, at_step: Callable[[int], None] = lambda _: None) -> None:
        self.steps, self.at_step = steps, at_step

    def learn(self, run: Run) -> dict[str, Any]:
        file = run.directory.checkpoint / "count.txt"
        done = int(file.read_text()) if file.exists() else 0
        while done < self.steps:
            self.at_step(done)
            if run.stop:
                raise Stopped
            done += 1
            file.write_text(str(done))
            run.reporter.scalar("count", float(done), done)
        run.weights.write_text(str(done))
        return {"count": done, "worth": 0.5}


def counted(folder: Path, method: Counting, seed: int = 1) -> dict[str, Any]:
    return conduct(method.learn, folder, "seed: 1\n", {"seed": seed, "steps": method.steps})


def test_a_finished_run_has_figures_and_its_identity_and_is_not_trained_again(tmp_path: Path) -> None:
    found = counted(tmp_path / "r", Counting(3))
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert found == summary
    assert (summary["finished"], summary["count"]) == (True, 3)
    assert summary["seconds"] >= 0
    assert summary["peak_mb"] > 1
    assert json.loads((tmp_path / "r" / "run.json").read_text())["identity"] == {"seed": 1, "steps": 3}
    values = [
        record["value"] for record in Records(tmp_path / "r" / "metrics.jsonl").read() if record["tag"] == "count"
    ]
    assert values == [1.0, 2.0, 3.0]
    (tmp_path / "r" / "checkpoint" / "count.txt").unlink()
    assert counted(tmp_path / "r", Counting(3, lambda _: pytest.fail("trained again"))) == found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_and_it_goes_on_from_its_checkpoint(tmp_path: Path, number: signal.Signals) -> None:
    killed = Counting(5, lambda step: os.kill(os.getpid(), number) if step == 3 else None)
    with pytest.raises(Interrupted, match="rerun the same command") as stopped:
        counted(tmp_path / "r", killed)
    assert stopped.value.status == 128 + number
    assert not (tmp_path / "r" / "summary.json").exists()
    steps: list[int] = []
    again = counted(tmp_path / "r", Counting(5, steps.append))
    assert steps == [3, 4]
    assert again["count"] == 5


def test_a_training_within_another_shares_its_flag(tmp_path: Path) -> None:
    with StopFlag() as stop:
        inner = Counting(4, lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 1 else None)
        with pytest.raises(Stopped):
            conduct(inner.learn, tmp_path / "inner", "", {}, stop=stop)
        assert stop.signal == signal.SIGTERM
        # The flag is still the outer one's: a second signal does not end the process.
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_error_leaves_the_run_open(tmp_path: Path) -> None:
    def fail(step: int) -> None:
        if step == 1:
            raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        counted(tmp_path / "r", Counting(2, fail))
    assert not (tmp_path / "r" / "summary.json").exists()
    assert counted(tmp_path / "r", Counting(2))["finished"]
