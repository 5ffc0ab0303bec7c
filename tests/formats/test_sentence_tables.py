"""Tables of single lines: numbers of words, and folders that xlate wrote or others did."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.formats.sentence_tables import INPUT, MARK, TableFolder, marked
from xlate.text.lines import write_lines

LINES = [
    "die@@2 ||| the ||| 1 1 1 1 0.25 ||| 0-0 ||| 2 2 2 ||| |||",
    "die ||| her ||| 1 1 1 1 0.5 ||| 0-0 ||| 2 2 2 ||| |||",
    "die ||| the ||| 1 1 1 1 0.75 ||| 0-0 ||| 2 2 2 ||| |||",
]


def folder(path: Path, lines: list[str], named: str | None = None) -> Path:
    write_lines(path / "0", lines)
    if named is not None:
        (path / INPUT).write_text(f"{named}\n")
        (path / MARK).write_text(json.dumps({"tables": True, "escaped": True}, indent=2))
    return path


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["a", "a@@2", "a@@2@@1", "b", "@@1"])), st.sets(st.sampled_from("ab")))
def test_numbers_of_words_are_taken_off_again(words: list[str], repeated: set[str]) -> None:
    names = marked(words, repeated)
    assert [re.sub("@@[0-9]+$", "", name) for name in names] == words
    told_apart = [name for name, word in zip(names, words, strict=True) if word in repeated]
    assert len(set(told_apart)) == len(told_apart)


def test_a_pair_has_other_scores_at_each_place(tmp_path: Path) -> None:
    tables = TableFolder.open(folder(tmp_path, LINES, "die und die@@2"), 1)
    assert tables.names(0, ["die", "und", "die"]) == ("die", "und", "die@@2")
    (table, _, targets), more = tables.read(0, (1,))
    assert len(table) == 2
    assert len(table.source_phrases) == 1
    rows = {targets.word(int(table.target_phrases[q][0])): b for b, q in enumerate(table.target_B)}
    assert more == {("die", rows["the"]): [0.75], ("die@@2", rows["the"]): [0.25], ("die", rows["her"]): [0.5]}


def test_words_of_other_folders_are_taken_as_they_stand(tmp_path: Path) -> None:
    tables = TableFolder.open(folder(tmp_path, LINES), 1)
    assert tables.names(0, ["x"]) == ["x"]
    pairs, more = tables.read(0, (1,))
    assert len(pairs.table) == len(more) == 3


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([LINES[0].replace("0.25", "")], "1 or 7 after"),
        ([LINES[0], LINES[1].replace("0.5", "0.5 1 1 1 1 1 1")], "wrong number of scores"),
        ([LINES[0], LINES[0]], "appears twice"),
    ],
)
def test_what_no_table_may_hold(tmp_path: Path, lines: list[str], message: str) -> None:
    tables = TableFolder.open(folder(tmp_path, lines, "die und die@@2"), 1)
    with pytest.raises(InputError, match=message):
        tables.read(0, (1, 7))
    with pytest.raises(InputError, match="a different sentence"):
        tables.names(0, ["die", "oder", "die"])
    (tmp_path / "1").touch()
    with pytest.raises(InputError, match="the text of tables of a different length"):
        TableFolder.open(tmp_path, 2)
