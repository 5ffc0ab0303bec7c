"""Every setting of a tuner that a configuration has arrives at the tuner."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from xlate.candidates.batch import CandidateBatch
from xlate.config.limits import Range, limits_of
from xlate.config.tune_schema import TUNERS, TuneConfig
from xlate.jobs.train import tuners
from xlate.jobs.train.tuning import tuning_settings
from xlate.scoring.weights import Weights
from xlate.tuners.tuned import Tuned

TRAINED_D = np.ones(2, dtype=np.bool_)
# Read where lists are decoded, not by the tuner or its rounds.
ELSEWHERE = {"name", "split", "source", "references", "start", "nbest", "metric", "gain", "processes"}


def given_to(monkeypatch: pytest.MonkeyPatch, config: TuneConfig) -> str:
    """All that the tuner and its rounds are called with, in words."""
    seen: list[Any] = [tuning_settings(config, 1)]

    def called(lists: CandidateBatch, weights: Weights, *more: Any, **named: Any) -> Tuned:
        seen.extend([vars(one) if hasattr(one, "gamma") or hasattr(one, "margin") else one for one in more])
        seen.append(named)
        return Tuned(weights, 0.0)

    for name in ("mira", "mert", "pro", "descend"):
        monkeypatch.setattr(tuners, name, called)
    start = Weights(np.ones(2), np.zeros(0), ("a", "b"))
    tuners.optimiser(config, TRAINED_D)(None, start, 1)  # type: ignore[arg-type]
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
    changed = replace(config, **{key: other(getattr(config, key), limits_of(type(config))[key])})
    assert given_to(monkeypatch, config) == given_to(monkeypatch, config)
    assert given_to(monkeypatch, changed) != given_to(monkeypatch, config)
