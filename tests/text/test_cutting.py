"""Where long sentences are cut: nothing is lost, no piece is too long, and punctuation comes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.text.tokens import cut

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
