"""The float features that lists are ranked by: their own, their totals, and what follows from the list as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xlate.array_types import Floats
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays, NbestCandidates
from xlate.candidates.nbest_gains import UTILITIES, utilities
from xlate.config.model_schema import RerankConfig

# None of these can be taken for a feature of the list: names there have no blanks.
TOTAL, POSITION, MBR = "total score", "list position", "mbr "


def computed_floats(arrays: NbestArrays, settings: RerankConfig) -> dict[str, Floats]:
    """What is computed from whole lists, each (C,), by its name.

    Raises:
        InputError: probabilities are asked for, and hypotheses have no totals.
    """
    found: dict[str, Floats] = {}
    if np.isfinite(arrays.total_C).all():
        found[TOTAL] = arrays.total_C
    if settings.position:
        starts_I, rows_C = arrays.candidate_offsets_I1[:-1], row_numbers(arrays.candidate_offsets_I1)
        place_C = (np.arange(len(rows_C)) - starts_I[rows_C]).astype(np.float64)
        found[POSITION] = 1.0 / (1.0 + place_C)
    if settings.mbr in UTILITIES:
        found[MBR + settings.mbr] = utilities(arrays, settings.mbr, settings.mbr_scale)
    return found


def float_features(
    arrays: NbestArrays, listed: NbestCandidates, settings: RerankConfig, nearly: Sequence[str] = ()
) -> tuple[tuple[str, ...], Floats]:
    """Names and values, (C, D), of the list's own floats and of what is computed; the column of gains is left out, and
    so are the list's sparse features, but for those that `nearly` every line has: they are 0 on the others.
    """
    kept = [place for place, name in enumerate(listed.dense_names) if name != settings.gain_column]
    own_CD = listed.batch.dense_CD[:, kept].astype(np.float64)
    more = {name: arrays.scores({name: 1.0}) for name in nearly} | computed_floats(arrays, settings)
    names = (*(listed.dense_names[place] for place in kept), *more)
    return names, np.concatenate([own_CD, *(column_C[:, None] for column_C in more.values())], axis=1)


def begin(names: tuple[str, ...], size: float) -> Floats:
    """Weights to begin with, (D,): the order of the list, by its totals or else by position, and nothing more."""
    first = next((name for name in (TOTAL, POSITION) if name in names), None)
    return np.array([size if name == first else 0.0 for name in names])


def weighted_sum(values: Mapping[str, Floats], weights: Mapping[str, float], size: int) -> Floats:
    """The sum of some columns with their weights, (C,)."""
    return sum((weights[name] * column_C for name, column_C in values.items() if name in weights), np.zeros(size))
