"""Marks of what differs, and pages that need no other file."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.pages import Page
from xlate.report.html_page import bracketed, differing, lines_html, marked, page, picture_html, said, table_html
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


def test_a_page_is_whole() -> None:
    table = Table([Column("a<b", ["&", "y"]), Column("n", [1.0, 2.0], 1, better=1)])
    text = page(
        "A & B",
        [
            ("one <x>", table_html(table) + said("x < y")),
            ("two", picture_html(b"\x89PNG", 'a "picture"') + lines_html([("s", "<mark>a</mark>")])),
        ],
    )
    found = Page(text)
    found.check_whole()
    assert found.texts["title"] == found.texts["h1"] == ["A & B"]
    assert found.texts["h2"] == ["one <x>", "two"]
    assert found.texts["th"] == ["a<b", "n"]
    assert found.texts["td"] == ["&", "1.0", "y", "2.0"]
    assert 'class="number best">2.0' in text
    assert found.sources == ["data:image/png;base64,iVBORw=="]
