"""Escaping of bars: reversible for every word, silent for most."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.formats.moses_table import escape_bars, needs_escape, unescape_bars

TEXT = st.lists(st.sampled_from(["|", "&", "amp;", "#124;", "&#124;", "&amp;", "a", ";"]), max_size=8).map("".join)


@settings(max_examples=50)
@given(TEXT | st.text())
def test_every_word_comes_back(word):
    assert "|" not in escape_bars(word)
    assert unescape_bars(escape_bars(word)) == word
    without = word.replace("|", "")
    assert escape_bars(unescape_bars(without)) == without


def test_by_hand():
    assert escape_bars("a|||b") == "a&#124;&#124;&#124;b"
    assert escape_bars("&amp;#124;") == "&amp;amp;#124;"
    assert unescape_bars("&quot;&#124;") == "&quot;|"
    assert [needs_escape(words) for words in (["a", "x|y"], ["a", "&#124;"])] == [True, False]
