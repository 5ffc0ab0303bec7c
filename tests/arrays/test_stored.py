"""Folders of arrays: what was written comes back, is looked through once, and is refused when it is not whole."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_arrays

from tests.arrays.forged import edited_header
from xlate.arrays import ranges, stored
from xlate.arrays.stored import StoredArrays, is_whole, npy_header, open_arrays, save_arrays
from xlate.errors import InputError

LAYOUT = {"rows_N": ("<i4", 1)}
PAIR = np.dtype([("key", "<u8"), ("next", "<i4")])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose checksums were computed."""
    seen: list[str] = []
    real = stored.values_sha256

    def counted(path: Path, offset: int) -> str:
        seen.append(path.name)
        return real(path, offset)

    monkeypatch.setattr(stored, "values_sha256", counted)
    return seen


def saved(folder: Path, *, rows: Sequence[int] = range(5), old: bool = True) -> Path:
    save_arrays(folder, "list of rows", {"rows_N": np.array(rows, np.int32)})
    for path in folder.iterdir() if old else ():
        os.utime(path, (1, 1))
    return folder


def opened(folder: Path) -> StoredArrays:
    return open_arrays(folder, "list of rows", LAYOUT, lambda held: ranges.check_within(held, "rows_N", 0, 5))


@settings(max_examples=30)
@given(any_arrays(st.sampled_from(["<i4", "<f8", "|u1"]), st.tuples(st.integers(0, 5), st.integers(0, 3))))
def test_arrays_come_back(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray) -> None:
    folder = tmp_path_factory.mktemp("a")
    save_arrays(folder, "k", {"x": array}, {"wörter": [1]})
    held = open_arrays(folder, "k", {"x": (array.dtype, 2)})
    for read in (held["x"], np.load(folder / "x.npy", allow_pickle=False)):
        np.testing.assert_array_equal(read, array, strict=True)
    assert held.metadata == {"wörter": [1]}
    assert not held["x"].flags.writeable
    assert type(held["x"]) is np.ndarray
    assert open_arrays(folder, "k", {"x": (array.dtype, 2)}, mapped=False)["x"].flags.writeable


def test_structured_and_transposed_arrays_come_back(tmp_path: Path) -> None:
    pairs = np.zeros(3, PAIR)
    pairs["next"] = [4, 5, 6]
    save_arrays(tmp_path, "k", {"pairs": pairs, "turned": np.arange(6.0).reshape(2, 3).T})
    held = open_arrays(tmp_path, "k", {"pairs": (PAIR, 1), "turned": ("<f8", 2)})
    assert held["pairs"].tolist() == pairs.tolist()
    assert held["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert len(npy_header(PAIR, [3])) == len(npy_header(PAIR, [10**18, 10**18]))


def test_what_changed_is_looked_through_again(tmp_path: Path, sums: list[str]) -> None:
    folder = saved(tmp_path / "f")
    opened(folder)
    path = folder / "rows_N.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    # The same size and time: the time of the change tells.
    os.utime(path, (1, 1))
    for _ in range(2):
        with pytest.raises(InputError, match=r"rows_N\.npy: damaged: its checksum differs"):
            opened(folder)
    assert len(sums) == 3


@pytest.mark.parametrize("home", ["a file", None])
def test_without_a_cache_folder_everything_is_looked_through_each_time(
    tmp_path: Path,
    sums: list[str],
    monkeypatch: pytest.MonkeyPatch,
    home: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = saved(tmp_path / "f")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    if home:
        (tmp_path / home).write_text("")
        monkeypatch.setenv("HOME", str(tmp_path / home))
    opened(folder)
    opened(folder)
    assert len(sums) == 2
    assert capsys.readouterr() == ("", "")


def test_a_folder_is_looked_through_once_unless_it_is_not_known(
    tmp_path: Path, cache: Path, sums: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def times_looked_through(folder: Path) -> int:
        before = len(sums)
        opened(folder)
        opened(folder)
        return len(sums) - before

    folder = saved(tmp_path / "f")
    assert times_looked_through(folder) == 1
    # The record is damaged.
    (record,) = (path for path in cache.rglob("*") if path.is_file())
    record.write_bytes(b"\xff")
    assert times_looked_through(folder) == 1
    # A copy elsewhere.
    assert times_looked_through(saved(tmp_path / "copy")) == 1
    # What was written just now may yet change.
    monkeypatch.setattr(stored, "RECENT_NS", 10**15)
    assert times_looked_through(saved(tmp_path / "new", old=False)) == 2


def test_whole_or_not(tmp_path: Path) -> None:
    folder = saved(tmp_path / "f")
    assert is_whole(folder)
    (folder / "rows_N.npy").write_bytes((folder / "rows_N.npy").read_bytes()[:-1] + b"x")
    assert not is_whole(folder)
    assert not is_whole(tmp_path / "nothing")
    np.save(tmp_path / "old.npy", np.zeros(3))
    assert not is_whole(tmp_path)
    with pytest.raises(InputError, match=r"(?s)earlier version, without checksums.*again"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"magic": "another"}, "not a list of rows"),
        ({"magic": "xlate-rows"}, "a list of rows of an earlier version"),
        ({"magic": None, "format": "xlate rows 2"}, "a list of rows of an earlier version"),
        ({"version": 1}, "a list of rows of a different version"),
        ({"kind": "table"}, "not a list of rows"),
    ],
)
def test_folders_of_another_kind_or_version_are_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    edited_header(saved(tmp_path / "f"), **changes)
    with pytest.raises(InputError, match=rf"header\.json: {message}"):
        opened(tmp_path / "f")


