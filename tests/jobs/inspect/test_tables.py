"""Weights of any size are shown with digits that tell them apart, and families with what they are."""

from __future__ import annotations

from rich.console import Console

from xlate.jobs.inspect.weights import (
    Learned,
    decimals,
    family_table,
    print_legend,
    strongest,
    strongest_table,
    summaries,
)


def shown(features: list[Learned]) -> str:
    console = Console(width=100, record=True)
    rows, listed = summaries(features), strongest(features, 3)
    console.print(family_table(rows))
    console.print(strongest_table("strongest", listed, [feature.name for feature in listed]))
    print_legend([row.family for row in rows], console)
    return console.export_text()


def learned(*weights: float) -> list[Learned]:
    kinds = ("word_pair", "parent_child")
    return [
        Learned(weight=weight, family=kinds[n % 2], set_name="s", name=f"{kinds[n % 2]}:all,all({n},{n})", feature=n)
        for n, weight in enumerate(weights)
    ]


def test_small_weights_are_told_apart() -> None:
    text = shown(learned(0.00112, 0.00108, -0.00057))
    for weight in ("+0.00112", "+0.00108", "-0.00057"):
        assert weight in text
    assert "an aligned source word of a rule, and one of a rule in a gap of it" in text


def test_others_have_three_decimals() -> None:
    text = shown(learned(1.5, -0.25))
    assert "+1.500" in text
    assert "-0.250" in text
    assert [decimals([w]) for w in (123.4, 0.1, 0.0999, -0.01, 1e-6)] == [3, 3, 4, 4, 8]
