"""Lists of folds with predictions by classifiers that have not seen them, which are trained on over these lists."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import Said, bits_of, sets_of, succeed, summary_of
from tests.made_once import as_prepared
from tests.test_context_end_to_end import context_run, predicting  # noqa: F401
from tests.test_distortion_end_to_end import distortion_run  # noqa: F401
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, phrase_run, trained, translated  # noqa: F401
from xlate.align.copies import balanced_folds
from xlate.cli.main import main
from xlate.config.model_schema import ContextUseConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.learning.run import Checkpoint
from xlate.models.context.classifiers import classifier, context_model, context_stores, with_predictions
from xlate.models.context.model import ContextModel
from xlate.models.context.predicted import OtherTable, PredictedScores
from xlate.models.context.runs import fold_classifier
from xlate.models.phrase.model import SentencePhrases, load_phrase_model
from xlate.models.phrase.training import PhraseLists
from xlate.scoring.weights import load_weights
from xlate.work.directory import WorkDirectory

LISTS = ["loss.lists.folds=2", "loss.lists.nbest=10", "loss.lists.shard=150", "loss.lists.epochs=3"]
ON = ["model=context", "loss=xbleu", *LISTS, "loss.lists.tolerance=0", "loss.lists.gamma=3"]
SPARSE = [*PHRASE, "loss=xbleu", "sparse=local", "model.sparse.words=[top20]", *LISTS]
WEIGHTS = "weights.safetensors"


@pytest.fixture(scope="module")
def own(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A work directory that lists are written into."""
    return as_prepared(work, tmp_path_factory.mktemp("lists") / "work")


@pytest.fixture(scope="module")
def on(
    own: Path,
    predicting: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The classifier trained on."""
    folder = tmp_path_factory.mktemp("runs") / "on"
    trained(own, folder, *ON, f"base={predicting}")
    return folder


def test_a_classifier_is_trained_on_and_used(own: Path, on: Path, context_run: Path) -> None:  # noqa: F811
    figures = summary_of(on)
    assert figures["list_heldout_loss"] <= figures["list_heldout_loss_before"]
    assert figures["changed_weights"] > 100
    assert figures["dev_bleu"] > 20
    # What it learned is in the file of a classifier like any other.
    before, after = (load_weights(run / WEIGHTS) for run in (context_run, on))
    changed = after.sets["context"].sparse_F != before.sets["context"].sparse_F
    assert 0 < changed.sum() <= figures["changed_weights"]
    assert after.sets["context"].dense_D.tolist() == before.sets["context"].dense_D.tolist()
    prepared = WorkDirectory(own)
    models = [context_model(run, prepared) for run in (context_run, on)]
    words = prepared.source_tokens("Nirka no holdo va bolko ast.")
    one, other = (model.predict(words) for model in models)
    assert np.add.reduceat(np.exp(other.log_C), other.offsets_I1[:-1]) == pytest.approx(1.0)
    assert not np.array_equal(one.log_C, other.log_C)
    with pytest.raises(InputError, match="every fold"):
        fold_classifier(on, prepared, (0, 2))


class Killed(BaseException):
    """Ends a process in the middle."""


def test_killed_after_an_epoch_it_ends_with_the_same_bytes(
    own: Path,
    predicting: Path,  # noqa: F811
    on: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save, saved = Checkpoint.save, []

    def once(self: Checkpoint, state: dict[str, Any], *arrays: Any) -> None:
        save(self, state, *arrays)
        saved.append(len(state["figures"]))
        if len(saved) == 1:
            raise Killed

    monkeypatch.setattr(Checkpoint, "save", once)
    asked = ["train", f"work={own}", f"run={tmp_path / 'run'}", *ON, f"base={predicting}", "checkpoint_seconds=0"]
    with pytest.raises(Killed):
        main(asked)
    assert not (tmp_path / "run" / WEIGHTS).exists()
    succeed(*asked)
    assert saved == [2, 3, 4]
    assert bits_of(tmp_path / "run") == bits_of(on)


def test_what_cannot_be_trained_on_is_refused(
    own: Path,
    predicting: Path,  # noqa: F811
    on: Path,
    phrase_run: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    refused_training: Said,
) -> None:
    training = partial(refused_training, own, *ON)
    assert "base=RUN" in training()
    assert "without predictions" in training(f"base={phrase_run}")
    assert "model=phrase" in training(f"base={context_run}")
    assert "cannot change the classifier" in training(f"base={predicting}", "model.window=2")
    assert "loss.lists.joint" in training(f"base={predicting}", "loss.lists.joint=true")
    assert "every fold" in training(*SPARSE, "context=feature", f"model.context.run={on}")


def test_sparse_features_are_learned_beside_predictions(
    own: Path,
    context_run: Path,  # noqa: F811
    distortion_run: Path,  # noqa: F811
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    refused_training: Said,
) -> None:
    prepared = WorkDirectory(own)
    use = ["context=feature", f"model.context.run={context_run}", f"model.context.distortion={distortion_run}"]
    figures = trained(own, tmp_path / "run", *SPARSE, *use)
    assert figures["active_features"] > 20
    assert {"Context0", "Displacement0"} <= set(sets_of(tmp_path / "run")["phrase"].dense_names)
    assert len(translated(tmp_path / "run", tmp_path)) == 3
    fold_S = balanced_folds(prepared.copies, 2)
    for run in (context_run, distortion_run):
        for fold in range(2):
            config, folder = fold_classifier(run, prepared, (fold, 2))
            assert config_of_run(folder).model.left_out == fold
            stores = context_stores(prepared, config.model)
            for store in (stores.train, stores.heldout):
                assert store.arrays.sentence_I is not None
                assert not (fold_S[store.arrays.sentence_I] == fold).any()
    # What a fold's system knows of a pair is by its own numbers, and p(e|f) is that without the fold.
    models = PhraseLists(config_of_run(tmp_path / "run"), prepared, phrase_run, 2)
    model = load_phrase_model(models.stage(1).folder / "model")
    rows = models.rows.of(model.table)
    settings = ContextUseConfig(run=str(context_run))
    scores = with_predictions(model, settings, prepared, (1, 2), OtherTable(model.table, rows.pair_B)).in_sentence
    assert isinstance(scores, PredictedScores)
    found = classifier(fold_classifier(context_run, prepared, (1, 2))[1], prepared)
    assert isinstance(found, ContextModel)
    counts = found.choices.listed.pair_N
    assert np.isin(counts, rows.pair_B).all()
    words = prepared.source_tokens("Nirka no holdo va bolko ast.")
    predicted = found.predict(words)
    own_row = {int(b): own for own, b in enumerate(rows.pair_B.tolist())}
    spans = np.repeat(np.arange(len(predicted.spans.start_I)), np.diff(predicted.offsets_I1))
    mine = np.array([own_row[b] for b in predicted.pair_C.tolist()])
    given = scores.of(SentencePhrases(words, predicted.spans.start_I[spans], predicted.spans.end_I[spans], mine))[:, 0]
    assert given == pytest.approx(np.maximum(predicted.log_C, -100.0))
    far = scores.of(SentencePhrases(words, np.zeros(5, int), np.full(5, 30), np.arange(5)))[:, 0]
    assert np.exp(far) == pytest.approx(np.maximum(model.table.scores_B4[:5, 2], np.exp(-100.0)))
    # Float weights of a run without predictions cannot begin.
    assert "different predictions" in refused_training(own, *SPARSE, *use, f"base={phrase_run}")
