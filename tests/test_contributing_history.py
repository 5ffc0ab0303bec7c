"""CONTRIBUTING.md, "a phrase feature with history": one file adds it, tunes it with MIRA, and decodes with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.commands import sets_of, succeed
from tests.test_end_to_end import run, work  # noqa: F401
from xlate.array_types import Floats
from xlate.config.stored import config_of_run
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.history import HistoryFeature
from xlate.models.phrase.kind import open_phrase_model
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.options import PlacedPhrases

QUICK = ["loss.tune.rounds=1", "loss.tune.nbest=20", "decoder.pop_limit=50", "decoder.stack=50", "decoder.options=5"]


def first_and_last(_: PhraseModel, phrases: PlacedPhrases) -> Floats:
    """The first and the last word of each phrase, (2 · O,)."""
    return np.stack([phrases.first_O, phrases.last_O], axis=1).reshape(-1).astype(np.float64)


def move(state, option, _place, data, after):
    """1 for a phrase that begins with the word that the one before ended with, and for an end behind an odd word."""
    if option < 0:
        return float(state % 2)
    after[0] = int(data[2 * option + 1])
    return 1.0 if state == int(data[2 * option]) else 0.0


HistoryFeature("Repeated0", first_and_last, move)


def test_a_new_feature_with_history_is_tuned_and_decoded_with(work: Path, tmp_path: Path) -> None:  # noqa: F811
    settings = ["model=phrase", "decoder=phrase", "loss=mira", "model.histories=[Repeated0]", *QUICK]
    succeed("train", f"work={work}", f"run={tmp_path / 'run'}", *settings)
    weights = sets_of(tmp_path / "run")["phrase"]
    column = weights.dense_names.index("Repeated0")
    assert weights.dense_D[column] != 0.0
    config = config_of_run(tmp_path / "run")
    weights.dense_D[column] = 2.0
    model = open_phrase_model(tmp_path / "run", config)
    decoder = PhraseDecoder.opened(model, weights, config.decoder).with_search(nbest=20)
    words = ["nirka", "no", "holdo", "va", "bolko", "ast", "."]
    for derivation in decoder.translate(words):
        ids = [model.target_vocabulary.ids(step.target_words).tolist() for step in derivation.steps]
        again = sum(before[-1] == behind[0] for before, behind in zip([[0], *ids], ids, strict=False))
        assert derivation.features_D[column] == again + ids[-1][-1] % 2
        assert derivation.score == pytest.approx(decoder.weights_D @ derivation.features_D, abs=1e-9)
