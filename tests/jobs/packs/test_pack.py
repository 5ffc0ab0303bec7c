"""What a packed run may be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.jobs.pack import _check_name


@pytest.mark.parametrize("name", ["block.tar.gz", "block.tgz", "block.zip", "block.gz"])
def test_the_remedy_for_a_compressed_name_keeps_the_name(name: str) -> None:
    with pytest.raises(InputError) as caught:
        _check_name(Path("some") / name)
    assert caught.value.remedy == "out=some/block.tar, and gzip some/block.tar later"
    _check_name(Path("some/block.tar"))
