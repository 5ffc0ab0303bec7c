"""docs/features.md explains every feature that there is a name for in the code."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from tests.docs.pages import DOCS, FENCE
from xlate.candidates.nbest_gains import UTILITIES
from xlate.config.model_schema import RerankConfig
from xlate.features import block, structure
from xlate.features.block import DISTORTION_FLOATS, FLOATS, MORE_FLOATS
from xlate.features.context import TARGET_KINDS
from xlate.features.phrase_sparse import ORIENTATIONS, PLAIN, REORDERING
from xlate.formats.nbest_file import AGREEMENT, RANKS, nbest_arrays
from xlate.formats.nbest_list import Hypothesis
from xlate.jobs.sparse_features import PARTS, meaning
from xlate.models.context.predicted import CONTEXT_NAME, DISPLACEMENT_NAME
from xlate.models.hierarchical.model import RULE_FEATURES, STRUCTURE
from xlate.models.phrase.model import FIVE_WAY, PHRASE_FEATURES, SPARSE_PLAIN, SPARSE_REORDERING
from xlate.models.rerank.documents import NEIGHBOURS, TERMS
from xlate.models.rerank.lists import text_features
from xlate.models.rerank.ranker import MBR, POSITION, TOTAL
from xlate.models.unit_model import columns_of

PAGE = (DOCS / "features.md").read_text(encoding="utf-8")
SPARSE = {*REORDERING, *PLAIN, *structure.FAMILIES, *block.FAMILIES}
DENSE = {*PHRASE_FEATURES, *RULE_FEATURES, *FLOATS, *DISTORTION_FLOATS, *MORE_FLOATS}
SUMS = {FIVE_WAY, SPARSE_REORDERING, SPARSE_PLAIN, STRUCTURE}
LISTS = {TOTAL, POSITION, AGREEMENT, RANKS, NEIGHBOURS, TERMS, *(MBR + name for name in UTILITIES)}


@pytest.mark.parametrize("name", sorted(DENSE | SUMS | SPARSE | LISTS | set(TARGET_KINDS)))
def test_every_feature_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_floats_have_a_meaning() -> None:
    five, models = {FIVE_WAY: 10, SPARSE_REORDERING: 5, SPARSE_PLAIN: 1}, (FLOATS, DISTORTION_FLOATS, MORE_FLOATS)
    columns = {*columns_of(PHRASE_FEATURES | five), *columns_of({**RULE_FEATURES, STRUCTURE: 1}), *chain(*models)}
    assert not [name for name in columns | {CONTEXT_NAME, DISPLACEMENT_NAME} if not meaning(name)]


def test_features_of_texts_are_explained() -> None:
    lexicon = {"house": {"haus": 1.0}}
    names: list[str] = []
    arrays = nbest_arrays([[Hypothesis(1, 0, "house", (), [], None)]])
    known = RerankConfig(), {"house": "7"}, lexicon
    list(text_features(*known, arrays, [["haus"]], lambda name: names.append(name) or 0.0))
    kinds = {name.partition("=")[0] for name in names}
    assert kinds == {"ngram", "class", "length", "pair"}
    assert all(f"`{kind}=" in PAGE for kind in kinds)


def test_parts_of_names_are_explained() -> None:
    """Kinds, places, and what words are looked at as."""
    named = re.findall(r"`([^`]+)`", FENCE.sub("", PAGE))
    known = set(re.findall(r"[a-z_]+|[A-Z]{2}", " ".join(named)))
    assert set(PARTS) <= known


def test_orientations_are_explained() -> None:
    for names in ORIENTATIONS.values():
        assert all(re.search(rf"\b{name} \w+", PAGE) for name in names)
