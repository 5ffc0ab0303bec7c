"""Wrong settings of every kind of training end with one message before a file is made; then the right ones run."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from tests.test_end_to_end import QUICK, prepare_small, train_quickly
from xlate.cli.main import main
from xlate.jobs.train.warnings import not_too_long, steps_an_epoch, warn_if_unmoved
from xlate.scoring.weights import Weights

PHRASE = ["model=phrase", "decoder=phrase", "loss=mira"]
LISTS = ["model=phrase", "decoder=phrase", "loss=xbleu", "sparse=local"]
RERANK = ["model=rerank", "loss=xbleu", "nbest=list.nbest", "references=[list.ref]"]
WRONG = [
    # settings of the search
    ["decoder.mode=swp"],
    ["decoder.partition=odd"],
    ["decoder.option_order=luck"],
    ["decoder.beam=0"],
    ["decoder.options=0"],
    ["decoder.threshold=1.5"],
    ["decoder.max_words=0"],
    ["model=distortion", "decoder=distortion", "decoder.window=99"],
    ["model=distortion", "decoder=distortion", "decoder.max_skips=-1"],
    [*PHRASE, "decoder.algorithm=odd"],
    [*PHRASE, "decoder.stack=0"],
    [*PHRASE, "decoder.pop_limit=0"],
    [*PHRASE, "decoder.early_threshold=2"],
    [*PHRASE, "decoder.mode=swp"],
    # decoders of other models
    ["decoder=phrase"],
    ["decoder=distortion"],
    ["model=floats", "decoder=phrase"],
    ["model=distortion", "decoder=mon"],
    ["model=phrase", "loss=mira", "decoder=distortion"],
    [*RERANK, "decoder=phrase"],
    # of local training
    ["model.kind=odd"],
    ["model.binary=[XX]"],
    ["model.floats=[odd]"],
    ["model.floats=[]"],
    ["model.alternatives=-1"],
    ["device=tpu"],
    ["dev_sentences=0"],
    ["measures=[]"],
    ["measures=[ter]"],
    ["measures=[bleu,odd]"],
    ["samples=-1"],
    ["loss.name=odd"],
    ["loss.eta=0"],
    ["loss.eta=.nan"],
    ["loss.sink=.nan"],
    ["loss.binary.eta=0"],
    ["loss.l1=0.1", "loss.l2=0.1"],
    ["loss.batch=-1"],
    ["loss.check_bound=true", "loss.batch=64"],
    ["loss.check_bound=true", "loss.l1=0.1"],
    ["loss.block=0"],
    ["loss.floats.data=odd"],
    ["loss.floats.subset=0"],
    ["loss.floats.epochs=-1"],
    ["loss.floats.data=nbest"],
    ["loss.floats.data=nbest", "base=nowhere"],
    ["base=nowhere"],
    ["loss=perceptron", "base={run}"],
    ["model=context", "base={run}"],
    # of the global model
    ["loss=global"],
    ["loss=global", "base=nowhere"],
    ["loss=global", "base={run}", "loss.globally.rule=odd"],
    ["loss=global", "base={run}", "loss.globally.split=odd"],
    ["loss=global", "base={run}", "loss.globally.oracles=0"],
    ["loss=global", "base={run}", "model.threshold=2"],
    # of tuning
    ["loss=mira"],
    ["loss=mira", "base=nowhere"],
    ["loss=mira", "base={run}", "model.threshold=2"],
    ["model=phrase", "decoder=phrase", "loss=local_softmax"],
    ["model=phrase", "loss=global"],
    [*PHRASE, "base={run}", "loss.tune.start=base"],
    [*PHRASE, "model.reordering=odd"],
    [*PHRASE, "loss.tune.start=odd"],
    [*PHRASE, "loss.tune.start=base"],
    [*PHRASE, "loss.tune.split=odd"],
    [*PHRASE, "loss.tune.rounds=0"],
    [*PHRASE, "loss.tune.nbest=0"],
    [*PHRASE, "loss.tune.select=odd"],
    [*PHRASE, "loss.tune.metric=odd"],
    [*PHRASE, "loss=ramp", "loss.tune.gain=odd"],
    [*PHRASE, "loss.tune.gain=gao"],
    [*PHRASE, "nbest=list.nbest"],
    [*PHRASE, "loss.tune.name=mert"],
    [*PHRASE, "loss.tune.heldout_every=1"],
    [*PHRASE, "loss.tune.processes=0"],
    [*PHRASE, "loss.tune.epochs=0"],
    [*PHRASE, "loss.tune.C=0"],
    [*PHRASE, "loss.tune.decay=1"],
    [*PHRASE, "loss.name=odd"],
    [*PHRASE, "loss=mert", "loss.tune.restarts=-1"],
    [*PHRASE, "loss=pro", "loss.tune.samples=0"],
    [*PHRASE, "loss=softmax_margin", "loss.tune.margin=-1"],
    [*PHRASE, "sparse=local", "model.sparse.words=[odd]"],
    [*PHRASE, "sparse=local", "model.sparse.words=['absent.a,absent.b']"],
    [*PHRASE, "sparse=local", "model.sparse.reordering=[odd]"],
    [*PHRASE, "sparse=full", "model.reordering=wbe"],
    ["sparse=local"],
    # of lists
    ["model=phrase", "decoder=phrase", "loss=xbleu"],
    [*LISTS, "loss.lists.objective=odd"],
    [*LISTS, "loss.lists.tuner=pro"],
    [*LISTS, "loss/tune=odd"],
    [*LISTS, "loss.tune.start=base"],
    [*LISTS, "loss.lists.gain=odd"],
    [*LISTS, "loss.lists.folds=1"],
    [*LISTS, "loss.lists.rate=0"],
    [*LISTS, "loss.lists.epochs=0"],
    [*LISTS, "loss.lists.sentences=1"],
    [*LISTS, "loss.lists.objective=expected_corpus_bleu"],
    [*LISTS, "base=nowhere"],
    [*LISTS, "base={run}"],
    [*RERANK, "loss.lists.gain=odd"],
    [*RERANK, "loss.lists.rounds=2"],
    [*RERANK, "model.rerank.ngrams=-1"],
    [*RERANK[:2], "nbest=list.nbest"],
    [*RERANK, "base={run}"],
    # of online training
    ["model=hierarchical", "source=online", "source.references=[x]"],
    ["model=hierarchical", "source=online", "source.folds=2", "source.references=[x]"],
    [*RERANK, "loss=mira", "loss.tune.weights=[F]"],
]  # fmt: skip


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work directory that nothing else was trained on, so that whatever is made shows."""
    folder = tmp_path_factory.mktemp("settings") / "work"
    prepare_small(folder)
    return folder


