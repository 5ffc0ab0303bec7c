"""Packing notices what is opened, and refuses names of compressed files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from xlate.config.load import load
from xlate.config.schema import PackConfig
from xlate.errors import InputError
from xlate.jobs.pack import opened_files, pack


def test_all_ways_to_open_a_file(tmp_path: Path) -> None:
    top, other = tmp_path / "top", tmp_path / "topmost"
    for folder in (top, other):
        folder.mkdir()
        for name in ("plain", "path", "memory", "number", "untouched"):
            (folder / name).write_bytes(b"12345678")
        with gzip.open(folder / "packed.gz", "wb") as stream:
            stream.write(b"x")
    (tmp_path / "link").symlink_to(top / "plain")
    # One may be inside another, and a single file may stand for a folder.
    with opened_files([other / "number", tmp_path / "link"]) as outer, opened_files([top]) as found:
        assert not found
        for folder in (top, other):
            (folder / "path").read_bytes()
            np.memmap(folder / "memory", np.uint8, "r")
            gzip.open(folder / "packed.gz").read()  # noqa: SIM115
            os.close(os.open(folder / "number", os.O_RDONLY))
        with open(tmp_path / "link") as stream:
            stream.read()
        assert not (top / "missing").exists()
    assert found == {top / name for name in ("plain", "path", "memory", "packed.gz", "number")}
    assert outer == {other / "number", top / "plain"}
    (top / "untouched").read_bytes()
    assert top / "untouched" not in found


@pytest.mark.parametrize("name", ["block.tar.gz", "block.tgz", "block.gz"])
def test_the_remedy_for_a_compressed_name_keeps_the_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        pack(load(PackConfig, "pack", [f"run={tmp_path}", f"out=some/{name}"]))
    assert caught.value.remedy == "out=some/block.tar, and gzip some/block.tar later"
