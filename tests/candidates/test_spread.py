"""How much scores differ within lists, against a loop over the lists."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.candidates.spread import spread_of_scores


def test_it_is_the_mean_over_lists_of_more_than_one() -> None:
    lists = [[1.0, 3.0, 8.0], [], [5.0], [-2.0, -2.0], [100.0, 101.0, 99.0, 100.0]]
    offsets = np.cumsum([0, *map(len, lists)])
    expected = np.mean([np.std(one) for one in lists if len(one) > 1])
    assert spread_of_scores(np.concatenate(lists), offsets) == pytest.approx(expected)


@pytest.mark.parametrize("sizes", [[], [0], [1, 0, 1]])
def test_lists_of_one_have_none(sizes: list[int]) -> None:
    assert spread_of_scores(np.ones(sum(sizes)), np.cumsum([0, *sizes])) == 0
