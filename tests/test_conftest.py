"""The check that the suite changes nothing outside its own folders would see it."""

from __future__ import annotations

import os
import stat
from itertools import pairwise
from pathlib import Path

import pytest

from tests import conftest
from tests.conftest import described, state_outside


def test_a_device_that_became_a_file_is_seen(tmp_path: Path) -> None:
    node = tmp_path / "null"
    try:
        os.mknod(node, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no device can be made here")
    before = described(node)
    assert described(node) == before
    node.unlink()
    assert described(node) != before
    node.touch()
    assert described(node) != before


def test_what_comes_goes_or_changes_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "repository"
    for folder in ("tests", "runs", "conf/loss"):
        (root / folder).mkdir(parents=True)
    (root / "conf" / "loss" / "hinge.yaml").write_text("a: 1\n")
    monkeypatch.setattr(conftest, "__file__", str(root / "tests" / "conftest.py"))
    monkeypatch.setenv("HOME", str(tmp_path))
    seen = [state_outside()]
    (root / "runs" / "x").mkdir()
    seen.append(state_outside())
    (root / "conf" / "loss" / "hinge.yaml").write_text("a: 11\n")
    seen.append(state_outside())
    (tmp_path / "new").touch()
    seen.append(state_outside())
    for before, after in pairwise(seen):
        assert len([place for place in before if before[place] != after[place]]) == 1
    (tmp_path / ".cache").mkdir()
    assert state_outside() == seen[-1]
