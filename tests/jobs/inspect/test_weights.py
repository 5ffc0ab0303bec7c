"""The features that a run gave a weight, the families they are of, and how they are shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.models.test_every_system import structured
from xlate.errors import InputError
from xlate.features.bigrams import FAMILIES as BLOCK_FAMILIES
from xlate.features.phrase_sparse import PLAIN, REORDERING
from xlate.features.structure import FAMILIES as STRUCTURE_FAMILIES
from xlate.jobs.inspect.job import changes_between
from xlate.jobs.inspect.weights import (
    PARTS,
    Learned,
    decimals,
    families_of,
    family_table,
    learned_features,
    legend,
    of_families,
    print_legend,
    strongest,
    strongest_table,
    summaries,
)
from xlate.scoring.weights import Weights, load_weights, save_weights

FAMILIES = ["reordering:source_first:top80", "reordering:pair", "plain:source_first:top80", "WB"]


def learned(family: str, weight: float, name: str = "", set_name: str = "phrase") -> Learned:
    return Learned(set_name, 0, family, name or f"{family}={weight}", weight)


ALL = [learned(family, 1.0 + place) for place, family in enumerate(FAMILIES)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ("reordering", [0, 1]),
        ("source_first", [0, 2]),
        ("source_first:top80", [0, 2]),
        ("plain:source_first:top80", [2]),
        ("WB", [3]),
    ],
)
def test_families_are_named_by_parts(asked: str | None, expected: list[int]) -> None:
    assert of_families(ALL, asked, FAMILIES) == [ALL[place] for place in expected]


@pytest.mark.parametrize(("asked", "near"), [("source_frist", "source_first"), ("top8", "top80"), ("xyz", None)])
def test_an_unknown_family_names_the_nearest(asked: str, near: str | None) -> None:
    with pytest.raises(InputError, match="no such family") as caught:
        of_families(ALL, asked, FAMILIES)
    assert caught.value.expected == "reordering, source_first, top80, pair, plain, WB"
    assert caught.value.remedy == (f"did you mean family={near}?" if near else None)
    with pytest.raises(InputError, match="no such family") as caught:
        of_families([], asked, [])
    assert "no sparse features" in str(caught.value)


def test_learned_features_keep_their_ids(tmp_path: Path) -> None:
    system = structured()
    index = system.features
    assert index is not None
    sparse_F = np.where(np.arange(len(index)) % 3 == 0, 0.0, np.arange(len(index)) / 7)
    weights = Weights(np.zeros(1), sparse_F, ("float",))
    save_weights(tmp_path / "weights.safetensors", {"hierarchical": weights}, features={"hierarchical": index})
    file = load_weights(tmp_path / "weights.safetensors")
    found = learned_features(file)
    ids = [feature.feature for feature in found]
    assert ids == np.flatnonzero(sparse_F).tolist()
    assert [feature.name for feature in found] == list(index.names(np.array(ids)))
    assert [feature.weight for feature in found] == sparse_F[ids].tolist()
    assert set(families_of(file)) == {feature.family for feature in found}


def test_summaries() -> None:
    first, second = summaries([learned("a", 1.0), learned("b", -3.0), learned("a", -0.5)])
    assert first == ("b", 1, 0, 3.0, 3.0)
    assert second == ("a", 2, 1, 1.5, 1.0)


def test_the_strongest_stand_first_and_signs_apart() -> None:
    features = [learned("a", weight) for weight in (0.5, -2.0, 3.0, -0.1, 1.0)]
    assert [feature.weight for feature in strongest(features, 2)] == [3.0, 1.0, -2.0, -0.1]
    assert [feature.weight for feature in strongest(features[:1], 2)] == [0.5]


def test_changes_are_by_set_and_name_largest_first() -> None:
    here = [learned("a", 1.0, "x"), learned("a", -2.0, "y"), learned("b", 0.5, "z"), learned("b", 7.0, "s")]
    there = [learned("a", 3.0, "x"), learned("a", -2.5, "y"), learned("b", 4.0, "w"), learned("b", 7.0, "s")]
    found = changes_between(here, [*there, learned("b", 9.0, "z", "other set")])
    told = [(change.name, change.word, change.size) for change in found]
    assert told == [
        ("z", "gone", -9.0),
        ("w", "gone", -4.0),
        ("x", "down", -2.0),
        ("y", "up", 0.5),
        ("z", "new", 0.5),
        ("s", "same", 0.0),
    ]


def test_every_template_and_family_is_explained() -> None:
    assert {*REORDERING, *PLAIN, *STRUCTURE_FAMILIES, *BLOCK_FAMILIES} <= set(PARTS)


def test_only_the_parts_of_a_name_are_looked_at() -> None:
    assert [part for part, _ in legend(["reordering:source_first:class50=17{all top},D"])] == [
        "reordering",
        "source_first",
        "class",
    ]
    assert [part for part, _ in legend(["word_pair:all,class50(pair,17{insertion})"])] == ["word_pair", "all", "class"]
    assert [part for part, _ in legend(["WB:all>top"])] == ["WB"]
    assert legend(["n=a b"]) == []


def test_features_of_given_lists_are_explained_by_their_own_words() -> None:
    told = dict(legend(["pair=haus|house", "length=+1", "ngram=a b", "plain:lengths=1,2"]))
    assert list(told) == ["plain", "lengths", "ngram", "pair", "length"]
    assert told["pair"] == "a source word and a target word"
    assert dict(legend(["plain:pair=das haus|the house"]))["pair"] == PARTS["pair"] == "source and target phrase"


def shown(features: list[Learned]) -> str:
    console = Console(width=100, record=True)
    rows, listed = summaries(features), strongest(features, 3)
    console.print(family_table(rows))
    console.print(strongest_table("strongest", listed, [feature.name for feature in listed]))
    print_legend([row.family for row in rows], console)
    return console.export_text()


def alternating(*weights: float) -> list[Learned]:
    kinds = ("word_pair", "parent_child")
    return [
        Learned(weight=weight, family=kinds[n % 2], set_name="s", name=f"{kinds[n % 2]}:all,all({n},{n})", feature=n)
        for n, weight in enumerate(weights)
    ]


def test_small_weights_are_told_apart() -> None:
    text = shown(alternating(0.00112, 0.00108, -0.00057))
    for weight in ("+0.00112", "+0.00108", "-0.00057"):
        assert weight in text
    assert "an aligned source word of a rule, and one of a rule in a gap of it" in text


def test_others_have_three_decimals() -> None:
    text = shown(alternating(1.5, -0.25))
    assert "+1.500" in text
    assert "-0.250" in text
    assert [decimals([w]) for w in (123.4, 0.1, 0.0999, -0.01, 1e-6)] == [3, 3, 4, 4, 8]
