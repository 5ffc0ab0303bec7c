"""Answers are JSON that says what a derivation is, for every kind of system."""

from __future__ import annotations

import json

import pytest

from tests.models.test_every_system import SENTENCES, SYSTEMS
from xlate.jobs.inspect.fired import FiredFeatures
from xlate.jobs.run_text import TokenizedText
from xlate.jobs.serving.answers import SHOWN, explained
from xlate.jobs.translate import Translator


@pytest.mark.parametrize("name", ["block", "distortion", "phrase sparse", "hierarchical structure", "lcs deletions"])
def test_steps_cover_the_source_and_make_up_the_target(name: str) -> None:
    system = SYSTEMS[name]().with_search(nbest=1)
    translator, fired = Translator(TokenizedText(), system), FiredFeatures(system)
    for words in [*SENTENCES, []]:
        translation = translator.translate_line(" ".join(words))
        answer = json.loads(json.dumps(explained(translation, fired), allow_nan=False))
        steps = answer["steps"]
        covered = [at for step in steps for a, b in step["source_spans"] for at in range(a, b)]
        assert sorted(covered) == list(range(len(words)))
        assert [at for step in steps for at in range(*step["target_span"])] == list(range(len(answer["target"])))
        for step in steps:
            assert step["target"] == " ".join(answer["target"][slice(*step["target_span"])])
            assert step["source"] == " … ".join(" ".join(words[a:b]) for a, b in step["source_spans"])
            assert step["orientation"] in ("goes on", "swaps", "jumps")
            assert len(step["features"]) <= SHOWN
        score = translation.derivations[0].score
        assert sum(row["score"] for row in answer["features"]) == pytest.approx(score, abs=1e-9)
        assert answer["trace"] == system.explain(translation.source, translation.derivations[0])


def test_features_add_up_with_those_that_are_not_shown() -> None:
    system = SYSTEMS["phrase sparse"]().with_search(nbest=1)
    translation = Translator(TokenizedText(), system).translate_line("b d a")
    answer = explained(translation, FiredFeatures(system))
    told = sum(sum(one["score"] for one in step["features"]) + step["more"]["score"] for step in answer["steps"])
    charged = sum(row["score"] for row in answer["features"] if row["name"].startswith("Sparse"))
    assert told == pytest.approx(charged)
    assert any(step["more"]["count"] for step in answer["steps"])
    assert set(answer["legend"]) >= {"reordering", "source_first"}
