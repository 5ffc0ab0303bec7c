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


def test_unknown_labels() -> None:
    with pytest.raises(InputError, match="an unknown label") as caught:
        SynchronousGrammar(*joined([(grammar(("S", "A", "A"), ("X", "a", "u")), NO_LIMIT)]), "S")
    assert "A in S → [A,1] | [A,1]" in str(caught.value.seen)
    with pytest.raises(InputError, match="an unknown label"):
        SynchronousGrammar(*joined([(grammar(("X", "a", "u")), NO_LIMIT)]), "S")


@pytest.mark.parametrize(
    "rules", [[("X", "X", "u X")], [("X", "Y", "Y"), ("Y", "X", "X")], [("S", "X", "X"), ("X", "S", "u S")]]
)
def test_rules_without_end(rules: list[tuple[str, str, str]]) -> None:
    scfg = grammar(*rules, ("X", "a", "u"), ("S", "a", "u"), ("Y", "b", "v"))
    with pytest.raises(InputError, match="applied without end"):
        SynchronousGrammar(*joined([(scfg, NO_LIMIT)]), "X")


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


def test_labels_come_before_those_they_turn_into() -> None:
    scfg = grammar(("S", "Y", "Y"), ("Y", "X", "X"), ("X", "a", "u"))
    assert SynchronousGrammar(scfg, [NO_LIMIT] * 3, "S").labels == ["X", "Y", "S"]


def test_what_is_copied() -> None:
    rules = grammar(("X", "a", "u"), ("X", "b c", "v"), ("S", "<s>", "<s>"))
    found = SynchronousGrammar(*joined([(rules, 3)]), "S")
    assert found.marked
    assert [word for word in ("a", "b", "c", "d", "<s>", "</s>") if found.copies(word)] == ["b", "c", "d"]
    assert found.source(["a"]) == ["<s>", "a", "</s>"]
