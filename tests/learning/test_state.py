"""State and checkpoints."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from xlate.errors import InputError
from xlate.learning.loop import Standing, TrainState
from xlate.learning.run import Checkpoint
from xlate.scoring.weights import Weights, save_weights

STATE = TrainState(1, 2, 3, 400, 0.1 + 0.2, 0.7, 1 / 3, 1, [{"phase": "flöße", "P": 1 / 7}])


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
