"""Lines to tokens and back, and casing."""

from __future__ import annotations

import functools
import re
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.lines import read_lines, write_lines
from xlate.text.tokens import PreparedSide, Preprocessor, Truecaser, cut, form_counts, letters_of

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


def test_escaped_text_is_told_from_plain_text_once(caplog: pytest.LogCaptureFixture) -> None:
    for language, tokenize, line in (("fr", False, "l &apos; eau"), ("fr", True, "l'eau & \"l'ami\"")):
        preprocessor(language, tokenize).tokens(line)
    assert not caplog.text
    for line in ("c &apos; est", "&quot; oui &quot;"):
        preprocessor("fr").tokens(line)
    assert caplog.text.count("text in fr holds &apos; or &quot;") == 1


@given(LINES, st.sampled_from(["en", "de", "fr", "ar", "xx"]), st.booleans())
def test_no_token_is_empty_or_holds_a_blank(line: str, language: str, normalize: bool) -> None:
    tokens = preprocessor(language, normalize=normalize).tokens(line)
    assert all(token.strip("\u200c\u200d") for token in tokens)
    assert not [token for token in tokens if any(map(is_blank, token))]


@given(LINES)
def test_without_tokenising_tokens_end_at_blanks_tabs_and_crs_alone(line: str) -> None:
    tokens = preprocessor("en", tokenize=False).tokens(line)
    assert tokens == [piece for piece in re.split("[ \t\r]", line) if piece]
    assert preprocessor("en", tokenize=False).text(tokens).split(" ") == (tokens or [""])


def test_blanks_of_all_kinds_separate() -> None:
    for blank in BLANK:
        assert preprocessor("en").tokens(f"one{blank}two") == ["one", "two"], repr(blank)


@pytest.mark.parametrize(
    ("language", "line", "tokens"),
    [
        ("en", "Don't stop, he said.", "Don 't stop , he said ."),
        ("en", "a & b < c | d [e]", "a & b < c | d [ e ]"),
        ("en", "“so”", '" so "'),
        ("fr", "l'eau d'Évian", "l' eau d' Évian"),
        ("de", "Am 3. Mai z.B.", "Am 3. Mai z.B."),
        # Joiners stay in their words, and are no words.
        ("fa", "می\u200cخواهم، نه", "می\u200cخواهم ، نه"),
        ("ml", "അവന്\u200d \u200d .", "അവന്\u200d ."),
    ],
)
def test_rules_of_a_language(language: str, line: str, tokens: str) -> None:
    assert preprocessor(language).tokens(line) == tokens.split(" ")


def test_neither_rules_nor_normalising_are_needed() -> None:
    assert preprocessor("ml", tokenize=False).tokens("a\u200d \u200c b") == ["a\u200d", "\u200c", "b"]
    assert preprocessor("en", normalize=False).tokens("“so”") == ["“", "so", "”"]


def test_tokens_as_scripts_of_moses_write_them() -> None:
    line = """Tom's "well-known" [A|B] & <c>"""
    written = "Tom &apos;s &quot; well @-@ known &quot; &#91; A &#124; B &#93; &amp; &lt; c &gt;"
    assert Preprocessor("en", escape=True, dashes=True).tokens(line) == written.split()
    assert Preprocessor("en", escape=True).text(written.split()) == """Tom's "well-known" [A | B] & < c >"""
    assert Preprocessor("en").tokens(line)[1:4] == ["'s", '"', "well-known"]


def test_an_empty_line_has_no_tokens() -> None:
    assert preprocessor("en").tokens("\xa0\u200b\r\t") == preprocessor("en").tokens("") == []
    assert preprocessor("en").text([]) == ""


@pytest.mark.corpus
@pytest.mark.parametrize("language", ["de", "en"])
def test_round_trip_of_real_text(shared_data: Path, language: str) -> None:
    side = Preprocessor(language, normalize=False)
    lines = [line.strip() for line in read_lines(shared_data / "multi30k" / f"val.{language}.gz")]
    same = sum(side.text(side.tokens(line)) == line for line in lines)
    assert len(lines) == 1014
    assert same / len(lines) >= 0.99


words = st.lists(st.sampled_from(["a", "b", "c", ".", ",", '"', "z.", "y,", "3.5", "…"]), max_size=60)


@given(words, st.integers(1, 12))
def test_pieces_hold_every_word_once_and_in_order(words: list[str], most: int) -> None:
    spans = cut(words, most)
    assert [w for a, b in spans for w in words[a:b]] == words
    assert all(0 < b - a <= most for a, b in spans) or spans == [(0, 0)]
    assert len(words) > most or len(spans) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "a b c d e": ["a b c d", "e"],
        "a b . c d e": ["a b .", "c d e"],
        "a , b . c d": ["a , b .", "c d"],
        "a . b , c d": ["a .", "b , c d"],
        "a , b c d e": ["a ,", "b c d e"],
        'a b . " c d': ['a b . "', "c d"],
        "a b. c d e": ["a b.", "c d e"],
        "a b. , c d e": ["a b. ,", "c d e"],
        "a 3.5 b c d": ["a 3.5 b c", "d"],
        "。 a b c d": ["。", "a b c d"],
    }.items(),
)
def test_cuts_stand_behind_punctuation(text: str, expected: list[str]) -> None:
    tokens = text.split()
    assert [" ".join(tokens[a:b]) for a, b in cut(tokens, 4)] == expected


