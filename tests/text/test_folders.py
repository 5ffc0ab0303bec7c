"""Folders and JSON files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.text.folders import claim_folder, read_json, remove_folder, whole_folder, without_mark, write_json

STRANGERS = without_mark("mark.json", "an example", r"mark\.json|text")


def write(folder: Path, text: str = "text") -> None:
    with whole_folder(folder, "an example", STRANGERS, "name another") as aside:
        (aside / "text").write_text(text)
        assert folder.name not in aside.name.split("/")
        write_json(aside / "mark.json", {"holds": "an example"})


@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_ours_or_an_empty_one_is_replaced(tmp_path: Path, linked: bool) -> None:
    """If its name is a link, the link stays, and what it leads to is replaced."""
    folder = tmp_path / "disk" / "f"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to("disk/f")
    for text in ("one", "two"):
        write(tmp_path / "link" if linked else folder, text)
    assert (tmp_path / "link").is_symlink()
    assert (folder / "text").read_text() == "two"
    assert os.listdir(tmp_path / "disk") == ["f"]


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    write(tmp_path / "notes")
    for name in (".git", "mark.json", "notes"):
        folder = tmp_path / name.strip(".")
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("mine")
        with pytest.raises(InputError, match=rf"something other than an example\n  seen: +{name}\n"):
            write(folder)
        assert (folder / name).read_text() == "mine"


def test_what_comes_while_writing_stays(tmp_path: Path) -> None:
    def write_beside() -> None:
        with whole_folder(tmp_path / "f", "an example", STRANGERS, "name another"):
            (tmp_path / "f").mkdir()
            (tmp_path / "f" / "thesis").write_text("mine")

    with pytest.raises(InputError, match="something other than"):
        write_beside()
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["f", "f/thesis"]


@pytest.mark.parametrize("name", [".", "..", "/", "-", "q/..", "", "a\0b"])
def test_names_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").mkdir()
    with pytest.raises(InputError, match=r"not a usable folder name|NUL"):
        write(Path(name))
    assert os.listdir(tmp_path) == ["q"]


def test_a_file_or_a_dangling_link_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a file")
    (tmp_path / "l").symlink_to("nowhere")
    for name, seen in (("f", "a file"), ("l", "a broken link")):
        with pytest.raises(InputError, match=rf"needs a folder\n  seen: +{seen}\n"):
            write(tmp_path / name)
    assert (tmp_path / "f").read_text() == "a file"


def test_a_mount_point_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda _: True)
    with pytest.raises(InputError, match="mounted"):
        write(tmp_path / "f")


def test_a_failure_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "f", "old")
    rename = os.rename

    def refuses(source: Path, target: Path) -> None:
        if Path(source).joinpath("text").read_text() == "new":
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuses)
    with pytest.raises(OSError, match="Input/output") as caught:
        write(tmp_path / "f", "new")
    assert caught.value.filename == str(tmp_path / "f")
    assert (tmp_path / "f" / "text").read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_killed_while_removing_no_half_of_it_is_left_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "f")
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    remove_folder(tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_a_claimed_folder_is_ours_from_then_on(tmp_path: Path) -> None:
    claim = partial(claim_folder, kind="a set of lattices", mark="mark", remedy="name another")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "0.fst").write_text("mine")
    with pytest.raises(InputError, match=r"(?s)something other than.*0\.fst"):
        claim(tmp_path / "theirs")
    for _ in range(2):
        claim(tmp_path / "f")
        (tmp_path / "f" / "0.fst").write_text("ours")
    with pytest.raises(InputError, match="not a usable folder name"):
        claim(Path("-"))
    with pytest.raises(InputError, match="needs a folder"):
        claim(tmp_path / "f" / "0.fst")


FIELDS = {"name": str, "size": int, "more": (dict, type(None))}


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    held = {"name": "wört", "size": 3, "more": None}
    write_json(tmp_path / "a.json", held)
    assert read_json(tmp_path / "a.json", "a thing", "make it again", FIELDS) == held


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"\xff", b"[" * 100_000, b'{"name": "a", "size": "3", "more": null}',
        b'{"name": "a", "size": true, "more": null}', b'{"name": "a", "size": 3, "more": []}',
        b'{"name": "a", "size": 3}', b'{"size": ' + b"9" * 5000 + b"}",
    ],
)  # fmt: skip
def test_anything_else_is_refused_by_name(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=rf"{path}: damaged(?s:.*)expected: .*\n  remedy: +make it again"):
        read_json(path, "a thing", "make it again", FIELDS)


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "nothing" / "at all"):
        with pytest.raises(InputError, match="cannot be read"):
            read_json(path, "a thing", "make it again")