@pytest.fixture(scope="module")
def run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on it."""
    folder = tmp_path_factory.mktemp("settings") / "run"
    train_quickly(work, folder)
    return folder


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def _like_the_run(given: list[str]) -> list[str]:
    """What fits the run of the fixtures, where the model has such a key: it is not what shall be refused."""
    return [] if {"model=phrase", "model=rerank"} & set(given) else ["model.threshold=1"]


@pytest.mark.parametrize("wrong", WRONG, ids=" ".join)
def test_wrong_settings_write_nothing(
    work: Path,
    run: Path,
    tmp_path: Path,
    wrong: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.nbest").write_text("0 ||| a ||| F= 1 ||| 1\n")
    (tmp_path / "list.ref").write_text("a\n")
    before = files(work), files(tmp_path)
    given = [setting.replace("{run}", str(run)) for setting in wrong]
    assert main(["train", f"work={work}", f"run={tmp_path / 'run'}", *_like_the_run(given), *given]) == 2
    seen = capsys.readouterr().err
    assert "  seen:     " in seen or "  expected: " in seen
    assert (files(work), files(tmp_path)) == before


def test_the_metric_that_lists_are_ranked_for_is_named_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.nbest").write_text("0 ||| a ||| F= 1 ||| 1\n")
    assert main(["train", *RERANK, "loss=mira", "loss.tune.metric=chrf"]) == 2
    seen = capsys.readouterr().err
    assert "loss.tune.metric=chrf" in seen
    assert "model.rerank.metric=chrf" in seen
    assert "weights" not in seen


def test_the_corrected_command_runs_where_the_wrong_one_was_refused(work: Path, tmp_path: Path) -> None:
    command = ["train", f"work={work}", f"run={tmp_path / 'run'}", *QUICK]
    assert main([*command, "decoder.mode=swp"]) == 2
    assert main([*command, "decoder.mode=swap"]) == 0


def test_the_demo_is_not_prepared_for_wrong_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "decoder.mode=swp"]) == 2
    assert not files(tmp_path)


@pytest.mark.parametrize(("instances", "batch", "steps"), [(5, 2, 3), (4, 4, 1), (0, 4, 0), (41, 10, 6), (20, 100, 1)])
def test_steps_of_an_epoch(instances: int, batch: int, steps: int) -> None:
    """Counted one by one: batches of every chunk of 20 instances."""
    chunks = [range(start, min(start + 20, instances)) for start in range(0, instances, 20)]
    assert steps_an_epoch(instances, batch, 20) == sum(len(range(0, len(chunk), batch)) for chunk in chunks)
    assert batch == 10 or steps_an_epoch(instances, batch, 20) == steps


def test_few_steps_and_weights_that_stay_are_named(
    work: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert main(["train", f"work={work}", f"run={tmp_path / 'a'}", *QUICK, "loss.batch=1000"]) == 0
    assert "phase binary makes 2 steps an epoch" in caplog.text
    assert "changed no weight" not in caplog.text
    caplog.clear()
    still = ["loss.floats.epochs=0", "loss.binary.epochs=0", "model.threshold=1"]
    with caplog.at_level(logging.WARNING):
        assert main(["train", f"work={work}", f"run={tmp_path / 'b'}", *still]) == 0
    assert "training changed no weight" in caplog.text
    assert "sparse weights are 0 after training" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert main(["train", f"work={work}", f"run={tmp_path / 'c'}", *QUICK]) == 0
        assert main(["train", f"work={work}", f"run={tmp_path / 'd'}", "loss=uniform", "model=floats"]) == 0
    assert not caplog.text


def test_weights_of_another_scale_did_not_move(caplog: pytest.LogCaptureFixture) -> None:
    one, same, other = (Weights(np.array(w), np.zeros(0), ("a", "b")) for w in ([1.0, -1.0], [0.5, -0.5], [1.0, 1.0]))
    warn_if_unmoved({"set": one}, {"set": other}, "why")
    assert not caplog.text
    warn_if_unmoved({"set": one}, {"set": same}, "why")
    assert "warning: training changed no weight (why)" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO):
        warn_if_unmoved({"set": one}, {"set": same}, "why", "tuning", expected=True)
    assert caplog.messages == ["tuning changed no weight (why)"]


def test_sentences_that_are_too_long_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    assert not_too_long([3, 400], 400, "dev") == [0, 1]
    assert not caplog.text
    assert not_too_long([3, 401, 0], 400, "dev") == [0, 2]
    assert "dev: 1 of 3 sentences left out" in caplog.text
