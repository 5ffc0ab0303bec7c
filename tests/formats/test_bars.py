"""Escaping of bars: reversible for every word, silent for most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from xlate.formats.moses_table import escape_bars, needs_escape, unescape_bars

TEXT = st.lists(st.sampled_from(["|", "&", "amp;", "#124;", "&#124;", "&amp;", "a", ";"]), max_size=8).map("".join)


@given(TEXT | st.text())
def test_every_word_comes_back(word):
    escaped = escape_bars(word)
    assert "|" not in escaped
    assert unescape_bars(escaped) == word


@given(TEXT | st.text())
def test_reading_and_writing_gives_the_same_file(word):
    word = word.replace("|", "")
    assert escape_bars(unescape_bars(word)) == word


def test_by_hand():
    assert escape_bars("a|||b") == "a&#124;&#124;&#124;b"
    assert escape_bars("&#124;") == "&amp;#124;"
    assert escape_bars("&amp;#124;") == "&amp;amp;#124;"
    assert escape_bars("R&D &apos;") == "R&D &apos;"
    assert unescape_bars("&quot;&#124;") == "&quot;|"
    assert needs_escape(["a", "x|y"])
    assert not needs_escape(["a", "&#124;"])
