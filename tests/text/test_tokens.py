"""Tokens hold no blank of any kind; plain text survives tokenising and detokenising."""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.text.lines import read_lines
from xlate.text.tokens import Preprocessor, cut

BLANK = [" ", "  ", "\t", "\r", "\xa0", "\u2009", "\u200b", "\u2028", "\u2029", "\u202f", "\u3000", "\ufeff", "\x85"]
PIECES = ["|||", "|", "don't", "l'eau", "U.S.", "...", "@-@", "&amp;", "&nbsp;", "1,000.5", "«", "„", "ab", "München"]
PARTS = st.one_of(st.sampled_from([*BLANK, *PIECES, "\u200c", "\u200d"]), st.characters(codec="utf-8"))
LINES = st.lists(PARTS, max_size=20).map("".join)


@functools.cache
def preprocessor(language: str, tokenize: bool = True, normalize: bool = True) -> Preprocessor:
    return Preprocessor(language, tokenize=tokenize, normalize=normalize)


def is_blank(letter: str) -> bool:
    """Whether nothing is seen of a character: separators, controls, and the zero-width spaces among the formats."""
    return unicodedata.category(letter) in ("Zs", "Zl", "Zp", "Cc") or letter in "\u200b\u2060\ufeff"


@settings(deadline=None)
@given(LINES, st.sampled_from(["en", "de", "fr", "ar", "xx"]), st.booleans())
def test_no_token_is_empty_or_holds_a_blank(line: str, language: str, normalize: bool) -> None:
    tokens = preprocessor(language, normalize=normalize).tokens(line)
    assert all(token.strip("\u200c\u200d") for token in tokens)
    assert not [token for token in tokens if any(map(is_blank, token))]


@settings(deadline=None)
@given(LINES)
def test_without_tokenising_tokens_end_at_blanks_tabs_and_crs_alone(line: str) -> None:
    tokens = preprocessor("en", tokenize=False).tokens(line)
    assert tokens == [piece for piece in re.split("[ \t\r]", line) if piece]
    assert preprocessor("en", tokenize=False).text(tokens).split(" ") == (tokens or [""])


def test_blanks_of_all_kinds_separate() -> None:
    for blank in BLANK:
        assert preprocessor("en").tokens(f"one{blank}two") == ["one", "two"], repr(blank)


def test_joiners_stay_in_their_words_and_are_no_words() -> None:
    assert preprocessor("fa").tokens("می\u200cخواهم، نه") == ["می\u200cخواهم", "،", "نه"]
    assert preprocessor("ml").tokens("അവന്\u200d \u200d .") == ["അവന്\u200d", "."]
    assert preprocessor("ml", tokenize=False).tokens("a\u200d \u200c b") == ["a\u200d", "\u200c", "b"]


def test_rules_of_a_language() -> None:
    assert preprocessor("en").tokens("Don't stop, he said.") == ["Don", "'t", "stop", ",", "he", "said", "."]
    assert preprocessor("fr").tokens("l'eau d'Évian") == ["l'", "eau", "d'", "Évian"]
    assert preprocessor("de").tokens("Am 3. Mai z.B.") == ["Am", "3.", "Mai", "z.B."]
    assert preprocessor("en").tokens("a & b < c | d [e]") == ["a", "&", "b", "<", "c", "|", "d", "[", "e", "]"]


def test_tokens_as_scripts_of_moses_write_them() -> None:
    line = """Tom's "well-known" [A|B] & <c>"""
    escaped = Preprocessor("en", escape=True, dashes=True).tokens(line)
    assert escaped[:5] == ["Tom", "&apos;s", "&quot;", "well", "@-@"]
    assert escaped[7:] == ["&#91;", "A", "&#124;", "B", "&#93;", "&amp;", "&lt;", "c", "&gt;"]
    assert Preprocessor("en", escape=True).text(["Tom", "&apos;s", "A", "&amp;", "B", "@-@", "C"]) == "Tom's A & B-C"
    assert Preprocessor("en").tokens(line)[1:4] == ["'s", '"', "well-known"]


def test_normalising_is_a_choice() -> None:
    assert preprocessor("en", normalize=False).tokens("“so”") == ["“", "so", "”"]
    assert preprocessor("en").tokens("“so”") == ['"', "so", '"']


@pytest.mark.parametrize(("tokenize", "line"), [(True, ""), (True, "\xa0\u200b\r\t"), (False, ""), (False, " \t\r")])
def test_an_empty_line_has_no_tokens(tokenize: bool, line: str) -> None:
    assert preprocessor("en", tokenize).tokens(line) == []
    assert preprocessor("en", tokenize).text([]) == ""


@pytest.mark.corpus
@pytest.mark.parametrize("language", ["de", "en"])
def test_round_trip_of_real_text(shared_data: Path, language: str) -> None:
    side = Preprocessor(language, normalize=False)
    lines = [line.strip() for line in read_lines(shared_data / "multi30k" / f"val.{language}.gz")]
    same = sum(side.text(side.tokens(line)) == line for line in lines)
    assert len(lines) == 1014
    assert same / len(lines) >= 0.99


words = st.lists(st.sampled_from(["a", "b", "c", ".", ",", '"', "z.", "y,", "3.5", "…"]), max_size=60)


def pieces(text: str, most: int) -> list[str]:
    tokens = text.split()
    return [" ".join(tokens[a:b]) for a, b in cut(tokens, most)]


@given(words, st.integers(1, 12))
def test_pieces_hold_every_word_once_and_in_order(words: list[str], most: int) -> None:
    spans = cut(words, most)
    assert [w for a, b in spans for w in words[a:b]] == words
    assert all(b - a <= most for a, b in spans)
    assert all(b > a for a, b in spans) or not words
    assert len(words) > most or len(spans) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b c d e", ["a b c d", "e"]),
        ("a b . c d e", ["a b .", "c d e"]),
        ("a , b . c d", ["a , b .", "c d"]),
        ("a . b , c d", ["a .", "b , c d"]),
        ("a , b c d e", ["a ,", "b c d e"]),
        ('a b . " c d', ['a b . "', "c d"]),
        ("a b. c d e", ["a b.", "c d e"]),
        ("a b. , c d e", ["a b. ,", "c d e"]),
        ("a 3.5 b c d", ["a 3.5 b c", "d"]),
        ("。 a b c d", ["。", "a b c d"]),
    ],
)
def test_cuts_stand_behind_punctuation(text: str, expected: list[str]) -> None:
    assert pieces(text, 4) == expected
