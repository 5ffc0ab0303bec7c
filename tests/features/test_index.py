"""What holds of every index of sparse features: frozen, arithmetic, growing, and as read from a weights file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.features.test_block import small
from tests.features.test_structure import random_facts, templates
from tests.models.phrase.small_phrase_models import random_phrase_model, with_sparse
from xlate.errors import InputError
from xlate.features.block import BigramIndex
from xlate.features.index import (
    FeatureIndex,
    NamedFeatures,
    families_at,
    family_of,
    slots_of,
)
from xlate.features.phrase_sparse import PLAIN
from xlate.features.structure import StructureFeatures
from xlate.scoring.weights import Weights, load_weights, save_weights

NAMES = ["WT_b~a", "ngram=a b", "WT_a~b", "length=+1", "ngram=a:b", "Glue", "日=本 語", "WT_b~a", "ngram=b"]


def arithmetic() -> FeatureIndex:
    rng = np.random.default_rng(3)
    model = with_sparse(rng, random_phrase_model(rng, "hier"), plain=PLAIN)
    return model.sparse


def growing() -> StructureFeatures:
    """Features as they are written: families one after the other."""
    grown = StructureFeatures(templates())
    grown.of_units(random_facts(np.random.default_rng(4), 50))
    return grown.kept(np.argsort(grown.described[:, 0], kind="stable"))


FORMS: dict[str, Callable[[], FeatureIndex]] = {
    "frozen, block bigrams": lambda: BigramIndex.frequent(small().words, ["WB", "BB", "TP"], 0),
    "frozen, names": lambda: NamedFeatures.of(NAMES),
    "frozen, nothing": lambda: NamedFeatures.of([]),
    "arithmetic": arithmetic,
    "growing": growing,
}


@pytest.fixture(params=FORMS)
def index(request: pytest.FixtureRequest) -> FeatureIndex:
    return FORMS[request.param]()


def test_names_come_in_the_order_asked_for_and_families_share_out_all_ids(index: FeatureIndex) -> None:
    names = list(index.names(np.arange(len(index))))
    assert len(names) == len(set(names)) == len(index)
    some = np.arange(len(index))[::-2].astype(np.int32)
    assert list(index.names(some)) == names[::-1][::2]
    families = dict(index.sizes)
    assert len(families) == len(index.sizes)
    assert sum(families.values()) == len(index)
    for family, part in slots_of(families).items():
        assert all(name.startswith(family) for name in names[part])


def test_a_weights_file_knows_the_same_features(index: FeatureIndex, tmp_path: Path) -> None:
    """Saved with a weight for each, every feature is there with its name, family and weight."""
    weights = Weights(np.ones(1), np.arange(1.0, len(index) + 1), ("lm",))
    save_weights(tmp_path / "w", {"model": weights}, features={"model": index})
    file = load_weights(tmp_path / "w")
    names = list(index.names(np.arange(len(index))))
    assert file.features["model"].sizes == index.sizes
    assert file.fitting("model", index, tmp_path).sparse_F.tolist() == weights.sparse_F.tolist()
    families = [family for family, size in index.sizes for _ in range(size)]
    assert families_at(index.sizes, np.arange(len(index))) == families
    assert [feature[1:] for feature in file.learned("model")] == list(
        zip(families, names, weights.sparse_F.tolist(), strict=True)
    )
    with pytest.raises(InputError, match="sparse weights of different features"):
        file.fitting("model", NamedFeatures.of(["other"]), tmp_path)


@given(st.sets(st.text(alphabet="a=:_b~ ", max_size=5)))
def test_names_are_sorted_so_that_families_stay_together(names: set[str]) -> None:
    index = NamedFeatures.of(names)
    families = [family_of(name) for name in index.names(np.arange(len(index)))]
    assert index.sizes == list(Counter(families).items())
