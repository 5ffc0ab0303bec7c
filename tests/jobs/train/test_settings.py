"""Wrong settings of every kind of training end with one message before a file is made; then the right ones run."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, succeed
from tests.made_once import as_prepared, made_once
from tests.test_end_to_end import QUICK, prepare_small, train_quickly
from xlate.cli.main import main
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.jobs.train.recipe import not_too_long, phase_of, steps_an_epoch, warn_if_unmoved
from xlate.scoring.weights import Weights

PHRASE = "model=phrase decoder=phrase loss=mira"
LISTS = "model=phrase decoder=phrase loss=xbleu sparse=local"
RERANK = "model=rerank loss=xbleu nbest=list.nbest references=[list.ref]"
# What is given, where RUN is a finished run, and what the message says of it. Values outside their range:
# tests/config/test_limits.py.
WRONG = [
    # decoders of other models
    ("decoder=phrase", "the decoder belongs to another model"),
    (f"{RERANK} decoder=phrase", "expected: no decoder"),
    # of local training
    ("model.floats=[]", "a model without floats"),
    ("measures=[ter]", "runs need BLEU to be compared"),
    ("loss.l1=0.1 loss.l2=0.1", "two penalties"),
    ("loss.check_bound=true loss.batch=64", "loss.batch=0"),
    ("loss.check_bound=true loss.l1=0.1", "does not allow penalties"),
    ("loss.floats.data=nbest", "no run to decode n-best lists with"),
    ("base=nowhere", "this training does not start from a run"),
    # of classifiers
    ("model=context loss=mira", "mira"),
    ("model=context source=online", "online"),
    ("model=context model.target=[]", "translations that are not represented"),
    # of the global model
    ("loss=global", "needs a run of the local model"),
    ("loss=global base=RUN loss.globally.split=odd", "no odd set to train on"),
    ("loss=global base=RUN model.threshold=2", "the base run has a different model"),
    # of tuning
    ("loss=mira", "no run to start from"),
    ("loss=mira base=RUN model.threshold=2", "the base run has a different model"),
    ("model=phrase decoder=phrase loss=local_softmax", "the phrase model needs a tuner"),
    (f"{PHRASE} base=RUN loss.tune.start=base", "the base run has a different model"),
    (f"{PHRASE} loss.tune.start=base", "no run to start from"),
    (f"{PHRASE} loss.tune.split=odd", "no odd set"),
    (f"{PHRASE} loss.tune.metric=odd", "not a measure to tune for"),
    (f"{PHRASE} loss=ramp loss.tune.gain=odd", "unknown smoothing of sentence BLEU"),
    (f"{PHRASE} nbest=list.nbest", "needs a model that ranks lists"),
    (f"{PHRASE} loss.tune.name=mert", "two tuners"),
    (f"{PHRASE} sparse=local model.sparse.words=['absent.a,absent.b']", "absent.a: cannot be read"),
    (f"{PHRASE} sparse=local model.sparse.reordering=[odd]", "an unknown or repeated template"),
    (f"{PHRASE} sparse=full model.reordering=wbe", "model.reordering=wbe"),
    # of lists
    ("model=phrase decoder=phrase loss=xbleu", "no sparse features to train"),
    (f"{LISTS} loss.lists.objective=odd", "no such loss"),
    (f"{LISTS} loss.tune.start=base", "this training tunes float weights from scratch"),
    (f"{LISTS} loss.lists.gain=odd", "unknown smoothing of sentence BLEU"),
    (f"{LISTS} loss.lists.sentences=1", "too few lists"),
    (f"{LISTS} loss.lists.objective=expected_corpus_bleu", "expected_corpus_bleu"),
    (f"{LISTS} base=RUN", "the base run has a different model"),
    ("model=rerank loss=xbleu nbest=list.nbest", "n-best lists and their references"),
    (f"{RERANK} base=RUN", "this training does not start from a run"),
    # of online training
    ("model=hierarchical source=online source.folds=2 source.references=[x]", "references without a text"),
    (f"{RERANK} loss=mira loss.tune.weights=[F]", "training on lists learns all weights"),
    (f"{RERANK} loss=mira loss.tune.metric=chrf", "model.rerank.metric=chrf"),
]


def small_work(factory: pytest.TempPathFactory) -> Path:
    return made_once(factory, "small", prepare_small)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work directory that nothing else was trained on, so that whatever is made shows."""
    return as_prepared(small_work(tmp_path_factory), tmp_path_factory.mktemp("settings") / "work")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the same text."""
    return made_once(tmp_path_factory, "one", lambda folder: train_quickly(small_work(tmp_path_factory), folder))


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize(("wrong", "reason"), WRONG, ids=[wrong for wrong, _ in WRONG])
def test_wrong_settings_write_nothing(
    work: Path,
    run: Path,
    tmp_path: Path,
    wrong: str,
    reason: str,
    refused: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.nbest").write_text("0 ||| a ||| F= 1 ||| 1\n")
    (tmp_path / "list.ref").write_text("a\n")
    before = files(work), files(tmp_path)
    # The run has this threshold, which must not be what is refused.
    same = ["model.threshold=1"] if "base=RUN" in wrong and not wrong.startswith("model=") else []
    given = wrong.replace("RUN", str(run)).split()
    assert reason in refused("train", f"work={work}", f"run={tmp_path / 'run'}", *same, *given)
    assert (files(work), files(tmp_path)) == before


def test_the_demo_is_not_prepared_for_wrong_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "decoder.mode=swp"]) == 2
    assert not files(tmp_path)


@pytest.mark.parametrize(("instances", "batch", "steps"), [(5, 2, 3), (4, 4, 1), (0, 4, 0), (41, 10, 5), (20, 100, 1)])
def test_steps_of_an_epoch(instances: int, batch: int, steps: int) -> None:
    """No batch reaches from one chunk of 20 instances into the next."""
    assert steps_an_epoch(instances, batch, 20) == steps


def test_few_steps_and_weights_that_stay_are_named(
    work: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        succeed("train", f"work={work}", f"run={tmp_path / 'a'}", *QUICK, "loss.batch=1000")
    assert "phase binary takes 2 steps per epoch" in caplog.text
    assert "changed no weight" not in caplog.text
    caplog.clear()
    still = ["loss.floats.epochs=0", "loss.binary.epochs=0", "model.threshold=1", "samples=0"]
    with caplog.at_level(logging.WARNING):
        succeed("train", f"work={work}", f"run={tmp_path / 'b'}", *still)
    assert "training changed no weight" in caplog.text
    assert "sparse weights are 0 after training" in caplog.text


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


def test_a_phase_has_the_loss_and_the_seed_of_the_training() -> None:
    config = load(TrainConfig, "train", ["loss=hinge", "seed=7"])
    more = {"name": "floats", "weights": "linked", "trained": (True,), "train_sparse": False, "use_sparse": False}
    phase = phase_of(config, **more, epochs=2, eta_sparse=0.0)
    assert (phase.loss, phase.seed, phase.epochs) == ("hinge", 7, 2)
