"""Predictions in context on a small built-in corpus: classifiers, a phrase system with them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.made_once import made_once
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, phrase_run, trained, translated  # noqa: F401
from xlate.cli.main import main
from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config
from xlate.models.context.opening import context_model
from xlate.models.context.stores import context_stores
from xlate.models.phrase.kind import open_phrase_model
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.sentence_scores import SentencePhrases
from xlate.scoring.weights import load_weights, save_weights
from xlate.work.directory import WorkDirectory

CONTEXT = ["model=context", "model.words=[all,class4]", "model.bits=16", "model.folds=3", "loss.epochs=3"]


@pytest.fixture(scope="module")
def context_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "context", lambda folder: trained(work, folder, *CONTEXT))


def opened(folder: Path) -> PhraseModel:
    return open_phrase_model(folder, read_config(folder / "config.yaml", TrainConfig))


def test_a_classifier_learns_to_tell_translations_in_context(work: Path, context_run: Path) -> None:  # noqa: F811
    figures = json.loads((context_run / "summary.json").read_text())
    losses = [epoch["valid_loss"] for epoch in figures["history"]]
    assert losses[-1] < losses[0]
    assert 0 < figures["P"] < 0.5
    stores = context_stores(WorkDirectory(work), read_config(context_run / "config.yaml", TrainConfig).model)
    gains = stores.train.arrays.gain_CG[:, 0]
    assert set(gains.tolist()) == {1.0, -1.0}
    assert (np.add.reduceat(gains > 0, stores.train.arrays.candidate_offsets_I1[:-1]) >= 1).all()
    # Without a context of its own a phrase has the shares of the table; trained on unseen sentences they are believed.
    assert figures["weights"]["context"]["forward"] > 0.2


def test_predictions_add_up(work: Path, context_run: Path) -> None:  # noqa: F811
    model = context_model(context_run, WorkDirectory(work))
    words = WorkDirectory(work).source_tokens("Nirka no holdo va bolko ast.")
    found = model.predict(words)
    assert len(found.spans) > 4
    assert np.add.reduceat(np.exp(found.log_C), found.offsets_I1[:-1]) == pytest.approx(1.0)
    assert not np.allclose(found.log_C, found.share_C, atol=0.1)


def test_a_phrase_system_tunes_and_translates_with_predictions(
    work: Path,  # noqa: F811
    context_run: Path,
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    use = ["context=feature", f"model.context.run={context_run}"]
    trained(work, tmp_path / "run", *PHRASE, *use, "loss=mira")
    weights = load_weights(tmp_path / "run" / "weights.safetensors").sets["phrase"]
    held = dict(zip(weights.dense_names, weights.dense_D.tolist(), strict=True))
    assert held["Context0"] > 0
    lines = translated(tmp_path / "run", tmp_path, "nbest=5", f"nbest_out={tmp_path / 'nbest'}")
    assert len(lines) == 3
    assert "Context0=" in (tmp_path / "nbest").read_text()
    assert lines != translated(phrase_run, tmp_path)
    assert lines == translated(tmp_path / "run", tmp_path, "processes=2")
    weights_file = context_run / "weights.safetensors"
    kept = weights_file.read_bytes()
    held_weights = load_weights(weights_file)
    save_weights(weights_file, held_weights.sets, extra=held_weights.extra, metadata={**held_weights.metadata, "x": 1})
    assert main(["translate", f"run={tmp_path / 'run'}", f"input={tmp_path / 'in.txt'}"]) == 2
    weights_file.write_bytes(kept)
    # Tuned on from a run without predictions, and from one with them.
    on = ["loss=mert", "loss.tune.restarts=1", "loss.tune.start=base"]
    figures = trained(work, tmp_path / "from", *PHRASE, *use, *on, f"base={phrase_run}")
    assert figures["tune_BLEU"] > 20
    sparse = ["sparse=local", "model.sparse.words=[top20]", "loss=mira", "loss.tune.start=base"]
    figures = trained(work, tmp_path / "sparse", *PHRASE, *use, *sparse, f"base={tmp_path / 'run'}")
    assert figures["tune_BLEU"] > 20


def test_predicted_words_alone(work: Path, tmp_path: Path) -> None:  # noqa: F811
    settings = [*CONTEXT, "loss=one_vs_rest", "loss.epochs=3", "model.unit=word"]
    trained(work, tmp_path / "words", *settings)
    use = ["context=alone", f"model.context.run={tmp_path / 'words'}", "decoder.options=100"]
    trained(work, tmp_path / "run", *PHRASE, *use, "loss=mira", "model.reordering=none")
    model = opened(tmp_path / "run")
    assert model.in_sentence is not None
    words = WorkDirectory(work).source_tokens("Nirka no holdo va bolko ast.")
    table = model.table
    lengths = np.diff(table.source_phrases.offsets_S1)[table.source_B]
    every = np.arange(len(table))
    found = model.in_sentence.of(SentencePhrases(words, np.zeros(len(every), int), np.ones(len(every), int), every))[
        :, 0
    ]
    assert (lengths[found > -np.inf] == 1).all()
    assert (found > -np.inf).any()
    assert len(translated(tmp_path / "run", tmp_path)) == 3


def test_what_cannot_be_is_refused(
    work: Path,  # noqa: F811
    run: Path,  # noqa: F811
    context_run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*arguments: str) -> str:
        assert main(["train", f"work={work}", f"run={tmp_path / 'none'}", *arguments]) == 2
        assert not (tmp_path / "none").exists()
        return capsys.readouterr().err

    assert "model.context.run" in refused(*PHRASE, "context=feature", "loss=mira")
    assert "model=context" in refused(*PHRASE, "context=feature", f"model.context.run={run}", "loss=mira")
    assert "model.target" in refused(*CONTEXT, "model.predicts=distortion", "model.target=[pairs]")
    assert "loss.negatives=2" in refused(*CONTEXT, "loss.negatives=2")
    assert "no such fold" in refused(*CONTEXT, "model.left_out=3", "model.left_out_of=3")
    use = ["context=feature", f"model.context.run={context_run}"]
    second = f"model.context.distortion={context_run}"
    assert "model.predicts=distortion" in refused(*PHRASE, *use, second, "loss=mira")
    assert "model.target" in refused(*CONTEXT, "model.target=[pairs]")
    assert "loss.name" in refused(*CONTEXT, "loss.name=expected_corpus_bleu")
    monkeypatch.setattr("xlate.memory.free_memory", lambda: 2_000_000)
    distances = [*CONTEXT, "model.predicts=distortion", "model.target=[]", "model.reach=1000"]
    assert main(["train", f"work={work}", f"run={tmp_path / 'far'}", *distances]) == 2
    assert "model.reach=1000, which needs" in capsys.readouterr().err
    assert "model.marks" in refused(*CONTEXT, "model.marks=ring")
    assert "two penalties" in refused(*CONTEXT, "loss.l1=0.1", "loss.l2=0.1")
    assert main(["translate", f"run={context_run}", f"input={context_run / 'config.yaml'}"]) == 2
    assert "context=feature" in capsys.readouterr().err
