"""Clusters that tasks run on: what is given for each, and one of Dask on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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
