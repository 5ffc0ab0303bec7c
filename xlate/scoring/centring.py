"""Weights of a family of sparse features without their mean, so that having one of them is worth nothing by itself.

Local training compares blocks one for one, so every family of block bigrams comes out above 0 on average: more and
smaller blocks earn more (Tillmann & Zhang 2007, section 5.4). Only what tells one bigram from another is left here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import AnyInts, Ints
from xlate.arrays.ragged import places_of
from xlate.candidates.batch import CandidateBatch
from xlate.features.index import Ranges
from xlate.scoring.weights import Weights


def centred(weights: Weights, families: Ranges, count_F: AnyInts) -> Weights:
    """Weights of which each family has the mean 0 over the occurrences of its features.

    Args:
        weights: with F sparse ones.
        families: the ids of each family.
        count_F: how often each feature occurs; a family that does not stays as it is.
    """
    sparse_F = weights.sparse_F.copy()
    for _, ids in families:
        total = int(count_F[ids].sum())
        if total:
            sparse_F[ids] -= (sparse_F[ids] @ count_F[ids]) / total
    return replace(weights, sparse_F=sparse_F)


def true_occurrences(events: CandidateBatch, features: int) -> Ints:
    """How often each of so many features occurs in true candidates, those of a gain above 0; a plain batch."""
    true_C = np.flatnonzero(np.asarray(events.gain_CG)[:, 0] > 0)
    ids_M = np.asarray(events.part_ids_N)[places_of(events.part_id_offsets_P1, true_C)]
    return np.bincount(ids_M, minlength=features)
