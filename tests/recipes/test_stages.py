"""Stages are skipped when nothing changed, redone when something did, and never left half-made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xlate.errors import InputError
from xlate.recipes.stages import discard_stage, file_hash, identity_of, read_stage, run_stage


def writes(text: str, calls: list[str]) -> Any:
    def build(folder: Path) -> dict[str, Any]:
        calls.append(text)
        (folder / "out.txt").write_text(text)
        return {"size": len(text)}

    return build


def test_an_unchanged_stage_is_not_run_again(tmp_path: Path) -> None:
    calls: list[str] = []
    first = run_stage(tmp_path, "one", {"a": 1}, writes("x", calls))
    again = run_stage(tmp_path, "one", {"a": 1}, writes("y", calls))
    assert calls == ["x"]
    assert (first.identity, first.figures) == (again.identity, again.figures)
    assert read_stage(tmp_path, "one").figures == {"size": 1}


def test_a_changed_stage_is_replaced(tmp_path: Path) -> None:
    calls: list[str] = []
    run_stage(tmp_path, "one", {"a": 1}, writes("x", calls))
    run_stage(tmp_path, "one", {"a": 2}, writes("yy", calls))
    assert calls == ["x", "yy"]
    assert (tmp_path / "one" / "out.txt").read_text() == "yy"


def test_a_stage_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    run_stage(tmp_path, "one", {"a": 1}, writes("x", []))

    def fails(folder: Path) -> dict[str, Any]:
        (folder / "half").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run_stage(tmp_path, "one", {"a": 2}, fails)
    assert [p.name for p in tmp_path.iterdir()] == ["one"]
    assert (tmp_path / "one" / "out.txt").read_text() == "x"


def test_a_damaged_marker_means_not_finished(tmp_path: Path) -> None:
    run_stage(tmp_path, "one", {"a": 1}, writes("x", []))
    (tmp_path / "one" / "stage.json").write_text('{"identity": ')
    with pytest.raises(InputError, match=r"(?s)not a prepared work directory.*'one'.*xlate prepare"):
        read_stage(tmp_path, "one")
    calls: list[str] = []
    run_stage(tmp_path, "one", {"a": 1}, writes("z", calls))
    assert calls == ["z"]


def test_identity_ignores_key_order_but_not_values() -> None:
    assert identity_of({"a": 1, "b": 2}) == identity_of(json.loads('{"b": 2, "a": 1}'))
    assert identity_of({"a": 1}) != identity_of({"a": 2})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.txt: cannot be read"):
        file_hash(tmp_path / "gone.txt")


def test_a_stage_half_removed_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    stage = run_stage(tmp_path, "one", {"a": 1}, writes("x", calls))
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    discard_stage(stage.folder)
    monkeypatch.undo()
    assert (stage.folder / "out.txt").exists()
    run_stage(tmp_path, "one", {"a": 1}, writes("x", calls))
    assert calls == ["x", "x"]
    discard_stage(stage.folder)
    assert not stage.folder.exists()
