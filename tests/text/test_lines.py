"""Lines are read strictly, split at LF only, and files appear whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.lines import atomic_write, count_lines, iterate_lines, read_lines, write_lines

# What other readers take for a line end, and what a careless reader strips.
ODD = ["\r", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\xa0", "\ufeff", "\u200b", " ", "\t", "\x00"]
LINES = st.lists(st.lists(st.one_of(st.sampled_from(ODD), st.characters(codec="utf-8"))).map("".join), max_size=8).map(
    lambda lines: [line.replace("\n", "") for line in lines]
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1, max_size=60)


@settings(deadline=None)
@given(lines=LINES, name=NAMES, packed=st.booleans())
def test_what_is_written_is_read(lines: list[str], name: str, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (f"x{name}.gz" if packed else f"x{name}.txt")
        write_lines(path, lines)
        assert read_lines(path) == list(iterate_lines(path)) == lines
        assert count_lines(path) == len(lines)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") == packed
        assert os.listdir(folder) == [path.name]


def test_only_lf_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    path.write_bytes("one\rstill one\r\ntwo\u2028\u2029\x85\x0b\x0ctwo\n\n\xa0four\xa0\nno end".encode())
    expected = ["one\rstill one\r", "two\u2028\u2029\x85\x0b\x0ctwo", "", "\xa0four\xa0", "no end"]
    assert read_lines(path) == expected
    assert count_lines(path) == 5


def test_gzip_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "no-suffix"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert read_lines(path) == ["one", "two"]


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("one.gz", "another.gz"):
        write_lines(tmp_path / name, ["a", "b"])
    packed = (tmp_path / "one.gz").read_bytes()
    assert packed == (tmp_path / "another.gz").read_bytes()
    assert packed[4:8] == bytes(4), "the time stamp"


@pytest.mark.parametrize("kept", [2, 5, 30, -9, -1])
def test_truncated_gzip(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(os.urandom(300).hex().encode() + b"\nlast\n")[:kept])
    with pytest.raises(InputError, match="truncated or damaged gzip file") as caught:
        read_lines(path)
    assert caught.value.file == str(path)


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(os.urandom(300).hex().encode() + b"\n"))
    whole[-6] ^= 1
    path = tmp_path / "damaged.gz"
    path.write_bytes(whole)
    with pytest.raises(InputError, match="truncated or damaged gzip file"):
        read_lines(path)


@pytest.mark.parametrize("data", [b"just text\n", b"\x1f", b""])
def test_gzip_name_without_gzip_data(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "plain.gz"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"plain\.gz: not a gzip file"):
        read_lines(path)


@pytest.mark.parametrize("packed", [False, True])
def test_not_utf8_names_the_line(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "latin.txt"
    data = "fünf\n".encode() * 6 + "fünf\n".encode("latin-1") + b"later\n"
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(InputError, match="not UTF-8") as caught:
        read_lines(path)
    assert (caught.value.line, caught.value.file) == (7, str(path))
    assert "iconv" in str(caught.value)


@pytest.mark.parametrize("what", ["missing", "folder"])
def test_missing_file(tmp_path: Path, what: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_lines(tmp_path / what)
    assert caught.value.file == str(tmp_path / what)


@pytest.mark.parametrize("name", ["new.txt", "new.gz"])
@pytest.mark.parametrize("old", [None, b"older content"])
def test_a_line_end_inside_a_line_is_refused(tmp_path: Path, name: str, old: bytes | None) -> None:
    _given_old(tmp_path / name, old)
    with pytest.raises(InputError, match="a line end inside a line") as caught:
        write_lines(tmp_path / name, ["one", "two\nthree"])
    assert caught.value.line == 2
    _only_old_left(tmp_path / name, old)


@pytest.mark.parametrize("name", ["new.txt", "new.gz"])
@pytest.mark.parametrize("old", [None, b"older content"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt(), RuntimeError("any")])
def test_an_error_while_writing_leaves_nothing(
    tmp_path: Path, name: str, old: bytes | None, error: BaseException
) -> None:
    _given_old(tmp_path / name, old)
    with pytest.raises(type(error)), atomic_write(tmp_path / name) as stream:  # noqa: PT012
        stream.write(b"half of it")
        raise error
    _only_old_left(tmp_path / name, old)


@pytest.mark.parametrize("name", ["new.txt", "new.gz"])
@pytest.mark.parametrize("old", [None, b"older content"])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, old: bytes | None, call: str
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    _given_old(tmp_path / name, old)
    monkeypatch.setattr(os, call, no_space)
    with pytest.raises(OSError, match="no space left"):
        write_lines(tmp_path / name, ["one", "two"])
    _only_old_left(tmp_path / name, old)


def test_nothing_appears_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "made" / "new.txt"
    with atomic_write(path) as stream:
        stream.write(b"text")
        assert not path.exists()
    assert path.read_bytes() == b"text"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_name_as_long_as_a_file_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    write_lines(path, ["one"])
    assert read_lines(path) == ["one"]


def _given_old(path: Path, old: bytes | None) -> None:
    if old is not None:
        path.write_bytes(old)


def _only_old_left(path: Path, old: bytes | None) -> None:
    assert [entry.name for entry in path.parent.iterdir()] == ([] if old is None else [path.name])
    if old is not None:
        assert path.read_bytes() == old
