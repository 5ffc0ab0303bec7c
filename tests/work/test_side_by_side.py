"""Parts of a preparation side by side."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.work import side_by_side as beside
from xlate.work.side_by_side import side_by_side


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_results_come_in_order_from_as_many_processes_as_there_are_cores(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "cores", lambda: cores)
    found = side_by_side([lambda n=n: (n, os.getpid()) for n in range(4)])  # type: ignore[misc]
    assert [number for number, _ in found] == [0, 1, 2, 3]
    processes = {process for _, process in found}
    assert len(processes) <= min(cores, 4)
    assert (os.getpid() in processes) == (cores == 1)


@pytest.mark.parametrize("failing", [0, 1])
def test_what_a_part_raises_is_raised(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "cores", lambda: 2)

    def part(number: int) -> int:
        if number == failing:
            raise InputError("bad", file="f", line=number)
        return number

    with pytest.raises(InputError, match=f"f:{failing}: bad"):
        side_by_side([lambda: part(0), lambda: part(1)])


def test_when_one_part_fails_the_others_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "cores", lambda: 2)

    def fails() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    def lasts() -> None:
        (tmp_path / "begun").touch()
        time.sleep(600)

    with pytest.raises(KeyboardInterrupt):
        side_by_side([fails, lasts])


def test_there_is_at_least_one_core() -> None:
    assert beside.cores() >= 1
