"""Grammars: which rules are in target normal form, joined ones, and glue rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.formats.written_rules import scfg_of
from xlate.formats.scfg import NO_LIMIT, joined, normal_form


@pytest.mark.parametrize(
    ("rule", "fault"),
    {
        "a | u v": None,
        "a X1 X2 | u X2 X1": None,
        "a X1 X2 | X1 u X2": "a target word after",
        "a X1 | u X1 v": "a target word after",
        "a X1 X2 | X1 X2": "no word",
        "a X1 Y2 | u X1 Y2": "a label other",
        "a X1 X2 X3 | u X1 X2 X3": "more than 2",
    }.items(),
)
def test_what_is_in_normal_form(rule: str, fault: str | None) -> None:
    share, faults = normal_form(scfg_of(f"X → {rule}", f"Y → {rule}"))
    assert share.startswith(f"{int(fault is None)} of 2 rules")
    assert "a label other" in " ".join(faults)
    assert (fault or "") in " ".join(faults)


def test_the_share_of_a_grammar() -> None:
    share, faults = normal_form(scfg_of("X → a | u", "X → a X1 | u X1", "X → a X1 | X1 u", "X → a X1 | v X1 u"))
    assert share.startswith("2 of 4 rules (50.0 %) are in target normal form, 1 of the 3 with non-terminals (33.3 %)")
    assert faults == ["2 rules: a target word after a non-terminal, such as X → a [X,1] | [X,1] u"]


def test_joined_grammars_keep_their_features() -> None:
    one = replace(scfg_of("X → a | u", f=[1.0], g=[2.0]), sparse={0: {"own": 3.0}})
    two = replace(scfg_of("S → X1 | X1", g=[4.0], h=[5.0]), sparse={0: {"own": 6.0}})
    both = joined([(one, 7), (two, NO_LIMIT)])
    assert [rule.limit for rule in both.rules] == [7, NO_LIMIT]
    assert [both.features(b) for b in range(2)] == [{"f": 1, "g": 2, "own": 3}, {"g": 4, "h": 5, "own": 6}]
    assert both.select([1]).features(0) == both.features(1)
    assert both.select([1]).rules == two.rules
