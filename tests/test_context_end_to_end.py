"""Predictions in context on a small built-in corpus: classifiers, a phrase system with them, and tables for Moses."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Capture, Said, events_of, sets_of, succeed, summary_of
from tests.made_once import made_once
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, listed, phrase_run, trained, translated  # noqa: F401
from xlate.config.stored import config_of_run
from xlate.models.context.classifiers import context_stores
from xlate.models.context.runs import PREDICTED_BY
from xlate.models.phrase.kind import open_phrase_model
from xlate.models.phrase.model import SentencePhrases
from xlate.scoring.weights import load_weights, save_weights
from xlate.text.lines import read_lines
from xlate.work.directory import WorkDirectory

CONTEXT = ["model=context", "model.words=[all,class4]", "model.bits=16", "model.folds=3", "loss.epochs=3"]


@pytest.fixture(scope="module")
def context_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "context", lambda folder: trained(work, folder, *CONTEXT))


@pytest.fixture(scope="module")
def predicting(work: Path, context_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A phrase run whose feature the classifier is."""
    use = ["context=feature", f"model.context.run={context_run}", "model.context.best=5", "loss=mira"]
    return made_once(tmp_path_factory, "predicting", lambda folder: trained(work, folder, *PHRASE, *use))


def test_a_classifier_learns_to_tell_translations_in_context(work: Path, context_run: Path) -> None:  # noqa: F811
    figures = summary_of(context_run)
    losses = [epoch["valid_loss"] for epoch in figures["history"]]
    assert losses[-1] < losses[0]
    assert 0 < figures["P"] < 0.5
    assert figures["accuracy"] > 0.5
    check_how_good_it_is(context_run)
    stores = context_stores(WorkDirectory(work), config_of_run(context_run).model)
    gains = stores.train.arrays.gain_CG[:, 0]
    assert set(gains.tolist()) == {1.0, -1.0}
    assert (np.add.reduceat(gains > 0, stores.train.arrays.candidate_offsets_I1[:-1]) >= 1).all()
    # Without a context of its own a phrase has the shares of the table; trained on unseen sentences they are believed.
    assert figures["weights"]["context"]["forward"] > 0.2


def test_a_phrase_system_tunes_and_translates_with_predictions(
    work: Path,  # noqa: F811
    context_run: Path,
    predicting: Path,
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
) -> None:
    use = ["context=feature", f"model.context.run={context_run}", "model.context.best=5"]
    assert sets_of(predicting)["phrase"].floats["Context0"] > 0
    lines, lists = listed(predicting, tmp_path)
    assert len(lines) == 3
    assert "Context0=" in lists
    assert lines != translated(phrase_run, tmp_path)
    assert lines == translated(predicting, tmp_path, "processes=2")
    # As if the classifier had other weights now.
    file = load_weights(shutil.copytree(predicting, tmp_path / "other") / "weights.safetensors")
    other = {**file.metadata, PREDICTED_BY: "other"}
    save_weights(tmp_path / "other" / "weights.safetensors", file.sets, extra=file.extra, metadata=other)
    assert "not the one that this run was tuned with" in refused(
        "translate", f"run={tmp_path / 'other'}", f"input={tmp_path / 'in.txt'}"
    )
    # Tuned on from a run without predictions.
    on = ["loss=mert", "loss.tune.rounds=1", "loss.tune.restarts=1", "loss.tune.start=base"]
    figures = trained(work, tmp_path / "from", *PHRASE, *use, *on, f"base={phrase_run}")
    assert figures["tune_BLEU"] > 20


def check_how_good_it_is(run: Path) -> None:  # noqa: F811
    """What a run of a classifier says of itself."""
    figures = summary_of(run)
    bands = figures["accuracy_by_frequency"].values()
    assert sum(band["instances"] for band in bands) == figures["heldout_instances"]
    # A tie is an error of P, and need not be one here.
    assert figures["accuracy"] >= 1 - figures["P"] - 1e-3
    assert 0 < figures["baseline_accuracy"] < 1
    assert 0 <= figures["calibration_error"] < 0.5
    events = events_of(run)
    for tag in (b"valid/reliability", b"valid/accuracy_by_frequency", b"weights/context/sparse", b"valid/accuracy"):
        assert tag in events


def test_predicted_words_alone(work: Path, tmp_path: Path, capsys: Capture) -> None:  # noqa: F811
    single = ["loss=one_vs_rest", "loss.epochs=1", "model.unit=word"]
    figures = trained(work, tmp_path / "words", *CONTEXT, *single)
    told = f"the right translation first in {100 * figures['accuracy']:.1f} %"
    assert told in capsys.readouterr().err
    check_how_good_it_is(tmp_path / "words")
    use = ["context=alone", f"model.context.run={tmp_path / 'words'}", "decoder.options=100"]
    trained(work, tmp_path / "run", *PHRASE, *use, "loss=mira", "loss.tune.rounds=1", "model.reordering=none")
    model = open_phrase_model(tmp_path / "run", config_of_run(tmp_path / "run"))
    assert model.in_sentence is not None
    words = WorkDirectory(work).source_tokens("Nirka no holdo va bolko ast.")
    table = model.table
    lengths = np.diff(table.source_phrases.offsets_S1)[table.source_B]
    every = np.arange(len(table))
    asked = SentencePhrases(words, np.zeros(len(every), int), np.ones(len(every), int), every)
    found = model.in_sentence.of(asked)[:, 0]
    assert (lengths[found > -np.inf] == 1).all()
    assert (found > -np.inf).any()
    assert len(translated(tmp_path / "run", tmp_path)) == 3


