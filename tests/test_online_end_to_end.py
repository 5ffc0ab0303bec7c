"""source=online from the command line: systems learn from a dev set that is decoded on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.commands import Said, bits_of, sets_of, succeed, summary_of
from tests.made_once import made_once
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, SEARCH, phrase_run, trained, translated  # noqa: F401
from xlate.cli.main import main
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.jobs.train.online import OnlineTraining, update_of
from xlate.learning.online_learner import OnlineLearner
from xlate.models.tuned import TunedByFold
from xlate.phrases.matching import TableRows
from xlate.scoring.weights import WEIGHTS_FILE, load_weights
from xlate.updates.online import AveragedPerceptron, LossSteps, Mira, TillmannZhang
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Folds, WithoutFold

ONLINE = ["source=online", "source.iterations=2", "source.nbest=20", "source.C=0.001"]
SYSTEM = ["model=phrase", *SEARCH, "decoder.pop_limit=50"]
LOCAL = [*SYSTEM, *ONLINE, "sparse=local", "source.start=base", "source.metric='bleu:1,chrf:1'", "source.batch=3"]


@pytest.fixture(scope="module")
def jumps_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A run of the model with distortion."""
    given = ["model=distortion", "model.threshold=1", "loss.binary.epochs=1"]
    return made_once(tmp_path_factory, "jumps", lambda folder: trained(work, folder, *given))


@pytest.fixture(scope="module")
def local_run(work: Path, phrase_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A run of sparse features that begins with the floats of another."""
    folder = tmp_path_factory.mktemp("online") / "local"
    trained(work, folder, *LOCAL, f"base={phrase_run}")
    return folder


def test_the_phrase_system_learns_while_it_decodes(work: Path, tmp_path: Path) -> None:  # noqa: F811
    figures = trained(work, tmp_path / "run", *SYSTEM, *ONLINE, "measure_test=true")
    history = figures["history"]
    assert len(history) == figures["iterations"] == 2
    assert history[-1]["oracle_bleu"] > history[0]["oracle_bleu"] > history[0]["bleu"]
    assert figures["dev_bleu"] > 20
    assert figures["test_bleu"] > 15
    metrics = (tmp_path / "run" / "metrics.jsonl").read_text()
    for tag in ("BLEU", "oracle_BLEU", "violated", "alpha", "active", "sentences_per_second"):
        assert metrics.count(f'"online/{tag}"') == 2
    assert len(translated(tmp_path / "run", tmp_path)) == 3
    assert not list((tmp_path / "run").rglob("latest.safetensors"))


def test_sparse_features_are_learned_from_a_run_of_floats(local_run: Path) -> None:
    figures = summary_of(local_run)
    assert 0 < figures["active_features"] < 20_000
    assert figures["history"][0]["active"] <= figures["history"][-1]["active"]
    assert len(list(load_weights(local_run / WEIGHTS_FILE).learned("phrase"))) == figures["active_features"]


def test_models_over_blocks_learn_from_a_run(work: Path, run: Path, tmp_path: Path) -> None:  # noqa: F811
    given = [*ONLINE, f"base={run}", "source.start=base", "source.batch=10", "source.processes=2"]
    figures = trained(work, tmp_path / "run", "model=block", "model.threshold=1", *given)
    assert figures["active_features"] > 0
    assert figures["dev_bleu"] > 15
    assert figures["history"][-1]["oracle_bleu"] > figures["history"][0]["bleu"]
    before, after = (sets_of(one)["linked"] for one in (run, tmp_path / "run"))
    assert before.dense_D.tolist() != after.dense_D.tolist()


@pytest.mark.parametrize("binary", [["BB", "WB"], []], ids=["binary", "floats"])
def test_models_over_blocks_learn_from_the_training_text_in_folds(
    work: Path,  # noqa: F811
    jumps_run: Path,
    tmp_path: Path,
    binary: list[str],
    refused_training: Said,
) -> None:
    own = ["model=distortion", "model.threshold=1", f"model.binary=[{','.join(binary)}]"]
    given = [*own, *ONLINE, f"base={jumps_run}", "source.start=base"]
    figures = trained(work, tmp_path / "run", *given, "source.folds=2", "source.sentences=12", "source.batch=4")
    assert figures["online_sentences"] == 12
    learned = list(load_weights(tmp_path / "run" / WEIGHTS_FILE).learned("linked"))
    assert {family for _, family, *_ in learned} == set(binary)
    assert figures.get("active_features", 0) == len(learned)
    refused_training(work, *given, "model.floats=[direct]")
    online = OnlineTraining(config_of_run(tmp_path / "run"))
    tuned, held = online.decodes, WorkDirectory(work)
    assert isinstance(tuned, TunedByFold)
    folds, whole = Folds.of_events(held, 2), held.blocks
    assert set(tuned.parts) == {0, 1}
    for fold, part in tuned.parts.items():
        system = part.system
        others = WithoutFold(held, folds, fold, TableRows(whole.table))
        assert system.model.blocks.count_B.tolist() == others.blocks.count_B.tolist() != whole.count_B.tolist()
        # Blocks have one number everywhere, and so have the features of two of them.
        assert len(system.model.blocks.table) == len(whole.table)
        if binary:
            assert system.features.keys_F.tolist() == online.tuned.system.system.features.keys_F.tolist()


def test_updates_by_name() -> None:
    """That each learns is tested in tests/learning/test_matrix.py."""

    def named(name: str) -> object:
        given = [*SYSTEM, *ONLINE, f"source.update={name}", "source.eta=0.5"]
        return update_of(load(TrainConfig, "train", given).source, 1)

    assert named("mira") == Mira(1.0, 0.001)
    assert named("averaged_perceptron") == AveragedPerceptron()
    assert named("tillmann_zhang") == TillmannZhang(1.0, 0.5)
    ramp = named("ramp")
    assert isinstance(ramp, LossSteps)
    assert ramp.eta == 0.5


def test_stopped_by_a_signal_it_goes_on_to_the_same_bits(
    work: Path,  # noqa: F811
    phrase_run: Path,  # noqa: F811
    local_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = [f"work={work}", f"base={phrase_run}", *LOCAL, "samples=0"]
    learn, learned = OnlineLearner.learn, 0

    def signalled(self: OnlineLearner, *arguments: object) -> object:
        nonlocal learned
        learned += 1
        if learned == 40:
            os.kill(os.getpid(), signal.SIGTERM)
        return learn(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(OnlineLearner, "learn", signalled)
    assert main(["train", f"run={tmp_path / 'run'}", *given]) == 128 + signal.SIGTERM
    monkeypatch.undo()
    succeed("train", f"run={tmp_path / 'run'}", *given)
    assert bits_of(tmp_path / "run") == bits_of(local_run)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([*SYSTEM, "source.k=30"], "a list has fewer translations"),
        ([*SYSTEM, "source.update=mert"], "no such update"),
        ([*SYSTEM, "loss=mert"], "online training takes its update from source.update"),
        (["model=block"], "no run to start from"),
    ],
    ids=["k", "update", "loss", "base"],
)
def test_settings_that_cannot_be(work: Path, refused_training: Said, given: list[str], words: str) -> None:  # noqa: F811
    assert words in refused_training(work, *ONLINE, *given)