CORPUS = [line.split() for line in ("Yesterday Anna saw the NASA men .", "The man saw Anna .", "We saw the THE the")]
CASER = Truecaser.train(form_counts(CORPUS))
TOKENS = st.lists(
    st.one_of(st.sampled_from([".", '"', "?", "The", "the", "Anna", "NASA", "iPod", "Über", "5"]), st.text("aBß.\xa0")),
    max_size=12,
).map(lambda tokens: [token for token in tokens if token])


@pytest.mark.parametrize(
    ("given", "cased"),
    {
        "The man and The girl .": "the man and The girl .",
        "Anna sees NASA . The end": "Anna sees NASA . the end",
        # Seen at a beginning only.
        "Yesterday it rained": "yesterday it rained",
        # Quotes are passed over.
        '" ( The end': '" ( the end',
        # More than one capital is kept.
        "UNESCO and NASA": "UNESCO and NASA",
        "": "",
    }.items(),
)
def test_casing_away_from_sentence_beginnings(given: str, cased: str) -> None:
    assert CASER.apply(given.split()) == cased.split()


def test_of_forms_seen_equally_often_the_first_by_code_point_is_taken() -> None:
    assert Truecaser.train(form_counts([["x", "ab", "Ab"]])).apply(["Ab"]) == ["Ab"]


def test_a_model_of_moses(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("the (9/12) The (3)\nNASA (4/4)\nAnna (2/3) ANNA (1)\n. (7)\n")
    caser = Truecaser.of_moses(tmp_path / "model")
    assert caser.words == ["Anna", "NASA"]
    assert caser.apply(["The", "man", ".", "Anna", "sees"]) == ["the", "man", ".", "Anna", "sees"]


def test_restore() -> None:
    assert CASER.restore(['"', "the", "man", ".", "does", "he", "?"]) == ['"', "The", "man", ".", "Does", "he", "?"]


def test_a_model_for_moses_has_usual_forms_first() -> None:
    lines = CASER.moses_lines(["the", "THE", "The", "man", "Anna", ".", "5"])
    assert lines == ["Anna (1/1)", "man (1/1)", "NASA (1/1)", "the (1/3) THE (1) The (1)"]


@given(TOKENS)
def test_only_capitals_of_beginnings_change(tokens: list[str]) -> None:
    applied = CASER.apply(tokens)
    assert [t.lower() for t in applied] == [t.lower() for t in tokens]
    begins = [p for p in range(len(tokens)) if p == 0 or tokens[p - 1] in '.?"']
    assert all(a == t for p, (a, t) in enumerate(zip(applied, tokens, strict=True)) if p not in begins)
    assert CASER.apply(applied) == applied
    assert CASER.restore(CASER.restore(tokens)) == CASER.restore(tokens)


@settings(max_examples=30)
@given(st.lists(TOKENS, max_size=5), TOKENS)
@example(CORPUS, ["Anna", ".", "The", "man"])
def test_saved_is_loaded_also_as_a_model_of_moses(corpus: list[list[str]], tokens: list[str]) -> None:
    caser = Truecaser.train(form_counts(corpus))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "casing"
        caser.save(path)
        assert Truecaser.load(path).apply(tokens) == caser.apply(tokens)
        write_lines(path, caser.moses_lines(token for line in corpus for token in line))
        assert Truecaser.of_moses(path).apply(tokens) == caser.apply(tokens)


@pytest.mark.parametrize(
    ("load", "lines", "what"),
    [
        (Truecaser.load, "Anna\n\n", "casing file"),
        (Truecaser.load, "Anna\ntwo words\n", "casing file"),
        (Truecaser.of_moses, "the (9/12) The (3)\nNASA 4\n", "truecasing model"),
    ],
)
def test_a_file_of_something_else_is_refused(
    tmp_path: Path, load: Callable[[Path], Truecaser], lines: str, what: str
) -> None:
    (tmp_path / "casing").write_text(lines)
    with pytest.raises(InputError, match=f"casing:2: not a {what}"):
        load(tmp_path / "casing")


def test_letters_of_a_language_are_those_of_one_word_in_a_thousand() -> None:
    words = ["ab"] * 1997 + ["éb", "Éa", "ñ9"]
    assert letters_of(words) == set("abé")


def test_words_without_a_letter_of_the_language_are_left_out() -> None:
    side = PreparedSide(Preprocessor("en"), "keep", letters=letters_of(["Tom", "ate"]))
    tokens = ["Tom", "شدرخ", "+ه", "ате", "atе", "12", ".", "٣"]
    assert side.text(tokens, detokenize=False) == "Tom atе 12 . ٣"
    assert replace(side, letters=None).text(tokens, detokenize=False).split() == tokens
