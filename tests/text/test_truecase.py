"""Sentence beginnings take their usual casing, and get their capital back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.lines import write_lines
from xlate.text.truecase import Truecaser

CORPUS = [line.split() for line in ("Yesterday Anna saw the NASA men .", "The man saw Anna .", "We saw the THE the")]
TOKENS = st.lists(
    st.one_of(st.sampled_from([".", '"', "?", "The", "the", "Anna", "NASA", "iPod", "Über", "5"]), st.text("aBß.\xa0")),
    max_size=12,
).map(lambda tokens: [token for token in tokens if token])


def test_casing_away_from_sentence_beginnings() -> None:
    caser = Truecaser.train(CORPUS)
    assert caser.apply(["The", "man", "and", "The", "girl", "."]) == ["the", "man", "and", "The", "girl", "."]
    assert caser.apply(["Anna", "sees", "NASA", ".", "The", "end"]) == ["Anna", "sees", "NASA", ".", "the", "end"]
    assert caser.apply(["Yesterday", "it", "rained"])[0] == "yesterday", "seen at a beginning only"
    assert caser.apply(['"', "(", "The", "end"]) == ['"', "(", "the", "end"], "quotes are passed over"
    assert caser.apply(["NASA", "flies"]) == ["NASA", "flies"], "more than one capital is kept"
    assert caser.apply([]) == []
    assert Truecaser.train([["x", "ab", "Ab"]]).apply(["Ab"]) == ["Ab"], "of ties the first by code point"


def test_a_model_of_moses(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("the (9/12) The (3)\nNASA (4/4)\nAnna (2/3) ANNA (1)\n.  (7)\n".replace("  ", " "))
    caser = Truecaser.of_moses(tmp_path / "model")
    assert caser.words == ["Anna", "NASA"]
    assert caser.apply(["The", "man", ".", "Anna", "sees"]) == ["the", "man", ".", "Anna", "sees"]
    (tmp_path / "model").write_text("the (9/12) The (3)\nNASA 4\n")
    with pytest.raises(InputError, match="not a truecasing model") as caught:
        Truecaser.of_moses(tmp_path / "model")
    assert caught.value.line == 2


def test_restore() -> None:
    caser = Truecaser.train(CORPUS)
    assert caser.restore(['"', "the", "man", ".", "does", "he", "?"]) == ['"', "The", "man", ".", "Does", "he", "?"]
    for line in ("The man saw Anna .", "Anna ! What now ?"):
        assert caser.restore(caser.apply(line.split())) == line.split()


def test_a_model_for_moses_has_usual_forms_first() -> None:
    caser = Truecaser.train(CORPUS)
    lines = caser.moses_lines(["the", "THE", "The", "man", "Anna", ".", "5"])
    assert lines == ["Anna (1/1)", "man (1/1)", "NASA (1/1)", "the (1/3) THE (1) The (1)"]


@settings(deadline=None)
@given(st.lists(TOKENS.map(lambda tokens: [t for t in tokens if not set(t) & set(" ()")]), max_size=5), TOKENS)
def test_a_model_for_moses_is_read_back(corpus: list[list[str]], tokens: list[str]) -> None:
    caser = Truecaser.train(corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        write_lines(path, caser.moses_lines(token for line in corpus for token in line))
        assert Truecaser.of_moses(path).apply(tokens) == caser.apply(tokens)


@settings(deadline=None)
@given(TOKENS)
def test_only_capitals_of_beginnings_change(tokens: list[str]) -> None:
    caser = Truecaser.train(CORPUS)
    applied = caser.apply(tokens)
    assert [t.lower() for t in applied] == [t.lower() for t in tokens]
    begins = [p for p in range(len(tokens)) if p == 0 or tokens[p - 1] in '.?"']
    assert all(a == t for p, (a, t) in enumerate(zip(applied, tokens, strict=True)) if p not in begins)
    assert caser.apply(applied) == applied
    assert caser.restore(caser.restore(tokens)) == caser.restore(tokens)


@settings(deadline=None)
@given(st.lists(TOKENS, max_size=5), TOKENS)
def test_saved_is_loaded(corpus: list[list[str]], tokens: list[str]) -> None:
    caser = Truecaser.train(corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "casing.txt"
        caser.save(path)
        assert Truecaser.load(path).apply(tokens) == caser.apply(tokens)


@pytest.mark.parametrize("line", ["", "two words"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "casing.txt"
    path.write_text(f"Anna\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"casing\.txt:2: not a casing file"):
        Truecaser.load(path)
