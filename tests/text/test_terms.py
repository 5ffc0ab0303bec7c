"""Glossaries: which terms of a sentence are marked, and which entries are refused, by their lines."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.text.factors import with_factors
from xlate.text.terms import HARD, SOFT, TERM, Glossary, TermWord, is_hard, own_target, read_terms, terms_in
from xlate.text.tokens import cut

SIDES = (str.split, str.split)


def glossary(path: Path, text: str, use: str = HARD, longest: int = 3) -> Glossary:
    path.write_text(text, encoding="utf-8")
    return Glossary.of(read_terms(path), SIDES, longest, use, path)


def said(found: Glossary, line: str) -> list[tuple[int, int, str]]:
    words = found.marked(line.split())
    assert words == line.split()
    return [(start, end, " ".join(own_target(words, unit, start))) for start, end, unit in terms_in(words)]


def test_the_longest_and_most_exact_term_is_marked_without_overlap(tmp_path: Path) -> None:
    lines = "# mine\n\na b\tX Y\na b\tX Y\nb c d ||| Z\nhaus*\thouse\nhausboot ||| houseboat ||| 0.5\na haus* d\tQ\n"
    found = glossary(tmp_path / "terms", lines)
    assert len(found.terms) == 5
    assert said(found, "a b c d") == [(1, 4, "Z")]
    assert said(found, "a b a b") == [(0, 2, "X Y"), (2, 4, "X Y")]
    assert said(found, "hausboot häuser hauses haus ahaus") == [(0, 1, "houseboat"), (2, 3, "house"), (3, 4, "house")]
    assert said(found, "a hausboot d") == [(0, 3, "Q")]


def test_marked_words_are_words_with_their_factors() -> None:
    plain = with_factors(["a", "b", "c"], {"pos": ["1", "2", "3"]})
    soft = Glossary.of([(1, "b c", "x"), (2, "b c", "y z")], SIDES, 3, SOFT)
    words = pickle.loads(pickle.dumps(soft.marked(plain)))
    assert terms_in(words) == [(1, 3, TERM), (1, 3, TERM - 1)]
    assert own_target(words, TERM - 1, 1) == ("y", "z")
    assert own_target(words, -1, 1) == ("b",)
    assert [word.factors["pos"] for word in words] == ["1", "2", "3"]
    assert not any(map(is_hard, words))
    assert not isinstance(words[0], TermWord)


@pytest.mark.parametrize(("term", "most"), [("b c d", 3), ("a ,", 2), (", b", 2)])
def test_a_long_sentence_is_not_cut_inside_a_term(term: str, most: int) -> None:
    line = ["a", ",", "b", "c", "d", "e"]
    words = Glossary.of([(1, term, "x")], SIDES, 3, HARD).marked(line)
    pieces = [words[start:end] for start, end in cut(words, most)]
    assert [word for piece in pieces for word in piece] == line
    assert all(len(piece) <= most for piece in pieces)
    assert sum(len(terms_in(piece)) for piece in pieces) == 1
    assert all(end <= len(piece) for piece in pieces for _, end, _ in terms_in(piece))


@pytest.mark.parametrize(
    ("lines", "use", "message", "line"),
    [
        ("a\tx\nb c", HARD, "without a translation", 2),
        ("a\tx\n\tx", HARD, "empty side", 2),
        ("#\na\t ", SOFT, "empty side", 2),
        ("a b c d\tx", SOFT, "too many words", 1),
        ("a*\tx\na\ty\na*\ty", HARD, "two translations of one term", 3),
    ],
)
def test_a_term_that_cannot_be_used_is_refused(tmp_path: Path, lines: str, use: str, message: str, line: int) -> None:
    with pytest.raises(InputError, match=f"{tmp_path / 'terms'}:{line}: .*{message}"):
        glossary(tmp_path / "terms", lines, use)
