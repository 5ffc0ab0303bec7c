"""Mixtures of measures to tune for."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.errors import InputError
from xlate.metrics.bleu import sentence_bleu
from xlate.metrics.measures import measure_sentences
from xlate.metrics.objective import BLEU, Objective

HYPOTHESES = ["the house is very small today", "a cat sat on the mat", "no"]
REFERENCES = ["the house is small today", "the cat sat on the mat", "yes indeed"]


def statistics(*measures):
    found = [measure_sentences(name, HYPOTHESES, [REFERENCES], tokenize="none").stats for name in measures]
    return np.concatenate([stats.values_SK for stats in found], axis=1), [stats.score() for stats in found]


def test_a_mixture_is_the_mean_of_its_measures():
    rows, (bleu, chrf, ter) = statistics("bleu", "chrf", "ter")
    # sacrebleu's rows of BLEU have lengths first, as ours.
    objective = Objective.of("ter:1,bleu:2,chrf:1")
    assert objective.others == ("chrf", "ter")
    expected = 0.5 * bleu + 0.25 * chrf + 0.25 * (100 - ter)
    assert objective.corpus(rows.sum(axis=0)[None])[0] == pytest.approx(expected, abs=1e-6)
    beside = objective.beside_bleu(rows)
    assert objective.sentences(rows) == pytest.approx(beside + 0.005 * sentence_bleu(rows[:, :10]))


def test_one_measure_alone():
    rows, (_, chrf) = statistics("bleu", "chrf")
    assert Objective.of("chrf").corpus(rows.sum(axis=0)[None])[0] == pytest.approx(chrf)
    rows, (bleu,) = statistics("bleu")
    assert Objective.of("bleu").is_bleu
    assert BLEU.corpus(rows.sum(axis=0)[None])[0] == pytest.approx(bleu)


@pytest.mark.parametrize("text", ["", "meteor", "bleu,bleu", "bleu:0", "bleu:1.2.3", "bleu:-1"])
def test_what_is_no_measure_is_refused(text):
    with pytest.raises(InputError, match="measure"):
        Objective.of(text)


def test_smoothing_of_sentences_is_chosen() -> None:
    rows = np.array([[6.0, 8, 5, 3, 1, 0, 6, 5, 4, 3], [9.0, 8, 7, 4, 2, 1, 9, 8, 7, 6]])
    for smooth in ("add-1", "gao", "exp"):
        found = Objective.of("bleu", smooth).sentences(rows)
        assert found == pytest.approx(sentence_bleu(rows, smooth) / 100)
    assert Objective.of("bleu").sentences(rows) == pytest.approx(sentence_bleu(rows) / 100)
    with pytest.raises(InputError, match="smoothing"):
        Objective.of("bleu", "other")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("bleu", "BLEU"),
        ("bleu:2", "BLEU"),
        ("chrf", "chrF"),
        ("ter", "(100 - TER)"),
        ("bleu:1,ter:3", "0.25 BLEU + 0.75 (100 - TER)"),
    ],
)
def test_figures_are_called_by_what_they_are(text: str, name: str) -> None:
    assert str(Objective.of(text)) == name
