"""Which features are asked for, how families are spread, what changed between runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.models.test_every_system import structured
from xlate.errors import InputError
from xlate.jobs.inspect.job import changes_between
from xlate.jobs.inspect.weights import Learned, families_of, learned_features, of_families, strongest, summaries
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
