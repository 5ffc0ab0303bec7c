"""JSON files: whole objects of the fields asked for, or one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.text.json_files import read_json, write_json

FIELDS = {"name": str, "size": int, "more": (dict, type(None))}


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    held = {"name": "wört", "size": 3, "more": None}
    write_json(tmp_path / "a.json", held)
    assert read_json(tmp_path / "a.json", "a thing", "make it again", FIELDS) == held


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"7", b"null", b'"x"', b"\xff", b"\x00", b"[" * 100_000, b"{}", b'{"name": 1}',
        b'{"name": "a", "size": "3", "more": null}', b'{"name": "a", "size": true, "more": null}',
        b'{"name": "a", "size": 3, "more": []}', b'{"name": "a", "size": 3}', b'{"size": ' + b"9" * 5000 + b"}",
    ],
)  # fmt: skip
def test_anything_else_is_refused_by_name(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match="damaged") as caught:
        read_json(path, "a thing", "make it again", FIELDS)
    assert (caught.value.file, caught.value.remedy) == (str(path), "make it again")
    assert caught.value.expected


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "nothing" / "at all"):
        with pytest.raises(InputError, match="cannot be read"):
            read_json(path, "a thing", "make it again")