def test_a_folder_found_whole_has_its_ranges_checked_still(tmp_path: Path, sums: list[str]) -> None:
    folder = saved(tmp_path / "f")
    for _ in range(2):
        assert is_whole(folder)
    opened(folder)
    assert is_whole(folder)
    opened(folder)
    assert len(sums) == 2
    saved(folder, rows=[0, 5])
    assert is_whole(folder)
    for _ in range(2):
        with pytest.raises(InputError, match=r"(?s)rows_N\.npy.*5 at 1.*below 5"):
            opened(folder)


def test_a_reader_keeps_what_it_opened(tmp_path: Path) -> None:
    before = opened(saved(tmp_path))
    saved(tmp_path, rows=[0])
    assert before["rows_N"].tolist() == [0, 1, 2, 3, 4]


SIZES = {"rows_N": (3,), "offsets_N1": (4,), "pairs_N2": (3, 2), "table_NM": (3, 5), "ids": (9,), "more_M": (5,)}


def test_equal_letters_are_equal_sizes() -> None:
    def check(texts: str = "", **shapes: tuple[int, ...]) -> None:
        arrays = {name: np.zeros(shape) for name, shape in {**SIZES, **shapes}.items()}
        ranges.check_shapes(StoredArrays(Path(), arrays, {}), texts)

    check(ids=(7,))
    check("M", more_M=(6,))
    for name, shape in {"offsets_N1": (3,), "pairs_N2": (3, 3), "table_NM": (4, 5), "more_M": (6,)}.items():
        with pytest.raises(InputError, match=rf"(?s){name}\.npy: arrays that do not match.*{re.escape(str(shape))}"):
            check("", **{name: shape})


def test_pieces_see_what_lies_across_their_border(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "PIECE", 2)
    for offsets, falls in (([0, 1, 3, 3, 5], None), ([0, 3, 1, 4, 5], 1), ([0, 2, 4, 3, 5], 2)):
        save_arrays(tmp_path, "k", {"o": np.array(offsets)})
        held = open_arrays(tmp_path, "k", {"o": ("<i8", 1)})
        if falls is None:
            ranges.check_offsets(held, "o", 5)
        else:
            with pytest.raises(InputError, match=f"(?s)then .*, at {falls}.*never fall"):
                ranges.check_offsets(held, "o", 5)
