"""Lines are read strictly, split at LF only, and files appear whole or not at all."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import os
import stat
import tempfile
import threading
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text import opening
from xlate.text.lines import (
    LONGEST_LINE,
    _descriptor,
    atomic_write,
    check_sides,
    count_lines,
    drop_unusable,
    iterate_lines,
    read_lines,
    read_references,
    write_lines,
)

# What other readers take for a line end, and what a careless reader strips.
ODD = ["\r", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\xa0", "\ufeff", "\u200b", " ", "\t", "\x00"]
LINES = st.lists(st.lists(st.one_of(st.sampled_from(ODD), st.characters(codec="utf-8"))).map("".join), max_size=8).map(
    lambda lines: [line.replace("\n", "") for line in lines]
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1, max_size=60)


@settings(max_examples=30)
@given(lines=LINES, name=NAMES, packed=st.booleans())
def test_what_is_written_is_read(lines: list[str], name: str, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (f"x{name}.gz" if packed else f"x{name}.txt")
        write_lines(path, lines)
        assert read_lines(path) == list(iterate_lines(path)) == lines
        assert count_lines(path) == len(lines)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") == packed
        assert os.listdir(folder) == [path.name]


PACKED = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
with contextlib.suppress(ModuleNotFoundError):
    zstd = import_module(opening.ZSTD)
    PACKED[".zst"] = partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: 1})


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_text_is_told_by_content(tmp_path: Path, suffix: str) -> None:
    for path in (tmp_path / "text", tmp_path / f"text{suffix}"):
        path.write_bytes(PACKED[suffix]("één\n".encode()) + PACKED[suffix](b"two\n"))
        assert read_lines(path) == ["één", "two"]
    path.write_bytes(PACKED[suffix](b""))
    assert read_lines(path) == []


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_text_comes_back_and_equal_text_gives_equal_bytes(tmp_path, suffix):
    lines = [f"line {n} é" for n in range(1000)]
    one, two = (tmp_path / f"{name}{suffix}" for name in ("one", "two"))
    for path in (one, two):
        write_lines(path, lines)
        assert read_lines(path) == lines
    assert one.read_bytes() == two.read_bytes()
    assert suffix != ".gz" or one.read_bytes()[4:8] == bytes(4), "the time stamp"
    assert one.stat().st_size < 5000


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("kept", [30, 0.5, -1, None])
def test_damage_of_packed_text_is_named(tmp_path, suffix, kept):
    whole = bytearray(PACKED[suffix](os.urandom(3000).hex().encode() + b"\n"))
    if kept is None:
        whole[len(whole) // 2] ^= 255
    path = tmp_path / f"text{suffix}"
    path.write_bytes(whole[: len(whole) // 2 if kept == 0.5 else kept])
    with pytest.raises(InputError, match=rf"{path}:1: truncated or damaged (gzip|xz|bzip2|zstd) file"):
        read_lines(path)


def test_archives_are_named_with_what_unpacks_them(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"PK\x03\x04" + bytes(20))
    with pytest.raises(InputError, match=r"zip archive(?s:.*)unzip -p x"):
        read_lines(tmp_path / "x")


def test_text_that_begins_like_a_packed_file(tmp_path: Path) -> None:
    for line in ("BZh", "BZh9 is how bzip2 begins", "PK", "7z"):
        (tmp_path / "text").write_text(f"{line}\n")
        assert read_lines(tmp_path / "text") == [line]


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("data", [b"just text\n", b"\x1f", b""])
def test_a_name_without_its_packing(tmp_path, suffix, data):
    (tmp_path / f"text{suffix}").write_bytes(data)
    with pytest.raises(InputError, match=r"not an? (gzip|xz|bzip2|zstd) file"):
        read_lines(tmp_path / f"text{suffix}")


@pytest.mark.parametrize("name", ["long.txt", "long.txt.gz"])
def test_a_line_that_is_too_long_is_not_read_to_its_end(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    longest = ["short", "x" * LONGEST_LINE, ""]
    write_lines(path, longest)
    assert read_lines(path) == longest
    write_lines(path, [*longest, "x" * (LONGEST_LINE + 1), "y"])
    told = rf"{path}:4: a line that is too long\n.*beginning b'xxx.*\n  expected: at most 1,048,576 bytes"
    with pytest.raises(InputError, match=told):
        read_lines(path)
    assert list(iterate_lines(path, 2 * LONGEST_LINE))[-1] == "y"
    with pytest.raises(InputError, match="/dev/zero:1: a line that is too long"):
        read_lines("/dev/zero")


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "MOST_UNPACKED", 1 << 18)
    path = tmp_path / f"bomb{suffix}"
    with atomic_write(path) as stream:
        stream.write(b"a b\n" * (1 << 18))
    with pytest.raises(InputError, match=rf"{path}: .*unpacks to an implausible size(?s:.*)at most 262,144 bytes"):
        read_lines(path)
    text = [f"{number} {number * 7919 % 10007}" for number in range(40_000)]
    write_lines(path, text)
    assert read_lines(path) == text


def test_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("fünf\n".encode() * 6 + "fünf\n".encode("latin-1") + b"later\n")
    with pytest.raises(InputError, match=f"{path}:7: not UTF-8(?s:.*)iconv"):
        read_lines(path)


@pytest.mark.parametrize("name", ["new.txt", "new.gz"])
@pytest.mark.parametrize("old", [{}, {"new.txt": b"older content", "new.gz": b"as well"}])
def test_what_fails_leaves_what_was_there(tmp_path, monkeypatch, name, old):
    def no_space(*_):
        raise OSError(errno.ENOSPC, "no space left")

    def left():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    for older, content in old.items():
        (tmp_path / older).write_bytes(content)
    with pytest.raises(InputError, match=":2: a line end inside a line"):
        write_lines(tmp_path / name, ["one", "two\nthree"])
    assert left() == old
    for error in (OSError(errno.ENOSPC, "no space"), KeyboardInterrupt(), RuntimeError("any")):
        with pytest.raises(type(error)), atomic_write(tmp_path / name) as stream:  # noqa: PT012
            stream.write(b"half of it")
            raise error
        assert left() == old
    for call in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, call, no_space)
            with pytest.raises(OSError, match="no space left"):
                write_lines(tmp_path / name, ["one", "two"])
        assert left() == old


def test_nothing_appears_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "made" / "new.txt"
    with atomic_write(path) as stream:
        stream.write(b"text")
        assert not path.exists()
    assert path.read_bytes() == b"text"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_device_is_written_in_place(tmp_path: Path) -> None:
    node = tmp_path / "node.txt"
    try:
        os.mknod(node, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        node.write_bytes(b"x")
    except PermissionError:
        pytest.skip("no device can be made or used here")
    before = node.stat()
    write_lines(node, ["one", "two"])
    after = node.stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    assert os.listdir(tmp_path) == [node.name]


@pytest.mark.parametrize("name", ["fifo", "fifo.gz"])
def test_a_fifo_is_written_and_read_in_place(tmp_path: Path, name: str) -> None:
    fifo = tmp_path / name
    os.mkfifo(fifo)
    lines = [f"line {n} é" for n in range(20_000)]
    writer = threading.Thread(target=write_lines, args=(fifo, lines))
    writer.start()
    assert read_lines(fifo) == lines
    writer.join()
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("data", "lines"), {b"": [], b"x": ["x"], b"\x1f": ["\x1f"], b"two\nlines\n": ["two", "lines"]}.items()
)
def test_a_pipe_that_gives_one_byte_at_a_time(data: bytes, lines: list[str]) -> None:
    ours, theirs = os.pipe()

    def give() -> None:
        for byte in data:
            os.write(theirs, bytes([byte]))
            time.sleep(0.001)
        os.close(theirs)

    giver = threading.Thread(target=give)
    giver.start()
    try:
        assert read_lines(f"/dev/fd/{ours}") == lines
    finally:
        giver.join()
        os.close(ours)


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, second, real, other = (tmp_path / name for name in ("link", "there/second", "there/real", "there/other"))
    link.symlink_to("there/second")
    second.symlink_to("real")
    write_lines(link, ["old"])
    os.link(real, other)
    write_lines(link, ["new"])
    assert link.is_symlink()
    assert second.is_symlink()
    assert real.read_bytes() == b"new\n"
    assert other.read_bytes() == b"old\n", "replaced, not written into"


def test_an_open_descriptor_is_written_where_it_stands(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        log.write(b"first\n")
        log.flush()
        (tmp_path / "link").symlink_to(f"/dev/fd/{log.fileno()}")
        for name in (f"/dev/fd/{log.fileno()}", f"/proc/self/fd/{log.fileno()}", tmp_path / "link"):
            write_lines(name, ["more"])
    assert (tmp_path / "log").read_bytes() == b"first\nmore\nmore\nmore\n"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["-", "/dev/fd/1"])
def test_standard_output_takes_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    print("before")
    write_lines(name, ["é"])
    print("after")
    assert capfd.readouterr().out == "before\né\nafter\n"
    assert os.listdir() == []


def test_names_of_open_descriptors() -> None:
    """By name alone: nothing of the machine's is written to."""
    known = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2, "/dev/../dev/fd/7": 7, f"/proc/{os.getpid()}/fd/3": 3}
    others = ["/dev/null", "/dev/fd", "/dev/fd/x", "/proc/1234567890/fd/3", "./-", "stdout", "/tmp/dev/fd/3"]
    assert {name: _descriptor(name) for name in known} == known
    assert [_descriptor(name) for name in others] == [None] * len(others)


