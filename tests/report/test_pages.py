"""Pages of HTML: whole, escaped, with the numbers that tables are sorted by, and with differences marked."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.pages import Page
from xlate.report.pages import blocks, bracketed, differing, marked
from xlate.report.tables import Column, Table

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)


def test_what_differs_is_marked() -> None:
    assert differing(list("abcd"), list("acde")) == [False, True, False, False]
    assert bracketed("the old red house", "the red boat") == "the [old] red [house]"
    assert bracketed("x y", "") == "[x y]"
    assert bracketed("", "a") == ""
    assert marked("a <b c", "a c", "a x") == '<span class="right">a</span> <mark>&lt;b</mark> c'
    assert marked("a b", None) == "a b"


@settings(max_examples=50)
@given(WORDS, WORDS)
def test_what_is_not_marked_is_in_both_in_order(one: list[str], other: list[str]) -> None:
    marks, back = differing(one, other), differing(other, one)
    kept = [word for word, mark in zip(one, marks, strict=True) if not mark]
    at = iter(other)
    assert all(word in at for word in kept)
    assert (not any(marks) and not any(back)) == (one == other)


def test_a_page_is_whole_and_has_a_table_of_contents() -> None:
    picture = blocks.picture(b"\x89PNG", 'a "picture"') + blocks.lines([("s", marked("a b", "b"))])
    found = Page(blocks.page("A & B", [("one <x>", blocks.said("x < y")), ("two", picture)]))
    found.check_whole()
    assert found.texts["title"] == found.texts["h1"] == ["A & B"]
    assert found.texts["h2"] == found.texts["a"] == ["one <x>", "two"]
    assert found.sources == ["#part-1", "#part-2", "data:image/png;base64,iVBORw=="]
    assert found.texts["span"] == ["a b"]
    assert found.texts["mark"] == ["a"]


def test_cells_hold_the_numbers_that_rows_are_sorted_by() -> None:
    bleu = Column("BLEU", [1234.0625, None], 1, [0.5, None], better=1)
    found = Page(blocks.table(Table([Column("run", ["a", "b"]), bleu, Column("B − A", [2, -1], 0, sign="+")])))
    assert found.texts["td"] == ["a", "1,234.1 ± 0.5", "+2", "b", "–", "-1"]
    assert [cell.get("data-value") for cell in found.cells] == [None, "1234.0625", "2", None, "", "-1"]
    assert [cell.get("data-around") for cell in found.cells] == [None, "0.5", None, None, "", None]


def test_no_name_adds_tags_to_a_page() -> None:
    hostile = "</td></title><script>alert(1)</script>\"'&"
    table = blocks.table(Table([Column(hostile, [hostile]), Column("n", [1.0], 1)]))
    parts = table + blocks.said(hostile) + blocks.lines([(hostile, hostile), (hostile, marked(hostile, None))])
    found = Page(blocks.page(hostile, [(hostile, parts + blocks.picture(b"", hostile))]))
    found.check_whole()
    assert found.texts["title"] == found.texts["h1"] == found.texts["h2"] == found.texts["b"][:1] == [hostile]
    assert found.texts["th"][0] == found.texts["td"][0] == hostile
    assert found.texts["span"] == [hostile] * 2
    assert len(found.texts["script"]) == 1
