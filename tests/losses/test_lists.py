"""Operations on flat and padded lists whose values are huge, equal or nothing but -inf; others: test_list_losses.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from xlate.losses.lists import FlatLists, Lists, PaddedLists

INF = math.inf
FLAT = FlatLists(torch.tensor([0, 2, 4, 6, 8, 8]))
PADDED = PaddedLists(torch.tensor([[True, True]] * 4 + [[False, False]]))


@pytest.mark.parametrize("lists", [FLAT, PADDED], ids=["flat", "padded"])
def test_huge_equal_and_infinite_values(lists: Lists) -> None:
    """The last list is empty: in padded form, two places whose values do not count."""
    values = torch.tensor([1e4, 1e4, -1e4, -1e4, -INF, 3.0, -INF, -INF], dtype=torch.float64, requires_grad=True)
    given = values if lists is FLAT else torch.cat([values, torch.ones(2)]).reshape(5, 2)
    logs = lists.logsumexp(given)
    assert logs.tolist() == pytest.approx([1e4 + math.log(2), -1e4 + math.log(2), 3.0, -INF, -INF])
    torch.logaddexp(logs, torch.zeros_like(logs)).sum().backward()
    sigmoid = 1 / (1 + math.exp(-3))
    np.testing.assert_allclose(values.grad.numpy(), [0.5, 0.5, 0, 0, 0, sigmoid, 0, 0], atol=1e-12)
    first = [0, 2, 5, 6, -1] if lists is FLAT else [0, 0, 1, 0, -1]
    assert lists.argmax(given).tolist() == first


def test_places_beside_the_mask_count_neither_in_sums_nor_in_shares() -> None:
    lists, values = PaddedLists(torch.tensor([[True, True, False]])), torch.tensor([[0.0, math.log(3), 50.0]])
    assert lists.sum(values).tolist() == pytest.approx([math.log(3)])
    assert lists.shares(values).tolist()[0] == pytest.approx([0.25, 0.75, 0.0])
