"""The features that fired in a derivation, as values and as text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.models.test_every_system import SENTENCES, SYSTEMS, lcs
from xlate.jobs.inspect.fired import FiredFeatures, full_explanation
from xlate.jobs.run_text import TokenizedText
from xlate.jobs.translate import Translator


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


def test_the_strongest_features_stand_behind_the_trace() -> None:
    system = SYSTEMS["phrase sparse"]().with_search(nbest=1)
    translation = Translator(TokenizedText(), system).translate_line("b d a")
    derivation = translation.derivations[0]
    text = full_explanation(translation, top=3)
    trace = system.explain(translation.source, derivation)
    assert text.startswith(f"{trace}\nsparse features that fired: ")
    title, *rows = text.removeprefix(trace).strip().splitlines()
    fired = [one for step in FiredFeatures(system).of(derivation) for one in step.weighted]
    assert f"{len(fired)} with a weight" in title
    assert title.endswith("; the strongest:")
    largest = sorted((one.score for one in fired), key=lambda score: -abs(score))[:3]
    told = [re.match(r" +([+-][\d.]+)(?: ×(\d+))? +(\S.*?)  in (.*→.*|end of sentence)$", row) for row in rows]
    scores = [float(row[1]) * int(row[2] or 1) for row in told if row]
    assert scores == pytest.approx(largest, abs=1e-3)
    assert {row[3] for row in told if row} <= {one.name for one in fired}


def test_what_has_no_features_is_explained_by_its_trace() -> None:
    system = SYSTEMS["phrase"]().with_search(nbest=1)
    translation = Translator(TokenizedText(), system).translate_line("b d a")
    assert full_explanation(translation) == system.explain(translation.source, translation.derivations[0])


def test_features_without_weights_are_not_told() -> None:
    system = SYSTEMS["phrase sparse"]().with_search(nbest=1)
    none = system.changed(sparse_F=np.zeros_like(system.weights.sparse_F))
    translation = Translator(TokenizedText(), none).translate_line("b d a")
    assert full_explanation(translation) == none.explain(translation.source, translation.derivations[0])
