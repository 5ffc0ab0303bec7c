"""Which stages `xlate prepare` makes again, and what it aligns."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.clusters import BOX, SLOW, begun, check_ends, dask, reached, sums, times
from tests.jobs.test_mixture import prepared, unchanged
from xlate.align.aligner import align
from xlate.align.lexical import lexical_table
from xlate.phrases.extract import extract_phrases
from xlate.phrases.table import score_phrases
from xlate.work import align_parts, corpus_parts, text_stages


def made_from(work: Path) -> dict[str, Any]:
    return dict(json.loads((work / "align" / "stage.json").read_text())["made_from"])


def test_a_sample_counts_only_for_larger_texts(tmp_path: Path) -> None:
    work = prepared(tmp_path, 1, "align=eflomal", "stages=[]")
    text, size = [work.training_tokens(side) for side in ("source", "target")], len(work.copies)
    every = made_from(tmp_path)
    assert "sample" not in every
    for sample in ("null", size):
        prepared(tmp_path, 1, "align=eflomal", "stages=[]", f"align.sample={sample}")
        assert made_from(tmp_path) == every
    work = prepared(tmp_path, 1, "align=eflomal", "stages=[]", "align.sample=40")
    assert made_from(tmp_path) == {**every, "sample": 40}
    sampled = align(*text, seed=1, sample=40)
    assert [work.links.pairs(s) for s in range(size)] == [sampled.pairs(s) for s in range(size)]


def sums_of(work: Path) -> dict[str, str]:
    """The SHA-256 of all files but the records of stages, which have times."""
    paths = (path for path in work.rglob("*") if path.is_file() and path.name not in ("stage.json", "plan.json"))
    return sums(work, paths)


def check_same(folder: Path, expected: dict[str, str]) -> None:
    assert sums_of(folder / "work") == expected
    assert not list(folder.glob("work/**/.*"))
    assert not list(folder.glob("work/*-parts"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a command in one process makes."""
    return sums_of(prepared(tmp_path_factory.mktemp("expected"), 1).path)


@pytest.mark.parametrize(
    ("cluster", "part", "memory"),
    [
        ([], 20, "4GB"),
        (BOX, 80, "500MB"),
        *(pytest.param(*one.values, 20, "2GB", marks=one.marks) for one in SLOW),
    ],
)
def test_every_cluster_makes_the_same_stages(
    expected: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: list[str],
    part: int,
    memory: str,
) -> None:
    monkeypatch.setattr(text_stages, "PART", part)
    monkeypatch.setattr(align_parts, "PART", part)
    monkeypatch.setattr(corpus_parts, "PART", part)
    with reached(cluster) as given:
        prepared(tmp_path / "work", 1, f"memory={memory}", *given)
    check_same(tmp_path, expected)


def test_smoothing_changes_only_phrases(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plain = prepared(tmp_path, 1, "phrases.min_count=2")
    blocks, scores_B4 = plain.plan["blocks"]["settings"], np.array(plain.table.scores_B4)
    with caplog.at_level("INFO"):
        caplog.clear()
        work = prepared(tmp_path, 1, "phrases.min_count=2", "phrases.smoothing=kneser_ney")
    assert unchanged(caplog) == ["corpus", "align", "lm"]
    assert work.plan["blocks"]["settings"] == blocks
    lexical, counts = lexical_table(*work.encoded, work.links), extract_phrases(*work.encoded, work.links)
    table = score_phrases(counts, lexical, smoothing="kneser_ney").select(counts.count_B >= 2)
    assert np.array_equal(work.table.scores_B4, table.scores_B4)
    assert not np.array_equal(scores_B4, table.scores_B4)


# A task for a few sentence pairs.
SMALL_PARTS = """
import sys
from xlate.cli.main import main
from xlate.work import align_parts, corpus_parts, text_stages
text_stages.PART = 5
align_parts.PART = corpus_parts.PART = 10
sys.exit(main())
"""


STEPS = ["corpus-parts/tokens/train", "align-parts", "phrase-parts"]


def parts(step: str) -> str:
    return f"work/{step}/[!.]*/stage.json"


def begin(folder: Path, step: str | None, *more: str) -> subprocess.Popen[bytes]:
    """A command that prepares a corpus, once it has made a part of a step; folders with a dot are not finished."""
    size = [f"data.generated.{key}" for key in ("seed=1", "train=150", "dev=20", "test=5")]
    given = ["prepare", "data=demo", "align=fast_align", "work=work", *size, *more]
    return begun(folder, SMALL_PARTS, given, parts(step) if step else "log.txt")


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("victim", ["worker", "task"])
def test_a_killed_worker_changes_nothing(expected: dict[str, str], tmp_path: Path, victim: str, step: str) -> None:
    psutil = pytest.importorskip("psutil")
    with dask() as cluster:
        process = begin(tmp_path, step, "cluster=dask", f"cluster.address={cluster.scheduler_address}")
        worker = psutil.Process(cluster.workers[0].pid)
        while victim == "task" and not worker.children():
            time.sleep(0.01)
        (worker.children()[0] if victim == "task" else worker).kill()
        check_ends(process, tmp_path)
    if victim == "task":
        assert "a task begins again" in (tmp_path / "log.txt").read_text()
    check_same(tmp_path, expected)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_ends_early_continues(expected: dict[str, str], tmp_path: Path, number: int, step: str) -> None:
    process = begin(tmp_path, step, *BOX)
    process.send_signal(number)
    assert process.wait() != 0
    kept = times(tmp_path, parts(step))
    assert kept
    again = begin(tmp_path, step, *BOX)
    assert kept.items() <= times(tmp_path, parts(step)).items()
    check_ends(again, tmp_path)
    check_same(tmp_path, expected)


@pytest.mark.slow
def test_a_worker_that_cannot_write_ends_the_command_which_then_continues(
    expected: dict[str, str], tmp_path: Path
) -> None:
    prepared(tmp_path / "work", 1, "stages=[]")

    def full(number: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    with dask(1) as cluster:
        client = cluster.get_client()
        # Writing fails as on a full disk.
        client.run(full, 1000)
        given = ["cluster=dask", f"cluster.address={cluster.scheduler_address}"]
        assert begin(tmp_path, None, *given).wait() == 2
        told = (tmp_path / "log.txt").read_text()
        assert "a task failed repeatedly" in told
        assert not list(tmp_path.glob("work/phrase-parts/*/stage.json"))
        client.run(full, resource.RLIM_INFINITY)
        check_ends(begin(tmp_path, None, *given), tmp_path)
    check_same(tmp_path, expected)
