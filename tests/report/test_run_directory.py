"""The folder of a run, its records, and the versions it ran with."""

from __future__ import annotations

import json
import logging
import math
import platform
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xlate
from xlate.errors import InputError
from xlate.report.run_directory import ABSENT, Records, RunDirectory, differing_keys, flat, git_commit, identity_hash

IDENTITY = {"work": "work/demo", "loss": {"name": "local_softmax", "eta": 0.01}, "model": {"floats": ["unigram"]}}


def test_a_new_folder_holds_all_that_repeats_the_run(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "runs" / "a", "loss: {}\n", IDENTITY)
    assert (run.path / "config.yaml").read_text() == "loss: {}\n"
    # A run that was killed while it was made is completed.
    for name in ("config.yaml", "versions.json"):
        (run.path / name).unlink()
    RunDirectory.create(run.path, "loss: {}\n", IDENTITY)
    assert (run.path / "config.yaml").read_text() == "loss: {}\n"
    versions = json.loads((run.path / "versions.json").read_text())
    assert versions["xlate"] == xlate.__version__
    assert versions["python"] == platform.python_version()
    assert versions["torch"]
    assert RunDirectory.open(run.path).identity == IDENTITY
    assert run.summary is None
    assert not run.finished


def test_the_same_run_goes_on(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "first", {**IDENTITY, "checkpoint_seconds": 20, "debug": False})
    run.records.append("train/loss", 1.0, 10)
    again = RunDirectory.create(tmp_path, "second", {**IDENTITY, "checkpoint_seconds": 5, "debug": True})
    assert again.records.read() == [{"tag": "train/loss", "value": 1.0, "step": 10}]
    assert (tmp_path / "config.yaml").read_text() == "first"


def test_an_attempt_that_learned_nothing_makes_room(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "failed", IDENTITY)
    assert run.checkpoint == tmp_path / "checkpoint"
    assert run.checkpoint.is_dir()
    (tmp_path / "events.out.tfevents.1").write_bytes(b"head")
    (tmp_path / "train.log").write_text("")
    (tmp_path / "metrics.jsonl").write_text("")
    mended = {**IDENTITY, "data": "mended"}
    assert RunDirectory.create(tmp_path, "mended", mended).identity == mended
    assert (tmp_path / "config.yaml").read_text() == "mended"
    assert {entry.name for entry in tmp_path.iterdir()} == {"config.yaml", "run.json", "train.log", "versions.json"}


@pytest.mark.parametrize("name", ["metrics.jsonl", "weights.safetensors", "checkpoint/latest.safetensors", "notes"])
def test_whatever_else_there_is_of_another_run_is_left_alone(tmp_path: Path, name: str) -> None:
    assert RunDirectory.create(tmp_path, "", IDENTITY).checkpoint.is_dir()
    # What is not of a run stays, even if it is empty.
    content = "" if name == "notes" else "{}"
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="another run"):
        RunDirectory.create(tmp_path, "", {**IDENTITY, "data": "mended"})
    assert (tmp_path / name).read_text() == content
    assert RunDirectory.open(tmp_path).identity == IDENTITY


def test_another_run_is_refused_and_the_keys_are_named(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path, "", IDENTITY).records.append("train/loss", 1.0, 10)
    other = {"work": "work/demo", "loss": {"name": "local_softmax", "eta": 0.1, "decay": 1}, "model": IDENTITY["model"]}
    with pytest.raises(InputError) as caught:
        RunDirectory.create(tmp_path, "", other)
    message = str(caught.value)
    assert "loss.eta: 0.01 there, 0.1 requested; loss.decay: nothing there, 1 requested" in message
    assert "model" not in message
    assert "remedy" in message


def test_foreign_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match=r"(?s)something other than a run.*thesis\.tex"):
        RunDirectory.create(tmp_path, "", IDENTITY)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="a run needs a folder"):
        RunDirectory.create(tmp_path / "thesis.tex", "", IDENTITY)
    # What a sweep leaves is no hindrance.
    (tmp_path / "thesis.tex").unlink()
    for name in ("train.log", "multirun.yaml", ".hydra"):
        (tmp_path / name).write_text("")
    RunDirectory.create(tmp_path, "", IDENTITY)


