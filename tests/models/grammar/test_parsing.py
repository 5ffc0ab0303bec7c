"""Grammars that cannot be parsed with are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.grammars.written_rules import scfg_of
from xlate.errors import InputError
from xlate.formats.grammars.cdec import read_cdec_grammar
from xlate.formats.grammars.grammar import NO_LIMIT, joined
from xlate.models.grammar.parsing import SynchronousGrammar


@pytest.mark.parametrize(
    ("rules", "goal", "message", "seen"),
    [
        (["S → A1 | A1", "X → a | u"], "S", "an unknown label", "A in S → [A,1] | [A,1]"),
        (["X → a | u"], "S", "an unknown label", "S as the goal"),
        (["X → a | u", "X → X1 | u X1"], "X", "applied without end", "X → [X,1]"),
        (["X → a | u", "S → X1 | X1", "X → S1 | u S1"], "X", "applied without end", "S → [X,1] | [X,1]"),
    ],
)
def test_what_cannot_be_parsed_with(rules: list[str], goal: str, message: str, seen: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        SynchronousGrammar(scfg_of(*rules), [NO_LIMIT] * len(rules), goal)
    assert seen in str(caught.value.seen)


def test_the_line_of_a_circle_is_named(tmp_path: Path) -> None:
    for name, text in (
        ("one", "[X] ||| a ||| u\n[Y] ||| b ||| v\n"),
        ("two", "[X] ||| a ||| u\n[Y] ||| [X,1] ||| [1]\n"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    parts = [(read_cdec_grammar(tmp_path / name), NO_LIMIT) for name in ("one", "two")]
    with pytest.raises(InputError, match="two:2: rules that can be applied without end") as caught:
        SynchronousGrammar(*joined([*parts, (scfg_of("X → Y1 | Y1"), NO_LIMIT)]), "X")
    assert str(caught.value.seen).startswith("Y → [X,1] | [X,1], in the circle ")


def test_labels_are_in_order_and_words_without_a_rule_are_copied() -> None:
    assert SynchronousGrammar(scfg_of("S → Y1 | Y1", "Y → X1 | X1"), [9, 9], "S").labels == ["X", "Y", "S"]
    found = SynchronousGrammar(scfg_of("X → a | u", "X → b c | v", "S → <s> | <s>"), [3] * 3, "S")
    assert [word for word in ("a", "b", "c", "d", "<s>", "</s>") if found.copies(word)] == ["b", "c", "d"]
    assert found.source(["a"]) == ["<s>", "a", "</s>"]
