"""What a packed run may be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.config.load import load
from xlate.config.schema import PackConfig
from xlate.errors import InputError
from xlate.jobs.pack import pack


@pytest.mark.parametrize("name", ["block.tar.gz", "block.tgz", "block.zip", "block.gz"])
def test_the_remedy_for_a_compressed_name_keeps_the_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        pack(load(PackConfig, "pack", [f"run={tmp_path}", f"out=some/{name}"]))
    assert caught.value.remedy == "out=some/block.tar, and gzip some/block.tar later"
