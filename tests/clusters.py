"""Clusters that tasks run on, and commands on them that tests stop."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

BOX = ["cluster=box", "cluster.workers=2"]
SLOW = [
    pytest.param(given, marks=pytest.mark.slow)
    for given in (["cluster=dask"], ["cluster=slurm", "cluster.address=local"])
]


def dask(workers: int = 2) -> Any:
    """A cluster of Dask; tests without its package are skipped."""
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")


@contextlib.contextmanager
def reached(cluster: list[str]) -> Iterator[list[str]]:
    """What is given for a cluster that is there as long as the context lasts."""
    with contextlib.ExitStack() as opened:
        if cluster == ["cluster=dask"]:
            cluster = [*cluster, f"cluster.address={opened.enter_context(dask()).scheduler_address}"]
        elif "cluster=slurm" in cluster:
            pytest.importorskip("submitit")
        yield cluster


def begun(folder: Path, program: str, arguments: Iterable[str], pattern: str) -> subprocess.Popen[bytes]:
    """A Python program in a folder, once a file or folder of a pattern is there; what it says is added to log.txt."""
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=folder, stdout=log, stderr=log)
    while not list(folder.glob(pattern)):
        assert process.poll() is None, (folder / "log.txt").read_text()
        time.sleep(0.01)
    return process


def check_ends(process: subprocess.Popen[bytes], folder: Path) -> None:
    """A command that `begun` gave ends well."""
    assert process.wait() == 0, (folder / "log.txt").read_text()


def times(folder: Path, pattern: str) -> dict[Path, int]:
    """When each file of a pattern was written, in nanoseconds."""
    return {path: path.stat().st_mtime_ns for path in folder.glob(pattern)}


def sums(folder: Path, paths: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of files by their names within a folder."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}
