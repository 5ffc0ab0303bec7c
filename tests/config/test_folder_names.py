"""Names of folders from settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.config.choices import folder_name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "loss=pro,seed=1",
        "base=..",
        "base=a+b",
        "data.pair=a-b,loss.eta=1e-3",
        "experiment=tillmann2007/table4-row1",
        "experiment=tillmann2007/table4-row1,seed=1",
        "a=1,experiment=tillmann2007/table4-row1,seed=1",
    ],
)
def test_names_without_separators_and_of_experiments_stay(name: str) -> None:
    assert folder_name(name) == name


@pytest.mark.parametrize(
    "name", ["base=../x", "base=/x", "experiment=../x", "experiment=a/../../b", "experiment=a//b", "k=experiment=a/b"]
)
def test_separators_are_replaced(name: str) -> None:
    assert "/" not in folder_name(name)
    assert folder_name(name).startswith(name.replace("/", "+"))


@given(st.text("ab./+,=~é", max_size=12), st.text("ab./+,=~é", max_size=12))
def test_other_settings_have_other_folders(one: str, other: str) -> None:
    assert (folder_name(one) == folder_name(other)) == (one == other)
    assert not Path(folder_name(f"base={one}")).is_absolute()
    assert ".." not in Path(folder_name(f"base={one}")).parts


def test_long_names_are_shortened_and_told_apart() -> None:
    names = [folder_name("x=" + "é" * length) for length in (300, 301)]
    assert names[0] != names[1]
    assert all(len(name.encode()) < 256 for name in names)
