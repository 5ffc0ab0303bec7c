"""What is said at the end of a sweep: nothing of the runs of others."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_end_to_end import run, work  # noqa: F401
from xlate.cli.compose import _is_refused
from xlate.cli.main import main
from xlate.cli.sweeps import ONE_AFTER_THE_OTHER
from xlate.errors import InputError

# A launcher like that of joblib, whose jobs last.
LAUNCHER = """
import time
from dataclasses import dataclass
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from joblib import Parallel, delayed
from omegaconf import OmegaConf
from xlate.cli.compose import Job
from xlate.cli.streams import Talk

@dataclass
class Settings:
    seed: int = 1

def lasts(config):
    print("begun", flush=True)
    time.sleep(90)

def job():
    launcher = {"mode": RunMode.MULTIRUN, "launcher": {"_target_": "joblib"}, "job": {"override_dirname": "seed=1"}}
    HydraConfig.instance().cfg = OmegaConf.create({"hydra": launcher})
    Job(lasts, Settings, Talk()).run(OmegaConf.create({"seed": 1}))

Parallel(n_jobs=2)(delayed(job)() for _ in range(2))
"""


@pytest.fixture
def sweep(work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:  # noqa: F811
    """A sweep of one job that ran before, whose folder the same words name again."""
    launchers = tmp_path / "conf" / "hydra" / "launcher"
    launchers.mkdir(parents=True)
    (launchers / "submitit_slurm.yaml").write_text(f"_target_: {ONE_AFTER_THE_OTHER}\n", encoding="utf-8")
    few = ["model=floats", "loss=uniform", "dev_sentences=2", f"work={work}", f"--config-dir={tmp_path / 'conf'}"]
    words = ["train", "-m", *few, f"hydra.sweep.dir={tmp_path / 'sweep'}"]
    assert main([*words, "base=null"]) == 0
    assert "1 run" in capsys.readouterr().err
    return words


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["decoder.beam=5,abc"], "decoder.beam"),
        (["seed=1,2", "hydra/launcher=slurm"], "hydra.launcher.timeout_min is not set"),
        (["seed=1,-2"], "seed is out of range"),
    ],
)
def test_a_refused_sweep_shows_no_runs_of_an_earlier_one(
    sweep: list[str], more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*sweep, *more]) == 2
    seen = capsys.readouterr().err
    assert said in seen
    assert "the best first" not in seen
    assert "1 run" not in seen
    assert "xlate report" not in seen


def test_a_run_that_is_taken_is_shown_beside_a_job_that_fails(
    sweep: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*sweep, "base=null,nowhere"]) == 2
    assert "2 runs" in capsys.readouterr().err


def test_what_a_launcher_in_other_processes_refuses_is_told_from_what_jobs_raise() -> None:
    assert _is_refused(RuntimeError('Could not detect "srun", are you indeed on a slurm cluster?'))
    assert not _is_refused(RuntimeError("a job"))
    assert not _is_refused(InputError("a job"))


def test_the_jobs_of_a_sweep_that_is_killed_end_too() -> None:
    program = [sys.executable, "-c", LAUNCHER]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"begun\n"] * 2
        process.send_signal(signal.SIGKILL)
        # Standard error ends with the last process that could write to it.
        process.communicate(timeout=60)
