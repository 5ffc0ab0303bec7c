"""Sides and references must be as long as one another; what cannot be trained on is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.lines import drop_unusable, read_parallel, read_references, write_lines

SIDE = st.lists(st.lists(st.just("w"), max_size=5), min_size=8, max_size=8)


def test_two_sides(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.de", ["eins\rzwei", "", "drei"])
    write_lines(tmp_path / "a.en.gz", ["one", "two\u2028", ""])
    source, target = read_parallel(tmp_path / "a.de", tmp_path / "a.en.gz")
    assert source == ["eins\rzwei", "", "drei"]
    assert target == ["one", "two\u2028", ""]


@pytest.mark.parametrize(("left", "right"), [(2, 3), (3, 2), (0, 1)])
def test_unequal_sides_name_both_files_and_counts(tmp_path: Path, left: int, right: int) -> None:
    write_lines(tmp_path / "a.de", ["x"] * left)
    write_lines(tmp_path / "a.en", ["x"] * right)
    with pytest.raises(InputError, match="sides of unequal length") as caught:
        read_parallel(tmp_path / "a.de", tmp_path / "a.en")
    assert str(caught.value.seen) == f"{left} lines in {tmp_path / 'a.de'}, {right} in {tmp_path / 'a.en'}"
    assert caught.value.line == min(left, right) + 1


def test_references(tmp_path: Path) -> None:
    paths = [tmp_path / f"ref{number}" for number in range(3)]
    for number, path in enumerate(paths):
        write_lines(path, [f"{number}", "", "x"])
    assert read_references(paths, 3) == [["0", "", "x"], ["1", "", "x"], ["2", "", "x"]]
    assert read_references([], 3) == []


@pytest.mark.parametrize("lines", [2, 4])
def test_a_reference_of_another_length(tmp_path: Path, lines: int) -> None:
    write_lines(tmp_path / "good", ["x"] * 3)
    write_lines(tmp_path / "bad", ["x"] * lines)
    with pytest.raises(InputError, match="a reference of another length") as caught:
        read_references([tmp_path / "good", tmp_path / "bad"], 3)
    assert caught.value.file == str(tmp_path / "bad")
    assert caught.value.seen == f"{lines} lines"
    assert caught.value.line == min(lines, 3) + 1
    assert "3 lines" in str(caught.value.expected)


@settings(deadline=None)
@given(SIDE, SIDE, st.integers(1, 5))
def test_dropped_and_kept_make_up_all(source: list[list[str]], target: list[list[str]], limit: int) -> None:
    kept, dropped = drop_unusable(source, target, max_words=limit)
    usable = [0 < len(s) <= limit and 0 < len(t) <= limit for s, t in zip(source, target, strict=True)]
    empty = sum(not s or not t for s, t in zip(source, target, strict=True))
    assert kept == [number for number, good in enumerate(usable) if good]
    assert dropped == {"an empty side": empty, f"more than {limit} words": 8 - len(kept) - empty}


def test_sides_of_unequal_length_are_not_cut() -> None:
    with pytest.raises(ValueError, match="shorter"):
        drop_unusable([["a"], ["b"]], [["a"]], max_words=5)
