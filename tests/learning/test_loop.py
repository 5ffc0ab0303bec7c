"""The training loop: what it computes, and that an interruption anywhere changes no bit of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.learning.small_training import (
    IDENTITY,
    TWO_PHASES,
    initial,
    settings,
    training,
    write_store,
    write_stores,
)
from xlate.candidates.store import CandidateStore, epoch_order, spread
from xlate.errors import InputError
from xlate.learning.learner import InstanceLearner, PhaseSettings
from xlate.learning.loop import BEGIN_DENSE, BEGIN_SPARSE, Phase, Standing, Training, TrainState, validate
from xlate.learning.run import Checkpoint
from xlate.machine import StopFlag
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights


def naive_training(stores: Path, phases: tuple[PhaseSettings, ...]) -> Weights:
    """The same training as one plain loop: whole epochs, no chunks, no state."""
    store, heldout = CandidateStore.open(stores / "train"), CandidateStore.open(stores / "heldout")
    weights = initial()["linked"]
    for phase in phases:
        best, stale, kept = math.inf, 0, weights
        learner = InstanceLearner(phase, store, weights, {})
        for epoch in range(phase.epochs):
            chosen = spread(len(store), phase.subset)
            order = chosen[epoch_order(len(chosen), phase.seed, epoch, name=phase.name, block=phase.block)]
            scale = 1 / (1 + phase.decay * epoch)
            learner.learn(order, scale)
            current = learner.end_epoch(scale)
            error = validate(heldout, current, phase)[0]
            if error < best:
                best, stale, kept = error, 0, current.copy()
            else:
                stale += 1
            if phase.patience and stale == phase.patience:
                break
        weights = kept if phase.patience else current
    return weights


def test_a_training_equals_one_plain_loop(folder: Path) -> None:
    weights = initial()
    held = training(folder).run(weights, StopFlag())
    expected = naive_training(folder, TWO_PHASES)
    assert not weights["linked"].dense_D.any()
    assert held.weights["linked"].dense_D.tobytes() == expected.dense_D.tobytes()
    assert held.weights["linked"].sparse_F.tobytes() == expected.sparse_F.tobytes()
    assert held.weights["neutral"].dense_D.tolist() == [0, 0, 0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_that_are_no_longer_finite_end_the_training_but_not_the_checkpoint(folder: Path) -> None:
    good = settings(name="good", epochs=1)
    bad = settings(name="bad", eta=1e308, eta_sparse=1e308)
    with pytest.raises(InputError, match=r"weights are no longer finite(?s:.*)phase bad with eta 1e\+308") as caught:
        training(folder, (good, bad), checkpoint_seconds=0.0).run(initial(), StopFlag())
    assert "lower loss.eta" in str(caught.value.remedy)
    held = Standing.load(Checkpoint(folder / "latest.safetensors", IDENTITY))
    assert held.weights["linked"].finite
    assert held.state.seen >= 225


class Recorder(Reporter):
    """Keeps every number by tag."""

    def __init__(self) -> None:
        self.numbers: dict[str, list[tuple[int, float]]] = {}
        self.histograms: list[str] = []

    def scalar(self, tag: str, value: float, step: int) -> None:
        self.numbers.setdefault(tag, []).append((step, value))

    def histogram(self, tag: str, values: np.ndarray, step: int) -> None:
        self.histograms.append(tag)


def test_early_stop_goes_back_to_the_best_weights(folder: Path) -> None:
    """Steps so large that P goes up and down."""
    wild = settings(epochs=40, eta=2.0, eta_sparse=3.0, patience=3)
    held = training(folder, (wild,)).run(initial(), StopFlag())
    errors = [entry["P"] for entry in held.state.history]
    best = errors.index(min(errors))
    assert len(errors) == best + 1 + 3 < 40
    assert errors[-1] > errors[best]
    expected = naive_training(folder, (wild,))
    assert expected.sparse_F.tobytes() == held.weights["linked"].sparse_F.tobytes()
    assert held.best == {}


def test_without_heldout_instances_patience_undoes_nothing(tmp_path: Path) -> None:
    write_stores(tmp_path, heldout=0)
    patient, plain = settings(epochs=4, patience=1), settings(epochs=4)
    held = training(tmp_path, (patient,), checkpoint="patient").run(initial(), StopFlag())
    expected = training(tmp_path, (plain,), checkpoint="plain").run(initial(), StopFlag())
    assert len(held.state.history) == 4
    assert math.isnan(held.state.history[-1]["P"])
    assert held.weights["linked"].sparse_F.tobytes() == expected.weights["linked"].sparse_F.tobytes()


def test_history_and_reports_say_what_was_measured(folder: Path) -> None:
    recorder = Recorder()
    phase = settings(epochs=3, decay=0.5)
    held = training(folder, (phase,), reporter=recorder, chunk=100).run(initial(), StopFlag())
    history = held.state.history
    assert [(e["phase"], e["epoch"], e["seen"]) for e in history] == [("all", 0, 230), ("all", 1, 460), ("all", 2, 690)]
    assert history[-1]["active"] == held.weights["linked"].active
    measured = validate(CandidateStore.open(folder / "heldout"), held.weights["linked"], phase)
    assert (history[-1]["P"], history[-1]["valid_loss"]) == measured
    losses = recorder.numbers["train/loss/all"]
    assert [step for step, _ in losses] == [100, 200, 230, 330, 430, 460, 560, 660, 690]
    first = sum(size * loss for size, (_, loss) in zip((100, 100, 30), losses[:3], strict=True)) / 230
    assert history[0]["loss"] == pytest.approx(first, rel=1e-12)
    assert recorder.numbers["valid/P/all"] == [(entry["seen"], entry["P"]) for entry in history]
    steps = [value for _, value in recorder.numbers["train/eta/all"]]
    assert steps[::3] == pytest.approx([0.05, 0.05 / 1.5, 0.05 / 2])
    assert recorder.histograms == ["weights/linked/floats", "weights/linked/sparse"] * 3


@pytest.mark.parametrize("change", [{"trained": (True, True)}, {"weights": "neutral"}])
def test_weights_too_small_for_the_store_are_refused(folder: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected 3 of the first two and 50 of the last"):
        training(folder, (settings(**change),)).run(initial(), StopFlag())


def test_a_store_without_instances_trains_nothing(tmp_path: Path) -> None:
    empty = write_store(tmp_path / "empty", 0, 1)
    run = Training([Phase(settings(epochs=2), empty, empty)], Checkpoint(tmp_path / "c", IDENTITY))
    held = run.run(initial(), StopFlag())
    assert not held.weights["linked"].dense_D.any()


@pytest.mark.parametrize("joint", [True, False])
def test_the_bound_of_theorem_a1_holds_in_every_epoch_and_is_reported(folder: Path, joint: bool) -> None:
    recorder = Recorder()
    phase = settings(epochs=4, check_bound=True, trained=(joint, joint, joint), eta=0.3, eta_sparse=0.2)
    held = training(folder, (phase,), reporter=recorder).run(initial(), StopFlag())
    history = held.state.history
    assert all(entry["bound_left"] <= entry["bound_right"] for entry in history)
    assert [value for _, value in recorder.numbers["bound/online_loss/all"]] == [e["bound_left"] for e in history]
    # Every instance has one positive, so a step is an instance.
    assert [e["bound_left"] for e in history] == pytest.approx([e["loss"] for e in history])


def test_a_wrong_update_breaks_the_bound(folder: Path) -> None:
    """Steps up the gradient: the online loss grows past what the theorem allows."""
    store, weights, begin = CandidateStore.open(folder / "train"), initial()["linked"], initial()
    phase, order = settings(check_bound=True), np.tile(np.arange(230), 8)
    learner = InstanceLearner(replace(phase, eta=-phase.eta, eta_sparse=-phase.eta_sparse), store, weights, {})
    loss, curvature = learner.learn(order, 1.0)
    memory = {BEGIN_DENSE: begin["linked"].dense_D, BEGIN_SPARSE: begin["linked"].sparse_F}
    held = Standing(begin, state=TrainState(epoch_loss=loss, epoch_curvature=-curvature), memory=memory)
    sides = training(folder).bound(held, Phase(phase, store, store), order)
    assert sides["bound_left"] > sides["bound_right"]
