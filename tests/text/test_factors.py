"""Factors are split and joined without loss."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.factors import BAR, FactoredLines, FactorNames, joined_lines, read_factored
from xlate.text.lines import write_lines


def test_another_separator() -> None:
    names = FactorNames(("pos",), "￨")
    assert names.split_all(["house￨NOUN"]) == (["house"], {"pos": ["NOUN"]})
    assert names.join(["a|b"], {"pos": ["X"]}) == "a|b￨X"


@pytest.mark.parametrize("token", ["house", "a|b|c", "|NOUN", "house|"])
def test_wrong_number_of_factors(token: str) -> None:
    with pytest.raises(InputError, match=rf"wrong number of factors\n  seen: +{re.escape(token)}\n"):
        FactorNames(("pos",)).split(f"a|b {token}")


WORD = st.text("ab|&#;", min_size=1, max_size=4).filter(lambda word: BAR not in word)
TWO = FactorNames(("pos", "lemma"))


@given(st.lists(st.tuples(WORD, WORD, WORD), min_size=1, max_size=5))
def test_a_line_and_its_factors_come_back(tokens: list[tuple[str, str, str]]) -> None:
    words = [word for word, _, _ in tokens]
    factors = {"pos": [pos for _, pos, _ in tokens], "lemma": [lemma for _, _, lemma in tokens]}
    assert TWO.split(TWO.join(words, factors)) == (words, factors)


def test_lines_may_be_plain_but_not_half_factored() -> None:
    assert TWO.split("a&#124;b  c\u00a0d") == (["a|b", "c\u00a0d"], {})
    assert TWO.split("") == ([], {})
    # Blanks of other kinds, and joiners, are part of tokens.
    assert TWO.split("a\u2028b|X|y\x85 \u200c|Z|z") == (
        ["a\u2028b", "\u200c"],
        {"pos": ["X", "Z"], "lemma": ["y\x85", "z"]},
    )


def test_texts_are_read_with_their_factors(tmp_path: Path) -> None:
    write_lines(tmp_path / "text", ["a|X b|Y", "", "c&#124;d|X"])
    write_lines(tmp_path / "lemma", ["A B", "", "C"])
    text = read_factored(tmp_path / "text", FactorNames(("pos",)), {"lemma": tmp_path / "lemma"})
    assert text.lines == ["a b", "", "c|d"]
    assert text.factors == {"pos": [["X", "Y"], [], ["X"]], "lemma": [["A", "B"], [], ["C"]]}
    assert text.factored(TWO) == ["a|X|A b|Y|B", "", "c&#124;d|X|C"]
    assert text.rows([2, 0]) == FactoredLines(
        ["c|d", "a b"], {"pos": [["X"], ["X", "Y"]], "lemma": [["C"], ["A", "B"]]}
    )
    twice = joined_lines([text, text])
    assert twice.rows(range(3)) == twice.rows(range(3, 6)) == text
    # Words without factors in them may hold bars, plain or written as elsewhere.
    write_lines(tmp_path / "plain", ["a|b  c&#124;"])
    write_lines(tmp_path / "tags", ["X Y"])
    plain = read_factored(tmp_path / "plain", FactorNames(), {"pos": tmp_path / "tags"})
    assert plain == FactoredLines(["a|b c|"], {"pos": [["X", "Y"]]})
    assert plain.factored(FactorNames(("pos",))) == ["a&#124;b|X c&#124;|Y"]
    assert read_factored(tmp_path / "plain", FactorNames(), {}) == FactoredLines(["a|b  c&#124;"], {})


@pytest.mark.parametrize(
    ("text", "tags", "file", "line", "seen"),
    [
        (["a|X", "b"], ["A", "B"], "text", 2, "b"),
        (["a|X b|X", "c|X"], ["A B", "C D"], "tags", 2, "2 values, 1 tokens"),
        (["a|X", "b|X"], ["A"], "tags", 2, "1 line"),
        (["a|X"], ["A", "B", "C"], "tags", 2, "3 lines"),
    ],
)
def test_factors_that_do_not_fit_are_refused(
    tmp_path: Path, text: list[str], tags: list[str], file: str, line: int, seen: str
) -> None:
    write_lines(tmp_path / "text", text)
    write_lines(tmp_path / "tags", tags)
    with pytest.raises(InputError, match=rf"{tmp_path / file}:{line}: .*\n  seen: +{seen}.*\n  expected: "):
        read_factored(tmp_path / "text", FactorNames(("pos",)), {"tag": tmp_path / "tags"})
