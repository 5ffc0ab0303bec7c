"""Which stages `xlate prepare` makes again, and what it aligns."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.test_mixture import prepared
from xlate.align.aligner import align
from xlate.work import text_stages


def made_from(work: Path) -> dict[str, Any]:
    return dict(json.loads((work / "align" / "stage.json").read_text())["made_from"])


def test_a_sample_counts_only_for_larger_texts(tmp_path: Path) -> None:
    work = prepared(tmp_path, 1, "align=eflomal", "stages=[]")
    text, size = [work.training_tokens(side) for side in ("source", "target")], len(work.copies)
    every, links = made_from(tmp_path), (tmp_path / "align" / "links.gz").read_bytes()
    assert "sample" not in every
    for sample in ("null", size):
        prepared(tmp_path, 1, "align=eflomal", "stages=[]", f"align.sample={sample}")
        assert made_from(tmp_path) == every
    work = prepared(tmp_path, 1, "align=eflomal", "stages=[]", "align.sample=40")
    assert made_from(tmp_path) == {**every, "sample": 40}
    assert (tmp_path / "align" / "links.gz").read_bytes() != links
    sampled = align(*text, seed=1, sample=40)
    assert [work.links.pairs(s) for s in range(size)] == [sampled.pairs(s) for s in range(size)]


def sums(work: Path) -> dict[str, str]:
    """The SHA-256 of the arrays of the stages."""
    found = sorted(path for stage in ("lm", "phrases") for path in (work / stage).rglob("*.npy"))
    return {str(path.relative_to(work)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.mark.parametrize(
    ("cluster", "part", "memory"),
    [
        ([], 1000, "4GB"),
        (["cluster=box", "cluster.workers=2"], 1000, "500MB"),
        (["cluster=box", "cluster.workers=2"], 20, "500MB"),
        pytest.param(["cluster=dask"], 20, "2GB", marks=pytest.mark.slow),
        pytest.param(["cluster=slurm", "cluster.address=local"], 20, "2GB", marks=pytest.mark.slow),
    ],
)
def test_every_cluster_makes_the_same_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: list[str], part: int, memory: str
) -> None:
    expected = sums(prepared(tmp_path / "here", 1).path)
    assert len(expected) == 16
    monkeypatch.setattr(text_stages, "PART", part)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    with contextlib.ExitStack() as opened:
        if cluster == ["cluster=dask"]:
            distributed = pytest.importorskip("distributed")
            workers = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
            cluster = [*cluster, f"cluster.address={opened.enter_context(workers).scheduler_address}"]
        elif "cluster=slurm" in cluster:
            pytest.importorskip("submitit")
        work = prepared(tmp_path / "there", 1, f"memory={memory}", *cluster).path
    assert sums(work) == expected
    assert not (work / "phrase-parts").exists()
