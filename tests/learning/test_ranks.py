"""Learning over ranks: means, shares and stops, with threads in place of the processes that torchrun starts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.learning.small_training import OnChunk, digest, initial, training
from tests.learning.test_list_learner import F, plain_settings, random_lists
from tests.learning.test_predicted_list_learner import learner as predicted_learner
from xlate.errors import InputError
from xlate.learning.list_learner import DeviceListLearner, EpochFigures, ListLearner, lists_identity
from xlate.learning.ranks import ONE, Ranks
from xlate.learning.run import Checkpoint
from xlate.machine import StopFlag, Stopped

SETTINGS = plain_settings(epochs=6, tolerance=0.0, adagrad=True, rate=0.3, batch=2)


@dataclass(frozen=True)
class Thread(Ranks):
    """A rank that is a thread of this process."""

    barrier: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))
    board: list[Any] = field(default_factory=list)

    def _gathered(self, numbers: Tensor) -> list[Tensor]:
        self.board[self.rank] = numbers
        self.barrier.wait(60)
        held = list(self.board)
        self.barrier.wait(60)
        return held


def over(size: int, work: Callable[[Ranks], Any]) -> list[Any]:
    """What work gives on each of some ranks."""
    barrier, board = threading.Barrier(size), [None] * size

    def begin(rank: int) -> Any:
        try:
            return work(Thread(rank, size, "cpu", barrier, board))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(begin, range(size)))


def list_learner(ranks: Ranks, kind: str = "compiled") -> ListLearner:
    if kind == "predicted":
        return predicted_learner(SETTINGS, ranks)
    rng, batch, gain_C = random_lists(3, lists=26)
    heldout_I = np.arange(len(batch)) % 3 == 0
    statistics = rng.integers(0, 9, size=(batch.candidates, 10))
    given = batch.arrays(gain_C, parts=True), statistics, heldout_I, F, SETTINGS, None
    return DeviceListLearner(*given, torch.device("cpu"), ranks) if kind == "device" else ListLearner(*given, ranks)


def test_the_total_is_added_in_rank_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xlate.learning.ranks.PART", 3)
    numbers_RN = np.random.default_rng(1).normal(size=(3, 10)) * 10.0 ** np.arange(-5, 5)
    for found in over(3, lambda ranks: ranks.total(numbers_RN[ranks.rank])):
        np.testing.assert_array_equal(found, (numbers_RN[0] + numbers_RN[1]) + numbers_RN[2])


@pytest.mark.parametrize("run", [1, 4])
def test_shares_are_uneven_parts_of_all(run: int) -> None:
    rows = np.arange(100, 123)
    parts = over(4, lambda ranks: ranks.share(rows, run))
    np.testing.assert_array_equal(np.concatenate(parts), rows)
    assert len({len(part) for part in parts}) > 1
    assert all((part[0] - 100) % run == 0 for part in parts)
    np.testing.assert_array_equal(ONE.share(rows, run), rows)


def test_one_epoch_is_the_weighted_mean_of_the_ranks_passes() -> None:
    def epoch(ranks: Ranks) -> tuple[int, dict[str, Any], dict[str, Any]]:
        learner = list_learner(ranks)
        alone = list_learner(ranks)
        alone.epoch(1)
        figures = learner.epochs()
        next(figures)
        next(figures)
        return len(learner.train), alone.copy(), learner.copy()

    (first, one, mixed), (second, other, same) = over(2, epoch)
    assert first != second
    for name in ("sparse_F", "sparse_squares_F"):
        mean = first / (first + second) * one[name] + second / (first + second) * other[name].astype(np.float64)
        np.testing.assert_allclose(mixed[name], mean, rtol=1e-6)
        np.testing.assert_array_equal(mixed[name], same[name])


@pytest.mark.parametrize(("size", "kind"), [(1, "compiled"), (2, "device"), (2, "predicted")])
def test_all_ranks_stop_after_the_same_epoch_and_resume_to_the_same_bits(tmp_path: Path, size: int, kind: str) -> None:
    def whole(ranks: Ranks) -> tuple[list[EpochFigures], dict[str, Any]]:
        learner = list_learner(ranks, kind)
        return list(learner.epochs()), learner.copy()

    def part(ranks: Ranks, last: int) -> tuple[list[EpochFigures], dict[str, Any]]:
        learner, stop, found = list_learner(ranks, kind), StopFlag(), []
        identity = lists_identity(learner.lists, SETTINGS, F)
        seconds = 0.0 if last % 2 else 1e9
        checkpoint = Checkpoint(tmp_path / "lists.safetensors", identity, seconds, refuses=False)
        for figures in learner.epochs(lambda: ranks.agree(stop), checkpoint):
            found.append(figures)
            if ranks.rank == size - 1 and len(found) == last:
                stop.signal = 15
        return found, learner.copy()

    (expected, learned), *_ = over(size, whole)
    for last in range(1, SETTINGS.epochs + 3):
        results = over(size, lambda ranks, last=last: part(ranks, last))
        assert [len(found) for found, _ in results] == [min(last, SETTINGS.epochs + 1)] * size
    for found, arrays in results:
        assert repr(found) == repr(expected)
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, learned[name])


def test_too_few_lists_for_the_ranks() -> None:
    with pytest.raises(InputError, match="too few lists"):
        list_learner(Ranks(0, 10))


def test_events_learned_by_ranks_that_stop_and_resume(folder: Path, whole: str) -> None:
    """One rank alone: test_interruption.py."""

    def unbroken(ranks: Ranks) -> str:
        return digest(replace(training(folder, checkpoint="whole"), ranks=ranks).run(initial(), StopFlag()))

    def part(ranks: Ranks, last: int) -> str | None:
        stop, chosen = StopFlag(), ranks.rank == 2
        reporter = OnChunk(lambda chunk: setattr(stop, "signal", 15) if chunk == last and chosen else None)
        seconds = 0.0 if last % 2 else 20.0
        try:
            held = replace(training(folder, reporter=reporter, checkpoint_seconds=seconds), ranks=ranks)
            return digest(held.run(initial(), stop))
        except Stopped:
            assert stop
            return None

    expected, *_ = over(3, unbroken)
    assert expected != whole
    for last in range(1, 30):
        found = over(3, lambda ranks, last=last: part(ranks, last))
        assert len(set(found)) == 1
        if found[0] is not None:
            break
    assert found[0] == expected


def test_averages_over_steps_are_averages_over_ranks() -> None:
    def mixed(ranks: Ranks) -> dict[str, Any]:
        steps = (4, 2)[ranks.rank]
        weight = np.full(2, float(ranks.rank + 1))
        held = {
            "sparse_F": weight.astype(np.float32),
            "sparse_sum_F": steps * weight,
            "touched_F": np.full(2, steps),
            "clock_1": np.array([steps]),
        }
        ranks.mix(held, steps)
        return held

    for held in over(2, mixed):
        mean = (4 * 1.0 + 2 * 2.0) / 6
        np.testing.assert_allclose(held["sparse_F"], mean)
        np.testing.assert_allclose(held["sparse_sum_F"] / held["clock_1"], mean)
        assert held["touched_F"].tolist() == [4, 4]


def test_the_first_rank_goes_first_and_does_the_rest() -> None:
    order: list[str] = []

    def work(ranks: Ranks) -> bool:
        with ranks.in_turn():
            order.append("first" if ranks.leads else "other")
        try:
            ranks.leave()
        except Stopped:
            return False
        return True

    assert over(3, work) == [True, False, False]
    assert order == ["first", "other", "other"]
