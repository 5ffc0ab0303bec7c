"""The joint model on a small built-in corpus: trained, stopped and resumed, and decoded with."""

from __future__ import annotations

import json
import random
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import Said, bits_of, sets_of, succeed, summary_of
from tests.made_once import made_once
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, listed, trained, translated
from xlate.cli.main import main
from xlate.config.model_schema import JointModelConfig
from xlate.jobs.train import joint, networks
from xlate.jobs.train.networks import NetworkLearning
from xlate.models.joint.feature import NAME
from xlate.scoring.weights import load_weights, save_weights
from xlate.work.directory import WorkDirectory

pytestmark = pytest.mark.usefixtures("one_thread")
JOINT = ["model=joint", "model.dimension=16", "model.hidden=24", "loss.noise=64", "loss.batch=64", "loss.epochs=4"]


@pytest.fixture(scope="module")
def joint_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "joint", lambda folder: trained(work, folder, *JOINT))


@pytest.fixture(scope="module")
def joined(work: Path, joint_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A phrase run whose feature the model is."""
    use = [f"model.joint={joint_run}", "loss=mira"]
    return made_once(tmp_path_factory, "joined", lambda folder: trained(work, folder, *PHRASE, *use))


def test_held_out_words_are_predicted_better_than_by_their_frequency(joint_run: Path) -> None:
    summary = summary_of(joint_run)
    history = [epoch["perplexity"] for epoch in summary["history"]]
    assert summary["perplexity"] == min(history) < history[0]
    log_share_V = load_weights(joint_run / "weights.safetensors").extra["log_share_V"]
    # No more can be known from frequencies alone.
    assert 3 * summary["perplexity"] < np.exp(-(np.exp(log_share_V) * log_share_V).sum())
    tags = {json.loads(line).get("tag") for line in (joint_run / "metrics.jsonl").read_text().splitlines()}
    assert {"joint/loss", "joint/perplexity", "joint/abs_log_z"} <= tags


def check_a_stopped_run_ends_alike(
    keys: list[str],
    learning: type[NetworkLearning],
    whole: Path,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopped and killed in turn at several steps, a training ends with the weights of an undisturbed one."""
    choose, step, left, runs = random.Random(5), learning.step, 0, 0

    def interrupted(self: Any, *arguments: Any) -> float:
        nonlocal left
        left -= 1
        if left == 0 and runs % 2:
            signal.raise_signal(signal.SIGTERM)
        elif left == 0:
            raise MemoryError
        return step(self, *arguments)

    monkeypatch.setattr(learning, "step", interrupted)
    ended = 1
    while ended:
        runs += 1
        left = choose.randint(20, 60)
        ended = main(["train", f"run={run}", *keys, "checkpoint_seconds=0.1"])
        assert (run / "weights.safetensors").exists() == (ended == 0)
    assert runs > 2
    assert bits_of(run) == bits_of(whole)


def test_stopped_or_killed_anywhere_it_ends_with_the_same_bits(
    work: Path,  # noqa: F811
    joint_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = [f"work={work}", *JOINT]
    check_a_stopped_run_ends_alike(keys, joint.NoiseLearning, joint_run, tmp_path / "run", monkeypatch)


def test_a_text_from_which_no_pair_can_be_held_out_is_refused(
    work: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Said,
) -> None:
    monkeypatch.setattr(networks, "HELD_OUT", 1 << 30)
    assert "too few sentence pairs" in refused("train", f"work={work}", f"run={tmp_path / 'run'}", *JOINT)


def test_a_phrase_system_tunes_and_translates_with_it(
    joint_run: Path, joined: Path, tmp_path: Path, refused: Said
) -> None:
    assert sets_of(joined)["phrase"].floats[NAME] != 0
    lines, lists = listed(joined, tmp_path)
    assert f"{NAME}=" in lists
    assert lines == translated(joined, tmp_path, "processes=2")
    succeed("pack", f"run={joined}", f"out={tmp_path / 'packed'}")
    file = joint_run / "weights.safetensors"
    kept = file.read_bytes()
    file.unlink()
    try:
        assert lines == translated(tmp_path / "packed", tmp_path)
        save_weights(file, sets_of(joined))
        assert "not the one that this run was tuned with" in refused(
            "translate", f"run={joined}", f"input={tmp_path / 'in.txt'}"
        )
    finally:
        file.write_bytes(kept)


def test_what_cannot_be_is_refused(
    work: Path,  # noqa: F811
    joint_run: Path,
    joined: Path,
    tmp_path: Path,
    refused: Said,
    refused_training: Said,
) -> None:
    training = partial(refused_training, work)
    assert "model=joint" in training(*PHRASE, f"model.joint={joined}", "loss=mira")
    assert "leave out model.histories" in training(*PHRASE, f"model.joint={joint_run}", "loss=xbleu", "sparse=local")
    assert "loss=nce" in training("model=joint", "loss=mira")
    assert "base" in training("model=joint", f"base={joined}")
    assert "model.joint=RUN" in refused("translate", f"run={joint_run}", f"input={joint_run / 'config.yaml'}")
    assert "features with history" in refused("export", f"run={joined}", f"out={tmp_path / 'moses'}")


def test_further_translations_of_the_training_text_play_no_part(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    directory, settings = WorkDirectory(work), JointModelConfig()
    plain, words = joint.WordEvents.of(directory, settings), directory.vocabularies
    monkeypatch.setattr(WorkDirectory, "vocabularies", words | {"reference.0": words["target"]})
    again = joint.WordEvents.of(WorkDirectory(work), settings)
    assert again.target.ids_T.tolist() == plain.target.ids_T.tolist()
    assert len(again.vocabularies) == 2
