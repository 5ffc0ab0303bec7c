"""Grammars that cannot be parsed with are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.errors import InputError
from xlate.formats.grammars.cdec import read_cdec_grammar
from xlate.formats.grammars.grammar import NO_LIMIT, Gap, Scfg, ScfgRule, joined
from xlate.models.grammar.parsing import SynchronousGrammar


def grammar(*rules: tuple[str, str, str]) -> Scfg:
    """Rules with one-letter symbols; capital letters are labels, numbered by their place among them."""

    def side(text: str) -> tuple[str | Gap, ...]:
        return tuple(Gap(symbol, 1) if symbol.isupper() else symbol for symbol in text.split())

    return Scfg([ScfgRule(lhs, side(one), side(two)) for lhs, one, two in rules], (), np.zeros((len(rules), 0)))


@pytest.mark.parametrize(
    ("rules", "goal", "message", "seen"),
    [
        ([("S", "A", "A"), ("X", "a", "u")], "S", "an unknown label", "A in S → [A,1] | [A,1]"),
        ([("X", "a", "u")], "S", "an unknown label", "S as the goal"),
        ([("X", "a", "u"), ("X", "X", "u X")], "X", "applied without end", "X → [X,1]"),
        ([("X", "a", "u"), ("S", "X", "X"), ("X", "S", "u S")], "X", "applied without end", "S → [X,1] | [X,1]"),
    ],
)
def test_what_cannot_be_parsed_with(rules: list[tuple[str, str, str]], goal: str, message: str, seen: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        SynchronousGrammar(grammar(*rules), [NO_LIMIT] * len(rules), goal)
    assert seen in str(caught.value.seen)


def test_the_line_of_a_circle_is_named(tmp_path: Path) -> None:
    for name, text in (
        ("one", "[X] ||| a ||| u\n[Y] ||| b ||| v\n"),
        ("two", "[X] ||| a ||| u\n[Y] ||| [X,1] ||| [1]\n"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    parts = [(read_cdec_grammar(tmp_path / name), NO_LIMIT) for name in ("one", "two")]
    with pytest.raises(InputError, match="two:2: rules that can be applied without end") as caught:
        SynchronousGrammar(*joined([*parts, (grammar(("X", "Y", "Y")), NO_LIMIT)]), "X")
    assert str(caught.value.seen).startswith("Y → [X,1] | [X,1], in the circle ")


def test_labels_are_in_order_and_words_without_a_rule_are_copied() -> None:
    assert SynchronousGrammar(grammar(("S", "Y", "Y"), ("Y", "X", "X")), [9, 9], "S").labels == ["X", "Y", "S"]
    found = SynchronousGrammar(grammar(("X", "a", "u"), ("X", "b c", "v"), ("S", "<s>", "<s>")), [3] * 3, "S")
    assert [word for word in ("a", "b", "c", "d", "<s>", "</s>") if found.copies(word)] == ["b", "c", "d"]
    assert found.source(["a"]) == ["<s>", "a", "</s>"]
