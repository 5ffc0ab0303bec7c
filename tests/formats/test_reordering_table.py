"""Reordering tables: rows by phrase pair in any order, refusals with the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.formats.test_moses_table import spelled
from xlate.errors import InputError
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.reordering_table import read_reordering_table
from xlate.text.lines import write_lines

PAIRS = ["a b ||| x", "a ||| x y", "a ||| y", "c ||| &#124;"]
LINES = [
    "c ||| &#124; ||| 0.1 0.2 0.7 0.3 0.3 0.4",
    "a ||| y ||| 1 0 0 0.5 0.25 0.25",
    "zz ||| x ||| 0.2 0.2 0.6 0.2 0.2 0.6",
    "a b ||| x ||| 0.6 0.2 0.2 0.2 0.2 0.6 ",
]
LACKING = ["a b ||| y", "a ||| x", "c ||| y", "zz ||| y", "a b ||| zz", "a ||| zz", "c ||| zz"]


def read(folder: Path, lines: list[str]):
    write_lines(folder / "pairs", [f"{pair} ||| 1 1 1 1 ||| 0-0 ||| 1 1 1" for pair in PAIRS])
    write_lines(folder / "orientations", lines)
    table, source, target = read_phrase_table(folder / "pairs")
    rows = read_reordering_table(folder / "orientations", table, source, target)
    pairs = [" ||| ".join(map(" ".join, sides)) for sides in spelled(table, source, target)]
    return dict(zip(pairs, rows, strict=True))


def test_rows_are_found_by_their_phrases(tmp_path):
    """Lines of pairs that the phrase table lacks change nothing."""
    found = read(tmp_path, LINES + [f"{pair} ||| 1 0 0 0.5 0.25 0.25" for pair in LACKING])
    np.testing.assert_array_equal(found["a ||| y"], [1, 0, 0, 0.5, 0.25, 0.25])
    np.testing.assert_array_equal(found["a b ||| x"], [0.6, 0.2, 0.2, 0.2, 0.2, 0.6])
    np.testing.assert_array_equal(found["c ||| &#124;"], [0.1, 0.2, 0.7, 0.3, 0.3, 0.4])
    assert np.isnan(found["a ||| x y"]).all()
    assert len(found) == 4


@pytest.mark.parametrize(
    ("bad", "message"),
    {
        "a ||| y": "number of fields",
        "a ||| y ||| 1 0 0": "six scores",
        "a ||| y ||| 1 0 0 0 0 -0.5": "six scores",
        "a ||| y ||| 1 0 0 0.5 0.25 0.25": "appears twice",
    }.items(),
)
def test_refusals_say_the_line(tmp_path, bad, message):
    with pytest.raises(InputError, match=f":5: .*{message}"):
        read(tmp_path, [*LINES, bad])
