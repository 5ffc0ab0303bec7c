"""The scale that scores are learned on: what C, margins, learning rates and hope are measured by.

Translations are the same whatever all weights are multiplied by, and tuners give weights of any size: MERT's sum to 1,
and where one of them is huge that no two translations of a list differ in, all that tell them apart are tiny. A step of
MIRA is as large as C says, though, in units of score.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.lists import spread_of_scores
from xlate.scoring.weights import Weights
from xlate.train.online import DecodeRows

log = logging.getLogger(__name__)
# Sentences whose lists are looked at, spread evenly over the text.
SAMPLE = 200


def scale_of_learning(
    start: Weights, trained_D: Bools, decode: DecodeRows, sentences: int, size: int, spread: float
) -> float:
    """What weights are multiplied by while they are learned, so that scores of a list differ by `spread`.

    Args:
        start: the first weights; sparse ones are not counted, nor floats that are not trained.
        trained_D: the dense weights that move.
        decode: the lists of some sentences.
        sentences: how many there are.
        size: translations of a list.
        spread: the standard deviation of scores within a list that is wanted, in natural logarithms; 0: no scale.
    """
    if not spread:
        return 1.0
    rows = np.unique(np.linspace(0, sentences - 1, min(sentences, SAMPLE)).astype(np.int64))
    lists = decode(start, rows, size)
    found = spread_of_scores(lists.dense_CD[:, trained_D] @ start.dense_D[trained_D], lists.candidate_offsets_I1)
    if found == 0:
        return 1.0
    scale = spread / found
    log.info(
        "scores within a list differ by %.3g under the first weights; learned with %.4g times that, by %g",
        found, scale, spread,
    )  # fmt: skip
    return scale


def times(weights: Weights, trained_D: Bools, scale: float) -> Weights:
    """Weights whose trained floats and sparse features weigh so many times as much.

    The penalty of unknown words is not among them, which each translation of a sentence has as often, nor is the weight
    of a sum of sparse features that are learned themselves.
    """
    return replace(
        weights,
        dense_D=np.where(trained_D, weights.dense_D * scale, weights.dense_D),
        sparse_F=weights.sparse_F * scale,
    )
