"""One against the rest: drawn candidates stand for all, so that the expectation of a step is the step of all."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.instances import instance_pass
from xlate.kernels.learning.slopes import Steps
from xlate.losses.one_vs_rest import OneVsRest
from xlate.updates.rule import UpdateRule

FLOATS = 3


def instance(seed: int, others: int = 6) -> CandidateBatch:
    """Two true candidates among others."""
    random = np.random.default_rng(seed)
    size = others + 2
    gain_C1 = -np.ones((size, 1), np.float32)
    gain_C1[[1, 4]] = 1.0
    return CandidateBatch(
        candidate_offsets_I1=np.array([0, size]),
        dense_CD=random.normal(size=(size, FLOATS)).astype(np.float32),
        gain_CG=gain_C1,
        part_id_offsets_P1=np.arange(size + 1),
        part_ids_N=np.arange(size, dtype=np.int32),
    ).validate()


def step(batch: CandidateBatch, negatives: int, seed: int) -> np.ndarray:
    """How a pass over one instance moves weights of 0.2: steps so small that they do not see each other."""
    rate, rule = 1e-6, UpdateRule()
    size = batch.candidates
    dense_D, sparse_F = np.full(FLOATS, 0.2), np.full(size, 0.2)
    learned = rule.learned(dense_D, sparse_F)
    loss = OneVsRest(negatives)
    steps = Steps(loss.numbers_array, rule.compiled(np.full(FLOATS, rate), rate), True, False, loss.negatives)
    state = np.array([seed], np.uint64)
    instance_pass(np.array([0]), batch.arrays(), learned, steps, loss.slope.pointer, state)
    return (np.concatenate([dense_D, sparse_F]) - 0.2) / rate


def test_the_mean_of_drawn_steps_is_the_whole_step() -> None:
    batch = instance(1)
    whole = step(batch, 0, 1)
    drawn = np.array([step(batch, 2, seed) for seed in range(1000)])
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - whole) < 4.5 * error + 1e-4).all()
    # Not one of them is the whole step, and each looks at two of the six others.
    others = np.delete(drawn[:, FLOATS:], [1, 4], axis=1)
    assert ((others != 0).sum(axis=1) == 2).all()
    assert (others != 0).mean(axis=0) == pytest.approx(np.full(6, 1 / 3), abs=0.08)


def test_enough_draws_are_the_whole_step() -> None:
    batch = instance(2)
    assert step(batch, 6, 3).tolist() == step(batch, 0, 1).tolist() == step(batch, 50, 9).tolist()


@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_the_mean_over_all_choices_is_the_loss(drawn: int) -> None:
    scores = torch.tensor(np.random.default_rng(3).normal(size=5))
    gains, loss = torch.tensor([1.0, -1, -1, -1, -1]), OneVsRest()
    whole = float(loss(scores, gains, torch.tensor([0, 5])))
    found = []
    for some in combinations(range(1, 5), drawn):
        rows = [0, *some]
        weighted = torch.tensor([1.0, *[-4.0 / drawn] * drawn])
        found.append(float(loss(scores[rows], weighted, torch.tensor([0, len(rows)]))))
    assert np.mean(found) == pytest.approx(whole)
    assert max(found) > whole