def test_neither_a_folder_nor_a_link_in_a_circle_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "link").symlink_to("link")
    for name, message in (("f", f"Is a directory: '{tmp_path / 'f'}'"), ("link", "symbolic links")):
        with pytest.raises(OSError, match=message):
            write_lines(tmp_path / name, ["new"])
    assert sorted(os.listdir(tmp_path)) == ["f", "link"]


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    # As numpy.save does, and an error that names a file.
    for error, named in (
        (OSError("100 requested and 0 written"), str(path)),
        (FileNotFoundError(errno.ENOENT, "elsewhere", "another"), "another"),
    ):
        with pytest.raises(OSError) as caught, atomic_write(path):
            raise error
        assert caught.value is error
        assert error.filename == named


def test_what_cannot_be_read_or_written_is_said(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=f"{path}: cannot be read"):
            read_lines(path)
    for use in (read_lines, partial(write_lines, lines=[])):
        with pytest.raises(InputError, match="NUL"):
            use(tmp_path / "a\0b")


SIDE = st.lists(st.lists(st.just("w"), max_size=5), min_size=8, max_size=8)


@pytest.mark.parametrize(("left", "right"), [(3, 2), (0, 1)])
def test_unequal_sides_name_both_files_and_counts(left: int, right: int) -> None:
    told = f"a.de:{min(left, right) + 1}: sides of unequal length\n  seen: +{left} lines in a.de, {right} in a.en\n"
    with pytest.raises(InputError, match=told):
        check_sides("a.de", left, "a.en", right)


@pytest.mark.parametrize("lines", [2, 4])
def test_references_have_one_length(tmp_path: Path, lines: int) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    write_lines(good, ["0", "", "x"])
    write_lines(bad, ["x"] * lines)
    assert read_references([good, good], 3) == [["0", "", "x"]] * 2
    assert read_references([], 3) == []
    told = f"{bad}:{min(lines, 3) + 1}: a reference of a different length\n  seen: +{lines} lines\n"
    with pytest.raises(InputError, match=told):
        read_references([good, bad], 3)


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