def test_what_cannot_be_is_refused(
    work: Path,  # noqa: F811
    run: Path,  # noqa: F811
    context_run: Path,
    tmp_path: Path,
    refused: Said,
    refused_training: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuned = [*PHRASE, "context=feature", "loss=mira"]
    twice = [f"model.context.{name}={context_run}" for name in ("run", "distortion")]
    for given, words in (
        (tuned, "model.context.run"),
        ([*tuned, f"model.context.run={run}"], "model=context"),
        ([*tuned, *twice], "model.predicts=distortion"),
        ([*CONTEXT, "model.predicts=distortion", "model.target=[pairs]"], "model.target"),
        ([*CONTEXT, "model.target=[pairs]"], "model.target"),
        ([*CONTEXT, "loss.negatives=2"], "loss.negatives=2"),
        ([*CONTEXT, "model.left_out=3", "model.left_out_of=3"], "no such fold"),
        ([*CONTEXT, "loss.name=expected_corpus_bleu"], "loss.name"),
        ([*CONTEXT, "loss.l1=0.1", "loss.l2=0.1"], "two penalties"),
    ):
        assert words in refused_training(work, *given)
    monkeypatch.setattr("xlate.machine.free_memory", lambda: 2_000_000)
    distances = [*CONTEXT, "model.predicts=distortion", "model.target=[]", "model.reach=1000"]
    assert "model.reach=1000, which needs" in refused("train", f"work={work}", f"run={tmp_path / 'far'}", *distances)
    for late, word in (("model.words=[suffix0]", "suffix0"), ("model.factors=[pos]", "pos")):
        assert word in refused("train", f"work={work}", f"run={tmp_path / 'late'}", *CONTEXT, late)
    assert "context=feature" in refused("translate", f"run={context_run}", f"input={context_run / 'config.yaml'}")


def test_tables_of_sentences_translate_as_the_run_does(predicting: Path, tmp_path: Path) -> None:
    """With reordering scores in them; tests/test_distortion_end_to_end.py has those in files of their own."""
    free = listed(predicting, tmp_path)
    out = tmp_path / "tables"
    for _ in range(2):
        succeed("export", f"run={predicting}", f"out={out}", f"input={tmp_path / 'in.txt'}", "reordering=scores")
    assert listed(predicting, tmp_path, f"tables={out}") == free
    files = {"0.gz", "1.gz", "2.gz", "README.txt", "translate.sh", "input.txt", "moses.ini", "lm.arpa.gz"}
    cased = {"truecase-model.source", "truecase-model.target"}
    assert {path.name for path in out.iterdir()} == files | cased | {"xlate-export.json"}
    assert "num-features=11 path=0.gz " in (out / "moses.ini").read_text()
    assert read_lines(out / "1.gz") == []
    rows = [line.split(" ||| ") for line in read_lines(out / "2.gz")]
    assert rows == sorted(rows, key=lambda row: f"{row[0]} |||".encode())
    assert {(len(row), len(row[2].split(" "))) for row in rows} == {(6, 11)}


def test_what_has_no_place_in_tables_is_refused(
    predicting: Path, context_run: Path, tmp_path: Path, refused: Said
) -> None:
    translated(predicting, tmp_path)
    assert "input=FILE" in refused("export", f"run={predicting}", f"out={tmp_path / 'out'}")
    refused("export", f"run={context_run}", f"out={tmp_path / 'out'}", f"input={tmp_path / 'in.txt'}")
    succeed("export", f"run={predicting}", f"out={tmp_path / 'out'}", f"input={tmp_path / 'in.txt'}")
    (tmp_path / "in.txt").write_text("Nirka va.\n\nGonban va fuspan ri pikum nu.\n")
    files = [f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'o'}", f"tables={tmp_path / 'out'}"]
    assert "a different sentence" in refused("translate", f"run={predicting}", *files)
    (tmp_path / "in.txt").write_text("nirka " * 401 + "\n")
    assert "401 words" in refused(
        "export", f"run={predicting}", f"out={tmp_path / 'out2'}", f"input={tmp_path / 'in.txt'}"
    )


def test_weights_and_a_sentence_are_shown_in_words(
    context_run: Path, tmp_path: Path, refused: Said, printed: Said
) -> None:
    shown = printed("inspect", f"run={context_run}", "find=va", "top=3")
    assert "va: " in shown
    assert "all[-1]=" in shown
    shown = printed("inspect", f"run={context_run}", "sentence='Nirka no holdo va bolko ast.'", "top=4")
    assert "in context" in shown
    assert "nirka no holdo va bolko ast ." in shown.lower()
    assert "no phrase with translations in context" in refused("inspect", f"run={context_run}", "find=xyzzy")
    assert "have no names" in refused("inspect", f"run={context_run}", f"weights={tmp_path / 'w'}")
