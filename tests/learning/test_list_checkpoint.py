"""A checkpoint of learning from lists belongs to its lists and settings; stopping and resuming: test_ranks.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.learning.test_list_learner import F, plain_settings
from tests.learning.test_ranks import SETTINGS, list_learner
from xlate.learning.list_learner import lists_identity
from xlate.learning.ranks import ONE
from xlate.learning.run import Checkpoint


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