def test_the_summary_closes_the_run(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "", IDENTITY)
    run.write_summary({"finished": True, "dev_bleu": 31.5})
    assert RunDirectory.open(tmp_path).summary == {"finished": True, "dev_bleu": 31.5}
    assert run.finished
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        _ = run.summary
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="no identity"):
        RunDirectory.open(tmp_path)


def test_other_versions_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    RunDirectory.create(tmp_path, "", IDENTITY)
    held = json.loads((tmp_path / "versions.json").read_text())
    (tmp_path / "versions.json").write_text(json.dumps({**held, "torch": "1.0"}))
    with caplog.at_level(logging.WARNING):
        RunDirectory.create(tmp_path, "", IDENTITY)
    assert "another torch" in caplog.text
    assert "was 1.0" in caplog.text


SCALAR = st.tuples(st.text(max_size=5), st.floats(), st.integers(0, 99))


@settings(max_examples=30)
@given(scalars=st.lists(SCALAR, min_size=1, max_size=4), data=st.data())
def test_cut_anywhere_whole_lines_remain(
    tmp_path_factory: pytest.TempPathFactory, scalars: list[tuple[str, float, int]], data: st.DataObject
) -> None:
    records = Records(tmp_path_factory.mktemp("records") / "metrics.jsonl")
    ends = [0]
    for scalar in scalars:
        records.append(*scalar)
        ends.append(records.path.stat().st_size)
    size = data.draw(st.integers(0, ends[-1]))
    with records.path.open("r+b") as stream:
        stream.truncate(size)
    whole = sum(end <= size for end in ends[1:])
    lines = [{"tag": tag, "value": v if math.isfinite(v) else None, "step": step} for tag, v, step in scalars[:whole]]
    assert records.read() == lines
    records.repair()
    assert records.path.stat().st_size == ends[whole]
    records.append("behind", 1.0, 1)
    assert records.read() == [*lines, {"tag": "behind", "value": 1.0, "step": 1}]


def test_curves_by_tag_later_values_win(tmp_path: Path) -> None:
    records = Records(tmp_path / "m")
    for tag, value, step in (("a", 1.0, 5), ("b", 2.0, 5), ("a", 0.5, 3), ("a", 4.0, 5), ("a", math.inf, 9)):
        records.append(tag, value, step)
    curves = records.curves()
    assert curves["b"] == [(5, 2.0)]
    assert curves["a"][:2] == [(3, 0.5), (5, 4.0)]
    assert math.isnan(curves["a"][2][1])


@pytest.mark.parametrize(
    "line",
    ['{"tag": "x"}', '{"tag": 1, "value": 1, "step": 1}', '{"tag": "x", "value": "1", "step": 1}', "[" * 10_000]
    + ['{"tag": "x", "value": 1, "step": 1.5}', '{"tag": "x", "value": [1], "step": 1}', "{oops}", "17", '{"n": 1}'],
)
def test_a_damaged_line_is_refused_and_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"tag": "x", "value": null, "step": 1}\n' + line + "\n")
    with pytest.raises(InputError, match=r"metrics\.jsonl:2: a damaged record"):
        Records(path).curves()


def test_the_commit_and_whether_files_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    (tmp_path / ".git").mkdir()
    assert git_commit(tmp_path) == {}
    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "HEAD")
    (tmp_path / "other").write_text("untracked")
    assert git_commit(tmp_path) == {"git_commit": commit, "git_changed": False}
    (tmp_path / "file").write_text("two")
    assert git_commit(tmp_path)["git_changed"] is True


def test_order_and_volatile_keys_do_not_matter() -> None:
    first = identity_hash({"a": 1, "b": {"c": (1, 2)}, "run": "x", "checkpoint_seconds": 3})
    assert first == identity_hash({"b": {"c": [1, 2]}, "a": 1, "run": "y"})
    assert first != identity_hash({"b": {"c": [2, 1]}, "a": 1})
    assert first != identity_hash({"b": {"c": [1, 2], "run": 1}, "a": 1})


def test_nested_settings_are_dotted_and_differ_on_either_side() -> None:
    assert flat({"a": {"b": {"c": 1}, "d": []}, "e": None, "f": {}}) == {"a.b.c": 1, "a.d": [], "e": None, "f": {}}
    found = differing_keys({"a": 1, "b": {"c": 2}, "d": 0}, {"b": {"c": 3}, "d": 0, "e": 4})
    assert found == [("a", 1, ABSENT), ("b.c", 2, 3), ("e", ABSENT, 4)]
