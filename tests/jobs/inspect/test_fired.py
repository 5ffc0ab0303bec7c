"""Features that fired are those of the system, in words, with what they add."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.test_every_system import SENTENCES, SYSTEMS, lcs
from xlate.jobs.inspect.fired import FiredFeatures


@pytest.mark.parametrize("name", ["block", "distortion", "phrase sparse", "hierarchical structure"])
def test_what_fired_adds_up_to_what_the_search_charged(name: str) -> None:
    system = SYSTEMS[name]().with_search(nbest=5)
    fired = FiredFeatures(system)
    sums = np.array([name.startswith(("binary", "Sparse")) for name in system.feature_names])
    assert system.features is not None
    families = {family for family, _ in system.features.ranges}
    for words in SENTENCES:
        for derivation in system.translate(words):
            steps = fired.of(derivation)
            assert len(steps) == len(derivation.steps)
            added = sum(feature.score for step in steps for feature in step.weighted)
            assert added == pytest.approx((system.weights_D * derivation.features_D)[sums].sum(), abs=1e-9)
            for step in steps:
                sizes = [abs(feature.score) for feature in step.weighted]
                assert sizes == sorted(sizes, reverse=True)
                assert {feature.family for feature in step.weighted} <= families


def test_a_system_without_sparse_features_fires_none() -> None:
    system = lcs(1).with_search(nbest=1)
    derivation = system.translate(["a", "b"])[0]
    assert FiredFeatures(system).of(derivation) == [([], 0)] * len(derivation.steps)


def test_features_without_weight_are_counted() -> None:
    system = SYSTEMS["phrase sparse"]().with_search(nbest=1)
    derivation = system.translate(["a", "b"])[0]
    none = system.changed(sparse_F=np.zeros_like(system.weights.sparse_F))
    found = FiredFeatures(none).of(derivation)
    assert all(not step.weighted for step in found)
    assert sum(step.without_weight for step in found) > 0
