"""Stages are skipped when nothing changed, redone when something did, and never left half-made."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xlate.arrays.stored import open_arrays, save_arrays
from xlate.cluster import BoxConfig, ClusterConfig
from xlate.errors import InputError
from xlate.work import stages
from xlate.work.stages import identity_of, read_stage, run_stage


def writes(text: str, calls: list[str]) -> Any:
    def build(folder: Path) -> dict[str, Any]:
        calls.append(text)
        (folder / "out.txt").write_text(text)
        return {"size": len(text)}

    return build


def made(work: Path, text: str = "x", number: int = 1) -> bool:
    """Whether a stage that is made from a number was made, by writing a text."""
    calls: list[str] = []
    run_stage(work, "one", {"a": number}, writes(text, calls))
    return bool(calls)


def test_an_unchanged_stage_is_not_run_again_and_a_changed_one_is_replaced(tmp_path: Path) -> None:
    first, again = (run_stage(tmp_path, "one", {"a": 1}, writes(text, [])) for text in "xy")
    assert first.identity == again.identity
    assert first.figures == again.figures == {"size": 1}
    assert (tmp_path / "one" / "out.txt").read_text() == "x"
    assert made(tmp_path, "yy", 2)
    assert (tmp_path / "one" / "out.txt").read_text() == "yy"


def test_what_is_said_of_stages(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for name in ("one", "candidates/c173ab812c8b", "without/cebe408d4213/0/counts", "phrase/hier", "one"):
        run_stage(tmp_path, name, {"a": 1}, writes("x", []))
    assert [message.split()[0] for message in caplog.messages] == ["one", "candidates", "phrase/hier", "one"]


def test_a_stage_that_another_process_made_meanwhile_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    awaited = stages.awaited

    def after_the_other(folder: Path) -> AbstractContextManager[None]:
        monkeypatch.setattr(stages, "awaited", awaited)
        assert made(tmp_path, "other")
        return awaited(folder)

    monkeypatch.setattr(stages, "awaited", after_the_other)
    assert not made(tmp_path, "ours")
    assert (tmp_path / "one" / "out.txt").read_text() == "other"


def test_a_stage_of_another_layout_is_made_again(tmp_path: Path) -> None:
    made(tmp_path)
    marker = tmp_path / "one" / "stage.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "layout": stages.LAYOUT - 1}))
    assert made(tmp_path)
    assert not made(tmp_path)


def test_another_stage_in_its_place_is_not_replaced(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "one").rename(tmp_path / "two")
    with pytest.raises(InputError, match="something other than the stage two"):
        run_stage(tmp_path, "two", {"a": 2}, writes("z", []))
    assert (tmp_path / "two" / "out.txt").read_text() == "x"


def test_a_stage_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    made(tmp_path)

    def fails(folder: Path) -> dict[str, Any]:
        (folder / "half").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run_stage(tmp_path, "one", {"a": 2}, fails)
    assert [p.name for p in tmp_path.iterdir()] == ["one"]
    assert (tmp_path / "one" / "out.txt").read_text() == "x"


def test_a_damaged_marker_means_not_finished(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "one" / "stage.json").write_text('{"identity": ')
    with pytest.raises(InputError, match=r"(?s)one/stage\.json: damaged.*xlate prepare"):
        read_stage(tmp_path, "one")
    with pytest.raises(InputError, match=r"(?s)not a prepared work directory.*'two'.*xlate prepare"):
        read_stage(tmp_path, "two")
    assert made(tmp_path)


def test_identity_ignores_key_order() -> None:
    assert identity_of({"a": 1, "b": 2}) == identity_of({"b": 2, "a": 1})


@pytest.mark.parametrize("text", ["[]", "\xff", '{"layout": 2, "identity": 1, "figures": {}, "seconds": 1}'])
def test_a_marker_that_is_not_ours_is_refused_and_nothing_removed(tmp_path: Path, text: str) -> None:
    made(tmp_path)
    (tmp_path / "one" / "stage.json").write_text(text, encoding="latin-1")
    before = sorted(path.name for path in (tmp_path / "one").iterdir())
    with pytest.raises(InputError, match=r"stage\.json: damaged"):
        read_stage(tmp_path, "one")
    with pytest.raises(InputError, match="something other than the stage one"):
        made(tmp_path, "z")
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == before
    assert (tmp_path / "one" / "out.txt").read_text() == "x"


def flip(folder: Path) -> None:
    (folder / "x.npy").write_bytes((folder / "x.npy").read_bytes()[:-1] + b"x")


def make_older(folder: Path) -> None:
    (folder / "header.json").write_text('{"format": "xlate phrase table 1"}')


@pytest.mark.parametrize("damage", [flip, shutil.rmtree, make_older])
def test_a_stage_whose_arrays_are_damaged_is_made_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    calls: list[str] = []

    def build(folder: Path) -> dict[str, Any]:
        calls.append("x")
        save_arrays(folder / "deep" / "table", "table", {"x": np.arange(9)})
        return {}

    folder = tmp_path / "one" / "deep" / "table"
    for wanted in (1, 2):
        for _ in range(2):
            run_stage(tmp_path, "one", {"a": 1}, build)
        assert len(calls) == wanted
        assert open_arrays(folder, "table", {"x": ("<i8", 1)})["x"].tolist() == list(range(9))
        damage(folder)


@pytest.mark.parametrize("cores", [1, 2])
def test_results_come_in_order_from_as_many_processes_as_there_are_cores(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "cores", lambda: cores)
    found = stages.side_by_side([lambda n=n: (n, os.getpid()) for n in range(4)])  # type: ignore[misc]
    assert [number for number, _ in found] == [0, 1, 2, 3]
    processes = {process for _, process in found}
    assert len(processes) <= cores
    assert (os.getpid() in processes) == (cores == 1)


def test_when_one_part_fails_the_others_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "cores", lambda: 2)

    def fails() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    def lasts() -> None:
        (tmp_path / "begun").touch()
        time.sleep(600)

    with pytest.raises(KeyboardInterrupt):
        stages.side_by_side([fails, lasts])


def write_number(_: Path, made_from: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "number").write_text(str(made_from["number"]))
    return {}


@pytest.mark.parametrize("cluster", [ClusterConfig(), BoxConfig(workers=2)])
def test_only_parts_that_are_not_finished_are_made(
    cluster: ClusterConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = {f"parts/{number}": {"number": number} for number in range(3)}
    stages.make_parts(tmp_path, ClusterConfig(), write_number, {"parts/1": {"number": 1}}, "numbers")
    before = (tmp_path / "parts/1/stage.json").stat().st_mtime_ns
    for _ in range(2):
        stages.make_parts(tmp_path, cluster, write_number, parts, "numbers")
        assert [(tmp_path / name / "number").read_text() for name in parts] == ["0", "1", "2"]
    assert (tmp_path / "parts/1/stage.json").stat().st_mtime_ns == before
    # One that was made of something else is made again.
    stages.make_parts(tmp_path, ClusterConfig(), write_number, {"parts/1": {"number": 7}}, "numbers")
    assert (tmp_path / "parts/1/number").read_text() == "7"
