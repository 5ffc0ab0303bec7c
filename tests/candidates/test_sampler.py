"""Orders of an epoch are permutations that depend on their arguments and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.candidates.sampler import epoch_order, spread


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 99), st.integers(0, 9), st.none() | st.integers(1, 70))
def test_an_order_is_a_permutation(size: int, seed: int, epoch: int, block: int | None) -> None:
    order = epoch_order(size, seed, epoch, name="floats", block=block)
    assert sorted(order.tolist()) == list(range(size))
    assert order.dtype == np.int64


def test_equal_arguments_give_equal_orders_and_others_other_ones() -> None:
    def order(seed: int = 1, epoch: int = 0, name: str = "a", block: int | None = None) -> tuple[int, ...]:
        return tuple(epoch_order(100, seed, epoch, name=name, block=block).tolist())

    assert order() == order()
    assert order(block=10) == order(block=10)
    assert len({order(), order(seed=2), order(epoch=1), order(name="b"), order(block=10)}) == 5
    # A seed and an epoch that change places must not give the same stream.
    assert order(seed=3, epoch=5) != order(seed=5, epoch=3)


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 99))
def test_blocks_keep_runs_together(size: int, block: int, seed: int) -> None:
    order = epoch_order(size, seed, 0, block=block)
    runs = order // block
    changes = int((np.diff(runs) != 0).sum())
    assert changes == -(-size // block) - 1


def test_runs_and_what_is_within_them_are_both_shuffled() -> None:
    order = epoch_order(1000, 1, 0, block=100)
    assert (order[::100] // 100).tolist() != list(range(10))
    assert order[:100].tolist() != sorted(order[:100].tolist())


@settings(deadline=None)
@given(st.integers(0, 300), st.floats(0.001, 1.0))
def test_spread_takes_its_share_evenly(size: int, fraction: float) -> None:
    chosen = spread(size, fraction)
    assert len(chosen) == (min(size, max(1, round(size * fraction))) if size else 0)
    assert (np.diff(chosen) > 0).all()
    if size:
        assert chosen[0] == 0
        assert chosen[-1] < size
        gaps = np.diff(np.append(chosen, size))
        assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize(("fraction", "expected"), [(1.0, list(range(8))), (0.5, [0, 2, 4, 6]), (0.01, [0])])
def test_spread_by_example(fraction: float, expected: list[int]) -> None:
    assert spread(8, fraction).tolist() == expected
