"""Lists from Python: round trips, which features are float and sparse, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.phrases.small_corpora import assert_same
from xlate import CandidateBatch, FeatureNames
from xlate.errors import InputError
from xlate.features.index import NamedFeatures

NUMBERS = st.floats(-100, 100, width=32)
NAMES = st.sampled_from(["lm", "tm", "bigram=a b", "bigram=b c", "pair=Ö|o"])
HYPOTHESES = st.tuples(st.dictionaries(NAMES, NUMBERS), NUMBERS)
LISTS = st.lists(st.lists(HYPOTHESES, max_size=4), max_size=4)


@given(LISTS, st.sampled_from([None, ("lm",), ("tm", "lm"), ()]))
def test_lists_come_back(rows: list[list[tuple[dict[str, float], float]]], dense: tuple[str, ...] | None) -> None:
    features = [[one for one, _ in row] for row in rows]
    gains = [[gain for _, gain in row] for row in rows]
    names = FeatureNames.of(features, dense)
    lists = CandidateBatch.from_lists(features, gains, names)
    told, again = lists.to_lists(names)
    assert again == gains
    assert told == [[{**dict.fromkeys(names.dense, 0.0), **one} for one in row] for row in features]
    assert set(names.dense).isdisjoint(names.sparse.names_F)
    assert_same(CandidateBatch.from_lists(told, again, names), lists)


def test_features_that_all_have_are_float() -> None:
    features = [[{"lm": 1.0, "x": 1}, {"x": 3, "lm": 2.0, "y": 1}], [{"lm": 0.0}]]
    names = FeatureNames.of(features)
    lists = CandidateBatch.from_lists(features, [[1, 0], [0.5]], names)
    assert names.dense == ("lm",)
    assert names.sparse.names_F == ("x", "y")
    assert lists.candidate_offsets_I1.tolist() == [0, 2, 3]
    assert lists.part_ids_N.tolist() == [0, 0, 1]
    assert lists.part_values_N.tolist() == [1, 3, 1]
    assert lists.gain_CG.tolist() == [[1.0], [0.0], [0.5]]
    assert names.weights([0.5], [0.0, 2.0]) == {"lm": 0.5, "y": 2.0}
    # Other lists take these names, and gains may be statistics.
    other = CandidateBatch.from_lists([[{"y": 1, "z": 1}]], [[(1, 2, 3)]], names)
    assert other.to_lists(names) == ([[{"lm": 0.0, "y": 1.0}]], [[(1.0, 2.0, 3.0)]])


@pytest.mark.parametrize(
    ("features", "gains", "message"),
    [
        ([[{"a": 1.0}]], [], "1 lists of features, 0 of gains"),
        ([[{"a": 1.0}], []], [[1], [1]], r"list 1: features and gains differ in length(.|\n)*0 hypotheses, 1 gains"),
        ([{"a": 1.0}], [[1]], "list 0 is a single hypothesis"),
        ([[{"a": math.nan}]], [[1]], "list 0, hypothesis 0: feature a"),
        ([[{}, {"a": "much"}]], [[1, 1]], "hypothesis 1: feature a(.|\n)*seen:     'much'"),
        ([[{"a": 1.0}]], [[math.inf]], r"list 0, hypothesis 0: gain"),
        ([[{"a": 1.0}, {}]], [[(1, 2), (1,)]], "hypothesis 1: gain(.|\n)*2 finite numbers"),
        ([[{"": 1.0}]], [[1]], "not a name"),
    ],
)
def test_what_is_refused(features: Any, gains: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CandidateBatch.from_lists(features, gains, FeatureNames.of([[]]))


@pytest.mark.parametrize(
    ("dense", "sparse", "message"), [(("a", "a"), [], "appears twice"), (("a",), ["a"], "float and sparse")]
)
def test_names_stand_once(dense: tuple[str, ...], sparse: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FeatureNames(dense, NamedFeatures.of(sparse))
