"""MERT: envelopes and line searches against trying every place, and what the search must find."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tuners.test_mira import ALL, bleu_of, random_lists, telling_lists
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.envelope import corpus_bleu, envelopes, slope_orders, swept_statistics
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.objective import BLEU
from xlate.scoring.weights import Weights
from xlate.tuners.mert import mert, smoothed
from xlate.tuners.settings import MertConfig


def best_of(scores: np.ndarray, offsets: np.ndarray) -> list[int]:
    return [int(a + np.argmax(scores[a:b])) if a < b else -1 for a, b in pairwise(offsets)]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([7, 60]))
def test_sweep_is_what_trying_every_place_gives(seed: int, whole_numbers: bool, widest: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, widest, 4)
    sizes[0] += 1
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(offsets[-1])
    # Whole numbers make parallel lines, equal hypotheses and changes at the same place.
    draw = (
        (lambda: random.integers(-3, 4, total).astype(float)) if whole_numbers else (lambda: random.normal(size=total))
    )
    score, slope = draw(), draw()
    statistics = random.integers(0, 20, (total, 10)).astype(float)
    at, before, after, leftmost = envelopes(score, slope, slope_orders(slope, offsets), offsets)
    sums, edges = swept_statistics(np.argsort(at, kind="stable"), at, before, after, leftmost, statistics)
    assert (np.diff(edges) > 0).all()
    assert len(sums) == len(edges) + 1
    ends = np.concatenate([[edges[0] - 1.0], edges, [edges[-1] + 1.0]]) if len(edges) else np.array([-1.0, 1.0])
    for b, x in enumerate(0.5 * (ends[:-1] + ends[1:])):
        values = score + x * slope
        mine = np.zeros(10)
        for a, e in pairwise(offsets):
            if a < e:
                top = np.flatnonzero(values[a:e] >= values[a:e].max() - 1e-9) + a
                mine += statistics[top[0]] if len(top) == 1 else np.nan
        if not np.isnan(mine).any():
            assert np.allclose(mine, sums[b])


@given(st.integers(0, 1000))
def test_bleu_is_bleu(seed: int) -> None:
    random = np.random.default_rng(seed)
    totals = np.sort(random.integers(0, 50, (5, 4)))[:, ::-1]
    sums = np.concatenate(
        [totals[:, :1] + 1, random.integers(1, 50, (5, 1)), random.integers(0, totals + 1), totals], 1
    )
    expected = bleu_scores(sums, smooth="none")
    assert np.allclose(corpus_bleu(sums.astype(float)), np.where(sums[:, 2:6].all(axis=1), expected, 0.0))


def test_windows() -> None:
    assert smoothed(np.array([1.0, 2.0, 6.0, 0.0]), 1).tolist() == pytest.approx([1.5, 3.0, 8 / 3, 3.0])
    assert smoothed(np.array([1.0, 2.0]), 0).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("seed", range(3))
def test_one_weight_is_set_to_the_best_place(seed: int) -> None:
    lists = random_lists(seed, instances=8, most=6)
    start = Weights(np.array([0.5, 0.3, 0.0]), np.zeros(5), ("a", "b", "c"))
    one = np.array([False, False, True])
    options = MertConfig(restarts=0, directions=0, coordinate_rounds=1, window=0, length_band=99.0)
    found = mert(lists, start, replace(options, weights=["a"]), 1, BLEU, one)
    best = 0.0
    for x in np.concatenate([np.linspace(-50, 50, 201), np.linspace(-1, 1, 201)]):
        rows = [c for c in best_of(lists.dense_CD @ np.array([0.5, 0.3, x]), lists.candidate_offsets_I1) if c >= 0]
        best = max(best, float(corpus_bleu(lists.gain_CG[rows].sum(axis=0, dtype=float)[None])[0]))
    assert bleu_of(lists, found) >= best - 1e-9


def test_mert_finds_the_feature_that_counts_and_scales_it() -> None:
    lists, best = telling_lists()
    start = Weights(np.array([1.0, -1.0, 1.0]), np.zeros(0), ("a", "b", "c"))
    found = mert(lists, start, MertConfig(restarts=4), 1, BLEU, ALL)
    assert found.dense_D[1] > 3 * abs(found.dense_D[[0, 2]]).max()
    assert np.abs(found.dense_D).sum() == pytest.approx(1.0)
    assert bleu_of(lists, found) > 0.95 * best
    assert np.array_equal(found.dense_D, mert(lists, start, MertConfig(restarts=4), 1, BLEU, ALL).dense_D)


@pytest.mark.parametrize(("seed", "start"), [(seed, start) for seed in range(4) for start in (0.0, 0.5)])
def test_the_score_of_a_place_is_not_that_of_a_tie_broken_by_chance(seed: int, start: float) -> None:
    # Whole numbers make many hypotheses equal where the weight of the last feature is 0.
    lists = random_lists(seed, instances=8, most=6)
    whole_CD = np.random.default_rng(seed).integers(-1, 2, (lists.candidates, 2))
    mixed_CD = np.column_stack([whole_CD, lists.dense_CD[:, 2]]).astype(np.float32)
    lists = replace(lists, dense_CD=mixed_CD, part_values_N=0 * lists.part_values_N)
    begin = Weights(np.full(3, start), np.zeros(5), ("a", "b", "c"))
    options = MertConfig(restarts=5, window=0, length_band=99.0, weights=["a"])
    found = mert(lists, begin, options, 1, BLEU, ALL)
    # Other roundings break the ties in another way.
    scores = [bleu_of(lists, replace(found, dense_D=factor * found.dense_D)) for factor in (1.0, 0.37, 3.1)]
    assert scores == pytest.approx(scores[:1] * 3)


def one_list(dense: list[list[float]], gain: list[list[float]]) -> CandidateBatch:
    size, floats = len(dense), (np.array(rows, np.float32) for rows in (dense, gain))
    return CandidateBatch(np.array([0, size]), *floats, np.zeros(size + 1, np.int64), np.zeros(0, np.int32))


def test_lengths_off_the_band_are_not_taken() -> None:
    # Longer is better by matches, but the longer hypotheses are twice the reference.
    lists = one_list([[0.0], [1.0]], [[10, 10, 5, 4, 3, 2, 10, 9, 8, 7], [20, 10, 19, 18, 17, 16, 20, 19, 18, 17]])
    start = Weights(np.array([-1.0]), np.zeros(0), ("a",))
    free = mert(lists, start, MertConfig(restarts=2, window=0, length_band=5.0), 1, BLEU, ALL[:1])
    held = mert(lists, start, MertConfig(restarts=2, window=0, length_band=0.2), 1, BLEU, ALL[:1])
    assert free.dense_D[0] > 0 > held.dense_D[0]


def test_restarts_find_what_coordinates_do_not_and_move_only_what_is_trained() -> None:
    # From (-1, -1) the list scores 0, -1.5, -1.5 and -2. Along one coordinate the last hypothesis is never the best.
    matches = [[5, 4, 3, 2], [2, 2, 2, 1], [2, 2, 2, 1], [10, 9, 8, 7]]
    dense = [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1.5, 0.0], [1.0, 1.0, 0.0]]
    lists = one_list(dense, [[10, 10, *row, 10, 9, 8, 7] for row in matches])
    start = Weights(np.array([-1.0, -1.0, 0.25]), np.zeros(0), ("a", "b", "c"))
    trained = np.array([True, True, False])
    alone, more = (
        mert(lists, start, MertConfig(restarts=n, directions=0, window=0), 1, BLEU, trained) for n in (0, 100)
    )
    assert bleu_of(lists, alone) == pytest.approx(100 * (5 / 10 * 4 / 9 * 3 / 8 * 2 / 7) ** 0.25)
    assert bleu_of(lists, more) == pytest.approx(100.0)
    assert alone.dense_D[2] == more.dense_D[2] == 0.25
