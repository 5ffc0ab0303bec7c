"""What is said of the learning of sparse weights from lists."""

from __future__ import annotations

import math

from xlate.jobs.train.sparse_learning import epoch_words
from xlate.train.list_learner import EpochFigures


def test_before_training_there_is_no_loss_of_it() -> None:
    before = epoch_words(EpochFigures(0, math.nan, -0.12651, 15.57, 0))
    assert before == "before training: held out -0.12651, BLEU 15.57"
    behind = epoch_words(EpochFigures(1, -0.14565, -0.12888, 15.67, 2711))
    assert behind == "epoch 1: loss -0.14565, held out -0.12888, BLEU 15.67, 2,711 features"
