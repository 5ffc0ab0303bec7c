"""Learning from lists that was stopped after any epoch goes on to the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.learning.test_list_learner import F, plain_settings
from tests.learning.test_ranks import SETTINGS, list_learner
from xlate.learning.list_learner import EpochFigures, lists_identity
from xlate.learning.ranks import ONE
from xlate.learning.run import Checkpoint


@pytest.mark.parametrize(("kind", "seconds"), [("compiled", 0.0), ("compiled", 1e9), ("device", 0.0), ("predicted", 0)])
def test_stopped_after_every_epoch_it_ends_with_the_same_bits(tmp_path: Path, kind: str, seconds: float) -> None:
    whole = list_learner(ONE, kind)
    expected = list(whole.epochs())
    path = tmp_path / "lists.safetensors"
    for last in range(1, SETTINGS.epochs + 3):
        part, found = list_learner(ONE, kind), []

        def stop(last: int = last, found: list[EpochFigures] = found) -> bool:
            return len(found) >= last

        checkpoint = Checkpoint(path, lists_identity(part.lists, SETTINGS, F), seconds, refuses=False)
        for figures in part.epochs(stop, checkpoint):
            found.append(figures)  # noqa: PERF402 - stop looks at it
        assert len(found) == min(last, SETTINGS.epochs + 1)
    assert repr(found) == repr(expected)
    for one, other in zip(part.weights, whole.weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_checkpoint_of_other_lists_or_settings_is_not_taken_up(tmp_path: Path) -> None:
    one, path = list_learner(ONE), tmp_path / "lists.safetensors"
    list(one.epochs(checkpoint=Checkpoint(path, lists_identity(one.lists, SETTINGS, F), 0.0, refuses=False)))
    assert path.exists()
    other = Checkpoint(path, lists_identity(one.lists, plain_settings(), F), refuses=False)
    assert other.load() is None
    assert Checkpoint(path, lists_identity(one.lists, SETTINGS, F), refuses=False).load() is not None
    other.remove()
    other.remove()
    assert not path.exists()


@pytest.mark.parametrize("name", ["candidate_offsets_I1", "base_C", "gain_C", "dense_CD"])
def test_other_lists_have_another_identity(name: str) -> None:
    lists = list_learner(ONE).lists._replace(dense_CD=np.ones((4, 1), np.float32))
    changed = getattr(lists, name).copy()
    changed[1] += 1
    assert lists_identity(lists, SETTINGS, F) != lists_identity(lists._replace(**{name: changed}), SETTINGS, F)
