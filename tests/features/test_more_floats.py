"""The optional floats of blocks: their values from the table, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.models.small_models import block_set
from xlate.errors import InputError
from xlate.features.block import MORE_FLOATS, MoreFloats, more_floats
from xlate.phrases.blocks import BlockSet


@pytest.fixture
def blocks() -> BlockSet:
    """a|u with p(T|S) 0.5 and lex(T|S) 0.25, and b|v with neither."""
    blocks = block_set({("a", "u"): (2, 0, 0, 0.5), ("b", "v"): (1, 0, 0, 0.5)})
    scores_B4 = np.array([[0.1, 0.2, 0.5, 0.25], [1.0, 1.0, 0.0, 0.0]])
    return replace(blocks, table=replace(blocks.table, scores_B4=scores_B4))


def test_costs_are_of_the_forward_scores_with_a_highest_one(blocks: BlockSet) -> None:
    found = MoreFloats.of(blocks, ["block_count", "forward_lexical", "forward"])
    assert found.names == ("forward", "forward_lexical", "block_count")
    expected = [[math.log(2), math.log(4), 1.0], [100.0, 100.0, 1.0]]
    np.testing.assert_allclose(found.cost_BX, expected, rtol=1e-6)
    assert found.cost_BX.dtype == np.float32


def test_a_copied_word_is_one_block_and_costs_nothing_else(blocks: BlockSet) -> None:
    found = MoreFloats.of(blocks, ["forward", "block_count"]).of_units(np.array([-2, 1, 0], dtype=np.int32))
    np.testing.assert_allclose(found, [[0.0, 1.0], [100.0, 1.0], [math.log(2), 1.0]], rtol=1e-6)


def test_no_floats_have_no_columns() -> None:
    assert MoreFloats.none().of_units(np.array([3, -1], dtype=np.int32)).shape == (2, 0)
    nothing = block_set({})
    assert MoreFloats.of(nothing, list(MORE_FLOATS)).of_units(np.array([-1], dtype=np.int32)).tolist() == [[0, 0, 1]]


def test_names_are_told_from_a_models_own(blocks: BlockSet) -> None:
    assert more_floats(["block_count", "direct", "forward", "forward"]) == ("forward", "block_count")
    with pytest.raises(InputError, match=r"(?s)no such optional float.*direct.*forward_lexical"):
        MoreFloats.of(blocks, ["direct"])
