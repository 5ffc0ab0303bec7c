"""Grammars: which rules are in target normal form, joined ones, and glue rules."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.formats.grammars.grammar import NO_LIMIT, Gap, Scfg, ScfgRule, glue_grammar, joined, normal_form

ONE, TWO = Gap("X", 1), Gap("X", 2)


def without_features(*rules: ScfgRule) -> Scfg:
    return Scfg(list(rules), (), np.zeros((len(rules), 0)))


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        (("u", "v"), None),
        (("u", TWO, ONE), None),
        ((ONE, "u", TWO), "a target word behind"),
        (("u", ONE, "v", TWO), "a target word behind"),
        ((ONE, TWO), "no word"),
        (("u", ONE, Gap("Y", 2)), "another label"),
        (("u", ONE, TWO, Gap("X", 3)), "more than 2"),
    ],
)
def test_what_is_in_normal_form(target: tuple[str | Gap, ...], fault: str | None) -> None:
    source = ("a", *sorted((symbol for symbol in target if isinstance(symbol, Gap)), key=lambda gap: gap.number))
    share, faults = normal_form(without_features(ScfgRule("X", source, target), ScfgRule("Y", source, target)))
    assert share.startswith(f"{int(fault is None)} of 2 rules")
    said = " ".join(faults)
    assert "another label" in said
    assert fault is None or fault in said


def test_the_share_of_a_grammar() -> None:
    rules = [
        ScfgRule("X", ("a",), ("u",)),
        ScfgRule("X", ("a", ONE), ("u", ONE)),
        ScfgRule("X", ("a", ONE), (ONE, "u")),
        ScfgRule("X", ("a", ONE), ("v", ONE, "u")),
    ]
    share, faults = normal_form(without_features(*rules))
    assert share.startswith("2 of 4 rules (50.0 %) are in target normal form, 1 of the 3 with non-terminals (33.3 %)")
    assert faults == ["2 rules: a target word behind a non-terminal, such as X → a [X,1] | [X,1] u"]


def test_joined_grammars_keep_their_features() -> None:
    one = Scfg([ScfgRule("X", ("a",), ("u",))], ("f", "g"), np.array([[1.0, 2.0]]), {0: {"own": 3.0}})
    two = Scfg([ScfgRule("S", (ONE,), (ONE,))], ("g", "h"), np.array([[4.0, 5.0]]), {0: {"own": 6.0}})
    both, limits = joined([(one, 7), (two, NO_LIMIT)])
    assert limits == [7, NO_LIMIT]
    assert [both.features(b) for b in range(2)] == [{"f": 1, "g": 2, "own": 3}, {"g": 4, "h": 5, "own": 6}]
    assert both.select([1]).features(0) == both.features(1)
    assert both.select([1]).rules == two.rules


def test_glue_rules() -> None:
    grammar = glue_grammar("Y", "T")
    assert [str(rule) for rule in grammar.rules] == ["T → [Y,1] | [Y,1]", "T → [T,1] [Y,2] | [T,1] [Y,2]"]
    assert [grammar.features(b) for b in range(2)] == [{}, {"Glue": 1}]
