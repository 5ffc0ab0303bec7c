"""Which stages `xlate prepare` makes again, and what it aligns."""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.clusters import BOX, SLOW, dask, reached
from tests.jobs.test_mixture import prepared
from xlate.align.aligner import align
from xlate.align.lexical import lexical_table
from xlate.errors import InputError
from xlate.phrases.extract import extract_phrases
from xlate.phrases.table import score_phrases
from xlate.work import align_parts, corpus_parts, text_stages


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
    """The SHA-256 of all files but the records of stages, which have times."""
    found = [path for path in work.rglob("*") if path.is_file() and path.name not in ("stage.json", "plan.json")]
    return {str(path.relative_to(work)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(found)}


@pytest.mark.parametrize(
    ("cluster", "part", "memory"),
    [
        ([], 20, "4GB"),
        (BOX, 1000, "500MB"),
        (BOX, 80, "500MB"),
        *(pytest.param(*one.values, 20, "2GB", marks=one.marks) for one in SLOW),
    ],
)
def test_every_cluster_makes_the_same_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: list[str], part: int, memory: str
) -> None:
    expected = sums(prepared(tmp_path / "here", 1).path)
    monkeypatch.setattr(text_stages, "PART", part)
    monkeypatch.setattr(align_parts, "PART", part)
    monkeypatch.setattr(corpus_parts, "PART", part)
    with reached(cluster) as given:
        work = prepared(tmp_path / "there", 1, f"memory={memory}", *given).path
    assert sums(work) == expected
    assert not list(work.glob("*-parts"))


def test_a_mixture_is_not_smoothed(tmp_path: Path) -> None:
    base = prepared(tmp_path / "base", 1, "stages=[]").path
    with pytest.raises(InputError, match="texts that cannot be mixed") as error:
        prepared(tmp_path / "mixed", 2, f"mix={base}", "phrases.smoothing=kneser_ney")
    assert "phrases.smoothing=kneser_ney" in str(error.value)


def test_smoothing_changes_only_phrases(tmp_path: Path) -> None:
    work = prepared(tmp_path / "plain", 1, "phrases.min_count=2")
    smoothed = prepared(tmp_path / "smoothed", 1, "phrases.min_count=2", "phrases.smoothing=kneser_ney")
    assert work.identities("corpus", "align", "lm") == smoothed.identities("corpus", "align", "lm")
    assert work.identities("phrases") != smoothed.identities("phrases")
    assert work.plan["blocks"]["settings"] == smoothed.plan["blocks"]["settings"]
    lexical, counts = lexical_table(*work.encoded, work.links), extract_phrases(*work.encoded, work.links)
    table = score_phrases(counts, lexical, smoothing="kneser_ney").select(counts.count_B >= 2)
    assert np.array_equal(smoothed.table.scores_B4, table.scores_B4)
    assert not np.array_equal(work.table.scores_B4, table.scores_B4)


# A task for a few sentence pairs.
SMALL_PARTS = """
import sys
from xlate.cli.main import main
from xlate.work import align_parts, corpus_parts, text_stages
text_stages.PART = 5
align_parts.PART = corpus_parts.PART = 10
sys.exit(main())
"""


def begun(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """A command that prepares a corpus."""
    size = [f"data.generated.{key}" for key in ("seed=1", "train=150", "dev=20", "test=5")]
    command = [sys.executable, "-c", SMALL_PARTS, "prepare", "data=demo", "align=fast_align", "work=work", *size, *more]
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)


STEPS = ["corpus-parts/tokens/train", "align-parts", "phrase-parts"]


def began(process: subprocess.Popen[bytes], folder: Path, step: str = "phrase-parts") -> None:
    """Waits until the command has made a part; folders with a dot are not finished."""
    while not list(folder.glob(f"work/{step}/[!.]*/stage.json")):
        assert process.poll() is None, (folder / "log.txt").read_text()
        time.sleep(0.01)


def check_same(folder: Path) -> None:
    assert sums(folder / "work") == sums(prepared(folder / "expected", 1).path)
    assert not list(folder.glob("work/**/.*"))
    assert not list(folder.glob("work/*-parts"))


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("victim", ["worker", "task"])
def test_a_killed_worker_changes_nothing(tmp_path: Path, victim: str, step: str) -> None:
    psutil = pytest.importorskip("psutil")
    with dask() as cluster:
        process = begun(tmp_path, "cluster=dask", f"cluster.address={cluster.scheduler_address}")
        began(process, tmp_path, step)
        worker = psutil.Process(cluster.workers[0].pid)
        while victim == "task" and not worker.children():
            time.sleep(0.01)
        (worker.children()[0] if victim == "task" else worker).kill()
        assert process.wait() == 0, (tmp_path / "log.txt").read_text()
    if victim == "task":
        assert "a task begins again" in (tmp_path / "log.txt").read_text()
    check_same(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_ends_early_continues(tmp_path: Path, number: int, step: str) -> None:
    process = begun(tmp_path, *BOX)
    began(process, tmp_path, step)
    process.send_signal(number)
    assert process.wait() != 0
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob(f"work/{step}/[!.]*/stage.json")}
    assert kept
    again = begun(tmp_path, *BOX)
    began(again, tmp_path, step)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert again.wait() == 0, (tmp_path / "log.txt").read_text()
    check_same(tmp_path)


@pytest.mark.slow
def test_a_worker_that_cannot_write_ends_the_command_which_then_continues(tmp_path: Path) -> None:
    prepared(tmp_path / "work", 1, "stages=[]")

    def full(number: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    with dask(1) as cluster:
        client = cluster.get_client()
        # Writing fails as on a full disk.
        client.run(full, 1000)
        assert begun(tmp_path, "cluster=dask", f"cluster.address={cluster.scheduler_address}").wait() == 2
        told = (tmp_path / "log.txt").read_text()
        assert "a task failed repeatedly" in told
        assert not list(tmp_path.glob("work/phrase-parts/*/stage.json"))
        client.run(full, resource.RLIM_INFINITY)
        assert begun(tmp_path, "cluster=dask", f"cluster.address={cluster.scheduler_address}").wait() == 0
    check_same(tmp_path)
