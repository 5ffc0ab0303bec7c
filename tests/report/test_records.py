"""Records that survive being cut off."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.report.run_directory import Records

KEY = st.text(max_size=5).filter(lambda key: key != "tag")
LINE = st.dictionaries(KEY, st.none() | st.booleans() | st.integers() | st.text(max_size=9), max_size=3)


@given(lines=st.lists(LINE, max_size=4), data=st.data())
def test_cut_anywhere_whole_lines_remain(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, object]], data: st.DataObject
) -> None:
    records = Records(tmp_path_factory.mktemp("records") / "metrics.jsonl")
    ends = [0]
    for line in lines:
        records.append(line)
        ends.append(records.path.stat().st_size)
    if not lines:
        assert records.read() == []
        return
    size = data.draw(st.integers(0, ends[-1]))
    with records.path.open("r+b") as stream:
        stream.truncate(size)
    whole = sum(end <= size for end in ends[1:])
    assert records.read() == lines[:whole]
    records.repair()
    assert records.path.stat().st_size == ends[whole]
    records.append({"behind": 1})
    assert records.read() == [*lines[:whole], {"behind": 1}]


def test_curves_by_tag_later_values_win(tmp_path: Path) -> None:
    records = Records(tmp_path / "m")
    for tag, value, step in (("a", 1.0, 5), ("b", 2.0, 5), ("a", 0.5, 3), ("a", 4.0, 5), ("a", math.inf, 9)):
        records.append_scalar(tag, value, step)
    records.append({"message": "no scalar"})
    curves = records.curves()
    assert curves["b"] == [(5, 2.0)]
    assert curves["a"][:2] == [(3, 0.5), (5, 4.0)]
    assert math.isnan(curves["a"][2][1])


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "m").write_text('{"a": 1}\n{oops}\n{"b": 2}\n')
    with pytest.raises(InputError, match=r"m:2: a damaged record"):
        Records(tmp_path / "m").read()
    (tmp_path / "m").write_text("17\n")
    with pytest.raises(InputError, match=r"m:1: a damaged record"):
        Records(tmp_path / "m").read()


def test_numbers_outside_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        Records(tmp_path / "m").append({"x": math.nan})
    assert not (tmp_path / "m").exists()


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a record with a tag is a scalar"):
        Records(tmp_path / "m").append({"tag": None, "": None})
    assert not (tmp_path / "m").exists()


def test_keep_drops_the_rest(tmp_path: Path) -> None:
    records = Records(tmp_path / "m")
    for number in range(4):
        records.append({"n": number})
    records.keep(lambda place, record: place != 1 and record["n"] != 3)
    assert records.read() == [{"n": 0}, {"n": 2}]


@pytest.mark.parametrize(
    "line",
    ['{"tag": "x"}', '{"tag": 1, "value": 1, "step": 1}', '{"tag": "x", "value": "1", "step": 1}', "[" * 10_000]
    + ['{"tag": "x", "value": 1, "step": 1.5}', '{"tag": "x", "value": [1], "step": 1}'],
)
def test_a_scalar_without_its_numbers_is_refused_with_its_line(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"tag": "x", "value": null, "step": 1}\n' + line + "\n")
    with pytest.raises(InputError, match=r"metrics\.jsonl:2: a damaged record"):
        Records(path).curves()
