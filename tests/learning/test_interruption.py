"""A training that was interrupted anywhere, in any way, ends with the same bits as one that was not."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import pytest

from tests.learning.small_training import OnChunk, digest, initial, training
from xlate.errors import InputError
from xlate.learning.loop import Standing, TrainState
from xlate.learning.run import Checkpoint
from xlate.machine import StopFlag, Stopped
from xlate.scoring.weights import save_weights


@pytest.mark.parametrize("tag", ["train/loss", "valid/P"])
def test_stopped_at_every_chunk_or_every_validation_it_ends_with_the_same_bits(
    folder: Path, whole: str, tag: str
) -> None:
    """So an end of an epoch, of a phase and of a phase by patience is each once the moment of the stop."""
    for _ in range(200):
        stop = StopFlag()
        step = training(folder, reporter=OnChunk(lambda _, stop=stop: setattr(stop, "signal", 15), tag))
        with contextlib.suppress(Stopped):
            held = step.run(initial(), stop)
            break
    assert digest(held) == whole


class _Crash(RuntimeError):
    pass


def _crash_at(last: int, chunk: int) -> None:
    if chunk == last:
        raise _Crash


@pytest.mark.parametrize("last", [1, 10])
def test_after_a_crash_the_last_checkpoint_leads_to_the_same_bits(folder: Path, whole: str, last: int) -> None:
    doomed = training(folder, reporter=OnChunk(lambda chunk: _crash_at(last, chunk)), checkpoint_seconds=0.0)
    with pytest.raises(_Crash):
        doomed.run(initial(), StopFlag())
    assert digest(training(folder).run(initial(), StopFlag())) == whole
    # Now it is finished, and is not trained again.
    again = training(folder, reporter=OnChunk(lambda _: pytest.fail("trained again"))).run(initial(), StopFlag())
    assert digest(again) == whole


def test_an_error_of_nothing_comes_back(tmp_path: Path) -> None:
    Standing({}, state=TrainState(best_error=math.nan)).save(Checkpoint(tmp_path / "w", "this"))
    held = Standing.load(Checkpoint(tmp_path / "w", "this"))
    assert math.isnan(held.state.best_error)


def test_no_checkpoint_is_none_and_a_foreign_or_damaged_one_is_refused(tmp_path: Path) -> None:
    assert Standing.load(Checkpoint(tmp_path / "none", "this")) is None
    save_weights(tmp_path / "w", initial())
    with pytest.raises(InputError, match="a checkpoint of another training"):
        Checkpoint(tmp_path / "w", "this").load()
    assert Checkpoint(tmp_path / "w", "this", refuses=False).load() is None
    (tmp_path / "w").write_bytes((tmp_path / "w").read_bytes()[:-9])
    with pytest.raises(InputError, match="not a usable weights file"):
        Checkpoint(tmp_path / "w", "this", refuses=False).load()
