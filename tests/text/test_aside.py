"""What a killed process left aside is cleared; what belongs to the living, to others, or has another name is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xlate.text import lines
from xlate.text.lines import clear_left, done_aside, name_aside, write_lines


def left_by(process: int, folder: Path, name: str = "x", machine: str | None = None) -> Path:
    return folder / f".{name}.xlate-{machine or lines._machine()}-{process}-0123abcd.partial"


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_next_writer_clears_what_the_dead_left(tmp_path: Path, dead: int) -> None:
    left_by(dead, tmp_path).write_text("half")
    (left_by(dead, tmp_path, "a folder\n") / "inside").mkdir(parents=True)
    write_lines(tmp_path / "whole", [])
    clear_left(tmp_path / "absent")
    assert os.listdir(tmp_path) == ["whole"]


def test_what_is_not_exactly_ours_stays(tmp_path: Path, dead: int) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.txt").write_text("whole")
    left_by(dead, tmp_path, "link").symlink_to("theirs")
    left_by(os.getppid(), tmp_path).write_text("being written")
    left_by(dead, tmp_path, machine="00000000").write_text("on another machine")
    for name in (".x.1234.partial", ".x.xlate-1-2-3.partial", f"x{left_by(dead, tmp_path).name}"):
        (tmp_path / name).write_text("another form")
    (tmp_path / f"{left_by(dead, tmp_path).name}.txt").write_text("another form")
    before = sorted(tmp_path.rglob("*"))
    clear_left(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_earlier_process_of_our_number_is_dead(tmp_path: Path) -> None:
    ours, theirs = name_aside(tmp_path / "x"), left_by(os.getpid(), tmp_path)
    ours.write_text("in use")
    theirs.write_text("left")
    clear_left(tmp_path)
    assert list(tmp_path.iterdir()) == [ours]
    done_aside(ours)
    clear_left(tmp_path)
    assert list(tmp_path.iterdir()) == []
