"""An output that is missing is named with what would give one."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.jobs.score import read_output
from xlate.report.run_directory import MARK


@pytest.mark.parametrize(
    ("split", "remedy"), [("test", "measure_test=true, or say split=dev"), ("dev", "xlate translate")]
)
def test_a_set_that_a_run_has_not_translated(split: str, remedy: str, tmp_path: Path) -> None:
    (tmp_path / MARK).write_text("")
    with pytest.raises(InputError, match=f"has not translated the {split} set(?s:.*){remedy}") as caught:
        read_output(tmp_path, split)
    assert caught.value.file == str(tmp_path / f"{split}.out")
    assert (split == "dev") == ("split=dev" not in str(caught.value))


def test_a_name_that_is_not_there_says_what_could_stand_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such run or file") as caught:
        read_output(tmp_path / "nowhere", "dev")
    assert caught.value.file == str(tmp_path / "nowhere")
    assert caught.value.expected == "the folder of a run, or a text file with a translation a line"
    assert "xlate translate" in str(caught.value.remedy)
