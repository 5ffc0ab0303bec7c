"""Archives of packed runs hold what the run says, and nothing else gets out."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.models.pack_format import (
    MARK,
    Pack,
    Sentence,
    check_sentences,
    extract,
    is_pack,
    read_pack,
    seal,
    unpacked,
    write_archive,
    write_pack,
)

SENTENCES = [Sentence("das Haus", "the house", -1.5), Sentence("ein „Haus“", "a house", -2.0)]


def packed(folder: Path) -> Pack:
    (folder / "work" / "lm").mkdir(parents=True)
    (folder / "work" / "lm" / "slots.npy").write_bytes(bytes(range(256)) * 40)
    (folder / "config.yaml").write_text("seed: 1\n")
    return write_pack(folder, "1.0", SENTENCES)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    pack = packed(tmp_path / "run")
    write_archive(tmp_path / "run", pack, "demo", tmp_path / "demo.tar")
    return tmp_path / "demo.tar"


def test_there_and_back(archive: Path, tmp_path: Path, out: Path) -> None:
    run = extract(archive, out)
    assert run == out / "demo"
    assert is_pack(run)
    assert read_pack(run) == read_pack(tmp_path / "run")
    names = [path.relative_to(run) for path in sorted(run.rglob("*")) if path.is_file()]
    assert [(run / name).read_bytes() for name in names] == [(tmp_path / "run" / name).read_bytes() for name in names]
    assert len(names) == 3


def test_equal_runs_have_equal_bytes(archive: Path, tmp_path: Path) -> None:
    pack = packed(tmp_path / "again")
    os.utime(tmp_path / "again" / "config.yaml", (1, 1))
    (tmp_path / "again" / "config.yaml").chmod(0o600)
    write_archive(tmp_path / "again", pack, "demo", tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == archive.read_bytes()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize("part", [0, 300, 1500, 11000])
def test_cut_off(archive: Path, out: Path, part: int) -> None:
    archive.write_bytes(archive.read_bytes()[:part])
    with pytest.raises(InputError, match=r"packed run(?s:.*)copy the packed run again"):
        extract(archive, out)


def test_a_file_is_missing_or_changed(archive: Path, out: Path) -> None:
    raw = archive.read_bytes()
    members(archive, but="config.yaml")
    with pytest.raises(InputError, match=r"no config\.yaml"):
        extract(archive, out)
    at = raw.index(bytes(range(256)) * 2) + 300
    archive.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    (out / "again").mkdir()
    with pytest.raises(InputError, match=r"slots\.npy: SHA-256"):
        extract(archive, out / "again")


def members(archive: Path, *more: tarfile.TarInfo, but: str = "") -> None:
    """Writes the archive again without a member, with more behind."""
    with tarfile.open(archive) as old:
        kept = [(m, old.extractfile(m).read()) for m in old if not (but and m.name.endswith(but))]  # type: ignore[union-attr]
    with tarfile.open(archive, "w") as new:
        for member, content in kept:
            new.addfile(member, io.BytesIO(content))
        for member in more:
            new.addfile(member, io.BytesIO(b"x" * member.size))


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return made


@pytest.mark.parametrize(
    "more",
    [
        member("../outside"),
        member("/tmp/xlate-outside"),
        member("demo/more"),
        member("demo/config.yaml"),
        member("demo/link", tarfile.SYMTYPE, "/etc/passwd"),
    ],
    ids=lambda m: m.name,
)
def test_nothing_but_what_it_names_is_written(archive: Path, tmp_path: Path, out: Path, more: tarfile.TarInfo) -> None:
    members(archive, more)
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match="each once"):
        extract(archive, out)
    assert set(tmp_path.iterdir()) == before
    named = {"demo", "work", "lm", "slots.npy", "config.yaml", MARK}
    assert {path.name for path in out.rglob("*")} <= named


def foreign_tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.addfile(member("data/file"), io.BytesIO(b"x"))


@pytest.mark.parametrize(
    "write", [foreign_tar, lambda p: p.write_bytes(b"PK\3\4"), lambda p: p.write_text("seed: 1\n" * 99)]
)
def test_foreign_files(tmp_path: Path, write: Callable[[Path], object]) -> None:
    write(tmp_path / "file.tar")
    with pytest.raises(InputError, match=r"not a packed run(?s:.*)xlate pack"):
        unpacked(tmp_path / "file.tar")


@pytest.mark.parametrize("name", ["../a", "/a", "a/../b", "."])
def test_names_that_lead_outside(tmp_path: Path, name: str) -> None:
    raw = Pack("1", [], {name: (1, "0")}).to_bytes()
    with pytest.raises(InputError, match="damaged"):
        Pack.from_bytes(raw, tmp_path)


def test_a_changed_mark(tmp_path: Path) -> None:
    held = json.loads(Pack("1", [], {}).to_bytes())
    unlike = {key: value for key, value in held.items() if key != "sha256"}
    unlike["sentences"] = [{"source": "a", "output": "b"}]
    for raw, message in (
        ("{", "not a packed run"),
        ("{}", "not a packed run"),
        (json.dumps({**held, "format": "xlate-pack-9"}), "not a packed run"),
        (json.dumps({**held, "xlate": "9"}), "SHA-256"),
        (json.dumps({**unlike, "sha256": seal(unlike)}), "damaged"),
    ):
        with pytest.raises(InputError, match=message):
            Pack.from_bytes(raw.encode(), tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a complete packed run(?s:.*)0 bytes(?s:.*)8 bytes"),
        (b"seed: 2\n", "a damaged packed run(?s:.*)SHA-256"),
        (None, "not a complete packed run(?s:.*)no such file"),
    ],
)
def test_a_damaged_folder(tmp_path: Path, content: bytes | None, words: str) -> None:
    packed(tmp_path)
    file = tmp_path / "config.yaml"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(InputError, match=rf"config\.yaml: {words}"):
        unpacked(tmp_path)


def test_no_link_leads_out_of_a_packed_run(tmp_path: Path) -> None:
    packed(tmp_path / "run")
    (tmp_path / "run/work/lm/more").symlink_to(tmp_path / "run" / "work")
    assert unpacked(tmp_path / "run") == tmp_path / "run"
    packed(tmp_path / "other")
    (tmp_path / "other/work/lm/more").symlink_to(tmp_path / "run" / "work")
    with pytest.raises(InputError, match=r"more: a path that leads out of the packed run(?s:.*)a link to"):
        unpacked(tmp_path / "other")


def test_a_folder_that_a_run_was_unpacked_into(archive: Path, tmp_path: Path) -> None:
    named = tmp_path / "named"
    named.mkdir()
    run = extract(archive, named)
    assert unpacked(named) == unpacked(run) == run
    (named / "demo.tar").write_bytes(archive.read_bytes())
    assert unpacked(named) == run
    (named / "other").mkdir()
    assert unpacked(named) == named
    packed(tmp_path / "outer" / "inner")
    packed(tmp_path / "outer")
    assert unpacked(tmp_path / "outer") == tmp_path / "outer"
    # What is no packed run stays where it is.
    assert unpacked(tmp_path) == tmp_path
    assert unpacked(tmp_path / "missing") == tmp_path / "missing"


def test_sentences_are_compared(tmp_path: Path) -> None:
    pack = packed(tmp_path / "run")

    def check(output: str, score: float) -> None:
        answers = {"das Haus": ("the house", -1.5), "ein „Haus“": (output, score)}
        check_sentences(tmp_path, pack, answers.__getitem__)

    check("a house", -2.00009)
    for output, score in (("a house", -2.0002), ("a horse", -2.0)):
        with pytest.raises(InputError, match=rf"sentence 2 of 2(?s:.*)ein „Haus“(?s:.*){output}(?s:.*)a house"):
            check(output, score)
