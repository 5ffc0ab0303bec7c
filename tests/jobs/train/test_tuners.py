"""Every setting of a tuner that a configuration has arrives at the tuner."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tests.tuners.test_mira import telling_lists
from xlate.candidates.batch import CandidateBatch
from xlate.jobs.train import tuning
from xlate.jobs.train.online import update_of
from xlate.jobs.train.tuning import chosen_weights, optimiser
from xlate.learning.settings import OnlineSourceConfig
from xlate.losses.loss import Loss
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.weights import Weights
from xlate.settings import Range, limit_of
from xlate.tuners.settings import (
    TUNERS,
    ExpectedBleuConfig,
    MertConfig,
    MiraConfig,
    ProConfig,
    RampConfig,
    TuneConfig,
)
from xlate.updates.online import LossSteps

TRAINED_D = np.ones(2, np.bool_)
# Read where lists are decoded, not by the tuner or its rounds; the seed is no key.
DECODING = {"name", "split", "source", "references", "start", "nbest", "metric", "gain", "processes"}
ELSEWHERE = DECODING | {"weights", "seed"}
# Read by the rounds.
ROUNDS = ("rounds", "select", "heldout_every", "length_band", "tolerance", "least_new")


def given_to(monkeypatch: pytest.MonkeyPatch, config: TuneConfig, key: str) -> str:
    """All that the tuner and its rounds are called with, in words; of a key that the loss has, the loss alone."""
    seen: list[Any] = [[getattr(config, name) for name in ROUNDS]]

    def called(lists: CandidateBatch, weights: Weights, *more: Any, **named: Any) -> Weights:
        losses = [vars(one) for one in more if isinstance(one, Loss) and hasattr(one, key)]
        seen.extend(losses or [*more, named])
        return weights

    monkeypatch.setattr(tuning, "descend", called)
    for name in tuning.DRAWING:
        monkeypatch.setitem(tuning.DRAWING, name, called)
    start = Weights(np.ones(2), np.zeros(0), ("a", "b"))
    tuning.optimiser(config, TRAINED_D, BLEU)(None, start, 1)  # type: ignore[arg-type]
    return repr(seen)


def other(value: Any, limit: Any) -> Any:
    """Another value within a limit."""
    if isinstance(limit, Range):
        return next(
            x for x in (value + 1, value / 2, value + 2, value - 1) if limit.holds(x) and type(x) is type(value)
        )
    return next(word for word in limit if word != value)


@pytest.mark.parametrize(
    ("tuner", "key"), [(t, f.name) for t, kind in TUNERS.items() for f in fields(kind) if f.name not in ELSEWHERE]
)
def test_every_key_arrives(monkeypatch: pytest.MonkeyPatch, tuner: str, key: str) -> None:
    config = TUNERS[tuner]()
    changed = replace(config, **{key: other(getattr(config, key), limit_of(type(config).__dataclass_fields__[key]))})
    assert given_to(monkeypatch, config, key) == given_to(monkeypatch, config, key)
    assert given_to(monkeypatch, changed, key) != given_to(monkeypatch, config, key)


@pytest.mark.parametrize(("metric", "loss"), [("bleu", "expected_corpus_bleu"), ("chrf", "expected_bleu")])
def test_only_bleu_is_expected_of_the_whole_text(monkeypatch: pytest.MonkeyPatch, metric: str, loss: str) -> None:
    seen: list[str] = []
    monkeypatch.setattr(tuning, "descend", lambda lists, weights, loss, *_: seen.append(loss.name) or weights)
    tuner = tuning.optimiser(ExpectedBleuConfig(), TRAINED_D, Objective.of(metric))
    tuner(None, Weights(np.ones(2), np.zeros(0), ("a", "b")), 1)  # type: ignore[arg-type]
    assert seen == [loss]


def test_settings_of_online_updates_arrive() -> None:
    for update, settings in (("hinge", {"gamma": 2.0, "margin": 3.0}), ("pro", {"seed": 7})):
        steps = update_of(OnlineSourceConfig(update=update, gamma=2.0, margin=3.0), 7)
        assert isinstance(steps, LossSteps)
        assert settings.items() <= vars(steps.loss).items()


START = Weights(np.array([-2.0, -1.0, 0.5]), np.zeros(0), ("a", "length", "block_count"))
ALL_D = np.ones(3, np.bool_)


@pytest.mark.parametrize("kind", [MiraConfig, MertConfig, ProConfig, ExpectedBleuConfig, RampConfig])
def test_weights_that_are_not_named_keep_their_values(kind: type[TuneConfig]) -> None:
    settings = kind(weights=["length"])
    chosen_D = chosen_weights(settings, START, ALL_D)
    found = optimiser(settings, chosen_D, BLEU)(telling_lists()[0], START, 1)
    assert found.dense_D[[0, 2]].tolist() == [-2.0, 0.5]
    assert found.dense_D[1] != -1.0


@pytest.mark.parametrize("kind", [MiraConfig, ExpectedBleuConfig])
def test_a_feature_in_its_unit_is_tuned_like_one_whose_values_are_divided_by_it(kind: type[TuneConfig]) -> None:
    """The score stays the same, and sizes sum to 1 in these units; powers of two change no digit."""
    (lists, _), unit_D = telling_lists(), np.array([1.0, 0.125, 1.0])
    divided = replace(lists, dense_CD=(lists.dense_CD / unit_D).astype(np.float32))
    inside = replace(START, dense_D=START.dense_D * unit_D)
    expected_D = optimiser(kind(), ALL_D, BLEU)(divided, inside, 1).dense_D / unit_D
    found_D = optimiser(kind(), ALL_D, BLEU, unit_D)(lists, START, 1).dense_D
    np.testing.assert_array_equal(found_D, expected_D)
    assert np.abs(found_D * unit_D).sum() == pytest.approx(1.0)
    assert not np.allclose(found_D, optimiser(kind(), ALL_D, BLEU)(lists, START, 1).dense_D)
