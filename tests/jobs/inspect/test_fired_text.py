"""A translation is explained with the features that decided."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.models.test_every_system import SYSTEMS
from xlate.jobs.inspect.fired import FiredFeatures, full_explanation
from xlate.jobs.run_text import TokenizedText
from xlate.jobs.translate import Translator


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
