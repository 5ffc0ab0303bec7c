"""Identities of runs."""

from __future__ import annotations

from xlate.report.identity import ABSENT, differing_keys, flat, identity_hash


def test_order_and_volatile_keys_do_not_matter() -> None:
    first = identity_hash({"a": 1, "b": {"c": (1, 2)}, "run": "x", "checkpoint_seconds": 3})
    assert first == identity_hash({"b": {"c": [1, 2]}, "a": 1, "run": "y"})
    assert first != identity_hash({"b": {"c": [2, 1]}, "a": 1})
    assert first != identity_hash({"b": {"c": [1, 2], "run": 1}, "a": 1})


def test_nested_settings_become_dotted() -> None:
    assert flat({"a": {"b": {"c": 1}, "d": []}, "e": None, "f": {}}) == {"a.b.c": 1, "a.d": [], "e": None, "f": {}}


def test_differences_on_either_side() -> None:
    found = differing_keys({"a": 1, "b": {"c": 2}, "d": 0}, {"b": {"c": 3}, "d": 0, "e": 4})
    assert found == [("a", 1, ABSENT), ("b.c", 2, 3), ("e", ABSENT, 4)]
