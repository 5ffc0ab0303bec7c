"""Sparse features and predictions together: lists of folds, predicted by classifiers that have not seen them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.test_context_end_to_end import CONTEXT, context_run  # noqa: F401
from tests.test_distortion_end_to_end import distortion_run  # noqa: F401
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import FEW, SEARCH, trained, translated
from xlate.align.copies import balanced_folds
from xlate.cli.main import main
from xlate.config.model_schema import ContextUseConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run, read_config
from xlate.models.context.model import ContextModel
from xlate.models.context.opening import classifier, with_fold_predictions
from xlate.models.context.predicted import PredictedScores
from xlate.models.context.runs import fold_classifier
from xlate.models.context.stores import context_stores
from xlate.models.phrase.folds import PhraseFolds
from xlate.models.phrase.sentence_scores import SentencePhrases
from xlate.models.phrase.store import load_phrase_model
from xlate.scoring.weights import load_weights
from xlate.work.directory import WorkDirectory

LISTS = ["loss.lists.folds=3", "loss.lists.nbest=10", "loss.lists.shard=120", "loss.lists.epochs=3"]
SPARSE = ["model=phrase", "loss=xbleu", "sparse=local", "model.sparse.words=[top20]", *FEW, *SEARCH, *LISTS]


def test_sparse_features_are_learned_beside_predictions(
    work: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    distortion_run: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = tmp_path / "work"
    shutil.copytree(work, own)
    prepared = WorkDirectory(own)
    use = ["context=feature", f"model.context.run={context_run}", f"model.context.distortion={distortion_run}"]
    figures = trained(own, tmp_path / "run", *SPARSE, *use)
    assert figures["active_features"] > 20
    weights = load_weights(tmp_path / "run" / "weights.safetensors").sets["phrase"]
    assert {"Context0", "Displacement0"} <= set(weights.dense_names)
    assert len(translated(tmp_path / "run", tmp_path)) == 3
    fold_S = balanced_folds(prepared.copies, 3)
    for run in (context_run, distortion_run):
        for fold in range(3):
            config, folder = fold_classifier(run, prepared, (fold, 3))
            assert config_of_run(folder).model.left_out == fold
            stores = context_stores(prepared, config.model)
            for store in (stores.train, stores.heldout):
                assert store.arrays.sentence_I is not None
                assert not (fold_S[store.arrays.sentence_I] == fold).any()
    # What a fold's system knows of a pair is by its own numbers, and p(e|f) is that without the fold.
    models = PhraseFolds(prepared, "none", 3)
    model = load_phrase_model(models.stage(1).folder / "model")
    rows = models.rows.of(model.table)
    settings = ContextUseConfig(run=str(context_run))
    scores = with_fold_predictions(model, settings, prepared, (1, 3), rows).in_sentence
    assert isinstance(scores, PredictedScores)
    found = classifier(fold_classifier(context_run, prepared, (1, 3))[1], prepared)
    assert isinstance(found, ContextModel)
    counts = found.listed.pair_N
    assert np.isin(counts, rows.pair_B).all()
    words = prepared.source_tokens("Nirka no holdo va bolko ast.")
    predicted = found.predict(words)
    own_row = {int(b): own for own, b in enumerate(rows.pair_B.tolist())}
    spans = np.repeat(np.arange(len(predicted.spans)), np.diff(predicted.offsets_I1))
    mine = np.array([own_row[b] for b in predicted.pair_C.tolist()])
    given = scores.of(SentencePhrases(words, predicted.spans.start_I[spans], predicted.spans.end_I[spans], mine))[:, 0]
    assert given == pytest.approx(np.maximum(predicted.log_C, -100.0))
    far = scores.of(SentencePhrases(words, np.zeros(5, int), np.full(5, 30), np.arange(5)))[:, 0]
    assert np.exp(far) == pytest.approx(np.maximum(model.table.scores_B4[:5, 2], np.exp(-100.0)))
    # Float weights of a run without predictions cannot begin.
    plain = read_config(tmp_path / "run" / "config.yaml", TrainConfig)
    assert plain.model.context is not None
    trained(own, tmp_path / "plain", "model=phrase", *FEW, *SEARCH, "loss=mira", "loss.tune.rounds=1")
    asked = ["train", f"work={own}", f"run={tmp_path / 'none'}", *SPARSE, *use, f"base={tmp_path / 'plain'}"]
    assert main(asked) == 2
    assert "other predictions" in capsys.readouterr().err
