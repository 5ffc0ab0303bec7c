"""State, checkpoints and the stop flag."""

from __future__ import annotations

import math
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from xlate.errors import InputError
from xlate.scoring.weights import Weights, save_weights
from xlate.train.checkpoint import Checkpoint
from xlate.train.loop import Standing, TrainState
from xlate.train.signals import StopFlag

STATE = TrainState(1, 2, 3, 400, 0.1 + 0.2, 0.7, 1 / 3, 1, [{"phase": "flöße", "P": 1 / 7}])


def test_the_next_phase_begins_anew_but_for_what_was_seen() -> None:
    assert STATE.next_phase() == TrainState(phase=2, seen=400, history=STATE.history)


def weights(start: float) -> Weights:
    return Weights(np.array([start, -0.0]), np.array([start / 3]), ("a", "b"))


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "run" / "latest.safetensors"
    saved = Standing(
        {"linked": weights(1.0), "neutral": weights(2.0)}, {"linked": weights(3.0)}, STATE, {"clock": np.array([7])}
    )
    saved.save(Checkpoint(path, "this"))
    held = Standing.load(Checkpoint(path, "this"))
    assert held is not None
    assert held.state == STATE, "with all digits"
    assert {name: array.tolist() for name, array in held.memory.items()} == {"clock": [7]}
    assert (set(held.weights), set(held.best)) == ({"linked", "neutral"}, {"linked"})
    for seen, expected in [(held.weights, saved.weights), (held.best, saved.best)]:
        for name, one in expected.items():
            assert seen[name].dense_D.tobytes() == one.dense_D.tobytes()
            assert seen[name].sparse_F.tobytes() == one.sparse_F.tobytes()
            assert seen[name].dense_names == one.dense_names
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_error_of_nothing_comes_back(tmp_path: Path) -> None:
    Standing({}, state=TrainState(best_error=math.nan)).save(Checkpoint(tmp_path / "w", "this"))
    held = Standing.load(Checkpoint(tmp_path / "w", "this"))
    assert held is not None
    assert held.state.best_error is not None
    assert math.isnan(held.state.best_error)


def test_no_checkpoint_is_none_and_a_foreign_one_is_refused(tmp_path: Path) -> None:
    assert Standing.load(Checkpoint(tmp_path / "none", "this")) is None
    save_weights(tmp_path / "w", {"linked": weights(1.0)})
    with pytest.raises(InputError, match="a checkpoint of another training"):
        Checkpoint(tmp_path / "w", "this").load()
    assert Checkpoint(tmp_path / "w", "this", refuses=False).load() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_flag_and_the_handlers_come_back(number: int) -> None:
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    with StopFlag() as stop:
        assert not stop
        os.kill(os.getpid(), number)
        assert stop
        assert stop.signal == number
    assert {one: signal.getsignal(one) for one in before} == before


def test_handlers_come_back_after_an_exception() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def fail() -> None:
        with StopFlag():
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_interrupt_interrupts_at_once() -> None:
    def interrupt_twice() -> None:
        with StopFlag():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupt_twice()


def test_a_second_sigterm_changes_nothing() -> None:
    with StopFlag() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal == signal.SIGTERM


def test_outside_the_main_thread_the_flag_is_simply_never_set() -> None:
    seen: list[bool] = []

    def enter() -> None:
        with StopFlag() as stop:
            seen.append(bool(stop))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False]
