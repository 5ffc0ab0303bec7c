"""Datapoint text: round trip, a datapoint in the form of the paper's Figure 3, and what is refused."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.candidates.plain_lists import listed
from tests.candidates.test_batch import example
from tests.strategies import ragged_batches
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.datapoints import read_datapoints, write_datapoints
from xlate.errors import InputError

# The form of Figure 3, with numbers of our own: a true successor and two alternatives, seven floats each.
DATAPOINT = """\
1 7 0.5 0.25 1.5 0 0.75 1.25 -1 1 6
-1 7 0.125 1 1.5 0 2 1.75 -1 0
-1 7 1.5 0.0625 1.5 0.5 3 3 -2 1 4
0
0
"""


@settings(max_examples=25, deadline=None)
@given(ragged_batches(extras=False))
def test_round_trip(batch: CandidateBatch) -> None:
    """Equal to the last bit, but for instances without candidates, which the format cannot say."""
    with tempfile.TemporaryDirectory() as folder:
        write_datapoints(Path(folder) / "d.gz", [batch])
        back = read_datapoints(Path(folder) / "d.gz")
    assert back.is_plain
    assert listed(back) == [instance for instance in listed(batch) if instance]


def test_a_datapoint_as_in_figure_3(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text(DATAPOINT)
    batch = read_datapoints(path)
    assert batch.candidate_offsets_I1.tolist() == [0, 3]
    assert batch.gain_CG[:, 0].tolist() == [1, -1, -1]
    assert batch.dense_CD[2].tolist() == [1.5, 0.0625, 1.5, 0.5, 3, 3, -2]
    assert (batch.part_id_offsets_P1.tolist(), batch.part_ids_N.tolist()) == ([0, 1, 1, 2], [6, 4])


MALFORMED = {
    "1 2 0.5 0.5": "a malformed datapoint line",
    "1 2 0.5 x 0": "not a number: x",
    "1 2 0.5 0.5 0 7": "a malformed datapoint line",
    "one 2 0.5 0.5 0": "a malformed datapoint line",
    "1 2 0.5 0.5 1 1.5": "not a whole number: 1.5",
    "1 3 0.5 0.5 0.5 0": "the number of floats changes",
    "1 2 nan 0.5 0": "not a finite number: nan",
    "1 2 0.5 1e39 0": "a number out of range: 1e39",
    "1 2 0.5 0.5 1 2147483648": "a number out of range: 2147483648",
}


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_line_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "d.txt"
    path.write_text(f"1 2 0.5 0.5 1 3\n-1 2 0.5 0.5 0\n0\n{line}\n0\n")
    with pytest.raises(InputError, match=MALFORMED[line]) as caught:
        read_datapoints(path)
    assert (caught.value.file, caught.value.line, caught.value.seen) == (str(path), 4, line)


def test_an_end_within_a_datapoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("1 0 1 3\n0\n1 0 1 3\n")
    with pytest.raises(InputError, match="the file ends within a datapoint") as caught:
        read_datapoints(path)
    assert caught.value.line == 3


@pytest.mark.parametrize("text", ["", "0\n", "\n\n0\n0\n"])
def test_a_file_without_datapoints_is_an_empty_batch(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.txt").write_text(text)
    assert len(read_datapoints(tmp_path / "d.txt")) == 0


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("sparse features with values", {}),
        ("fixed scores", {"part_values_N": None}),
        ("other gains", {"part_values_N": None, "base_C": None, "gain_CG": np.zeros((3, 1), np.float32)}),
    ],
)
def test_what_the_format_cannot_say_is_refused(tmp_path: Path, message: str, change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=message):
        write_datapoints(tmp_path / "d.txt", [replace(example(), **change)])
    assert list(tmp_path.iterdir()) == []
