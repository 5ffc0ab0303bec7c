"""The tuning loop: rounds on disk, resumption, choice among rounds, early end."""

from __future__ import annotations

import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import CandidateStore
from xlate.errors import InputError
from xlate.learning.tuning import Tuning, fingerprint, round_path
from xlate.machine import Stopped
from xlate.scoring.weights import Weights
from xlate.tuners.settings import TuneConfig

SENTENCES, HYPOTHESES, SIZE, FLOATS = 12, 30, 4, 3


class Toy:
    """A decoder over fixed hypotheses whose first float tells how good they are."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.dense = random.normal(size=(SENTENCES, HYPOTHESES, FLOATS)).astype(np.float32)
        good = np.clip(np.round(5 + 2 * self.dense[..., 0]), 0, 10)
        tens = np.full_like(good, 10)
        self.gain = np.stack([tens, tens, *[good] * 4, *[tens] * 4], -1)
        self.decoded = 0

    def decode(self, weights: Weights) -> CandidateBatch:
        self.decoded += 1
        order = np.argsort(-(self.dense @ weights.dense_D), axis=1, kind="stable")[:, :SIZE]
        rows = np.arange(SENTENCES)[:, None]
        return CandidateBatch(
            np.arange(SENTENCES + 1) * SIZE,
            self.dense[rows, order].reshape(-1, FLOATS),
            self.gain[rows, order].reshape(SENTENCES * SIZE, -1),
            np.zeros(SENTENCES * SIZE + 1, np.int64),
            np.zeros(0, np.int32),
        )


def regression(lists: CandidateBatch, weights: Weights, seed: int) -> Weights:
    """A step towards what predicts the number of matches; the seed jitters it, so every round differs."""
    dense = lists.dense_CD.astype(np.float64)
    found = np.linalg.lstsq(dense, lists.gain_CG[:, 2] - 5.0, rcond=None)[0]
    jitter = np.random.default_rng(seed).normal(size=FLOATS) * 0.01
    return Weights(0.5 * weights.dense_D + 0.5 * found + jitter, weights.sparse_F, weights.dense_names)


START = Weights(np.array([-1.0, 1.0, 0.5]), np.zeros(0), ("good", "b", "c"))


def test_tuning_finds_what_is_good(tmp_path: Path) -> None:
    found = Tuning(Toy().decode, regression, TuneConfig(rounds=6), tmp_path).run(START)
    weights, rounds = found
    assert [figures.round for figures in rounds] == list(range(len(rounds)))
    assert weights.dense_D[0] > 5 * abs(weights.dense_D[1:]).max()
    assert rounds[0].new == SENTENCES * SIZE
    assert all(later.pool == earlier.pool + later.new for earlier, later in pairwise(rounds))
    assert rounds[-1].bleu > rounds[0].bleu + 10


def test_the_first_decoding_is_no_round(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    toy = Toy()
    Tuning(toy.decode, regression, TuneConfig(rounds=2, tolerance=0.0), tmp_path).run(START)
    told = [message.partition(": BLEU")[0] for message in caplog.messages]
    assert told == ["round 0/2, the first decoding", "round 1/2", "round 2/2"]
    assert toy.decoded == 3


@pytest.mark.parametrize("killed_after", [1, 3])
def test_a_stopped_tuning_goes_on_to_the_same_weights(tmp_path: Path, killed_after: int) -> None:
    settings = TuneConfig(rounds=4, tolerance=0.0)
    whole_toy = Toy()
    whole = Tuning(whole_toy.decode, regression, settings, tmp_path / "whole").run(START)
    toy = Toy()
    with pytest.raises(Stopped):
        Tuning(toy.decode, regression, settings, tmp_path / "cut").run(START, lambda: toy.decoded >= killed_after)
    again = Toy()
    second = Tuning(again.decode, regression, settings, tmp_path / "cut").run(START)
    assert np.array_equal(whole[0].dense_D, second[0].dense_D)
    assert whole[1] == second[1]
    assert again.decoded == whole_toy.decoded - killed_after


def test_rounds_of_other_weights_are_decoded_again(tmp_path: Path) -> None:
    settings = TuneConfig(rounds=2)
    Tuning(Toy().decode, regression, settings, tmp_path).run(START)
    toy = Toy()
    other = Weights(START.dense_D * np.array([1.0, -1.0, 1.0]), START.sparse_F, START.dense_names)
    Tuning(toy.decode, regression, settings, tmp_path).run(other)
    assert toy.decoded == 3
    assert CandidateStore.open(round_path(tmp_path, 0)).metadata["weights"] == fingerprint(other)


def one_hypothesis(gain_K: list[float], ids: list[int]) -> CandidateBatch:
    """One list of one hypothesis, whose only float is 1."""
    gain = np.array([gain_K], np.float32)
    offsets = np.array([0, len(ids)])
    return CandidateBatch(np.array([0, 1]), np.ones((1, 1), np.float32), gain, offsets, np.array(ids, np.int32))


@pytest.mark.parametrize(
    ("given", "chosen"), [({"length_band": 0.1}, 1.0), ({"length_band": 0.5}, 2.0), ({"select": "last"}, 2.0)]
)
def test_best_prefers_translations_of_the_right_length(tmp_path: Path, given: dict[str, Any], chosen: float) -> None:
    """The second weights have the higher BLEU, but their translation is 1.3 times as long as the reference."""
    rows = {1.0: [10, 10, 5, 4, 3, 2, 10, 9, 8, 7], 2.0: [13, 10, 13, 12, 11, 10, 13, 12, 11, 10]}
    first, second = (Weights(np.array([value]), np.zeros(0), ("a",)) for value in rows)
    settings = TuneConfig(rounds=1, **given)
    tuning = Tuning(lambda weights: one_hypothesis(rows[weights.dense_D[0]], []), lambda *_: second, settings, tmp_path)
    assert tuning.run(first)[0].dense_D.tolist() == [chosen]


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        # A loss of less than 3 % is not astray: every round begins at the last one and goes the whole way.
        ({1: 10, 5: 9.9, 9: 9.8}, [1, 5, 9, 13]),
        # 5 is astray, and so is 3 after half of the way; 2 is better than 1, but 4 is astray again.
        ({1: 8, 5: 1, 3: 7, 2: 9, 4: 8}, [1, 5, 3, 2, 4, 3]),
        # 5 is astray. 3 is no better than 1, but not astray either, so rounds go the whole way from it.
        ({1: 8, 5: 1, 3: 7.9, 7: 8.1, 11: 8}, [1, 5, 3, 7, 11, 15]),
        # 5 loses 5 %. 3 is better than 1, so rounds go the whole way again, and 7 is not astray.
        ({1: 8, 5: 7.6, 3: 9, 7: 8.9, 11: 8.8}, [1, 5, 3, 7, 11, 15]),
    ],
)
def test_a_round_that_goes_astray_is_shortened(
    tmp_path: Path, matches: dict[float, float], expected: list[float]
) -> None:
    """Every optimisation moves all weights by 4."""
    decoded, sparse = [], []

    def decode(weights: Weights) -> CandidateBatch:
        decoded.append(float(weights.dense_D[0]))
        sparse.append(weights.sparse_F.tolist())
        n = matches.get(decoded[-1], 5.0)
        return one_hypothesis([10, 10, n, n, n, n, 10, 10, 10, 10], [len(decoded)])

    def optimise(lists: CandidateBatch, weights: Weights, seed: int) -> Weights:
        return Weights(weights.dense_D + 4.0, weights.sparse_F + 4.0, weights.dense_names)

    start = Weights(np.array([1.0]), np.ones(9), ("a",))
    best, _ = Tuning(decode, optimise, TuneConfig(rounds=len(expected) - 1, least_new=0.0), tmp_path).run(start)
    assert decoded == expected
    assert sparse == [[value] * 9 for value in expected]
    assert best.dense_D.tolist() == [max(matches, key=lambda value: matches[value])]


def test_heldout_sentences_are_not_in_the_pool(tmp_path: Path) -> None:
    seen: list[int] = []

    def count(lists: CandidateBatch, weights: Weights, seed: int) -> Weights:
        seen.append(len(lists))
        return regression(lists, weights, seed)

    found = Tuning(Toy().decode, count, TuneConfig(rounds=2, heldout_every=4), tmp_path).run(START)
    assert seen == [9, 9]
    assert all(figures.heldout_bleu is not None for figures in found[1])


def test_a_damaged_round_is_named_and_decoded_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = TuneConfig(rounds=2, tolerance=0.0)
    whole = Tuning(Toy().decode, regression, settings, tmp_path).run(START)
    damaged = round_path(tmp_path, 1) / "dense_CD.npy"
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(bytes(data))
    toy = Toy()
    again = Tuning(toy.decode, regression, settings, tmp_path).run(START)
    assert str(damaged) in caplog.text
    assert toy.decoded == 1
    assert np.array_equal(whole[0].dense_D, again[0].dense_D)


def test_what_is_no_round_is_left_alone(tmp_path: Path) -> None:
    round_path(tmp_path, 0).mkdir()
    (round_path(tmp_path, 0) / "diary").write_text("mine")
    with pytest.raises(InputError):
        Tuning(Toy().decode, regression, TuneConfig(rounds=1), tmp_path).run(START)
    assert (round_path(tmp_path, 0) / "diary").read_text() == "mine"
