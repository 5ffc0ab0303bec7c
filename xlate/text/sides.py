"""The two sides of a text in the form that compiled loops take."""

from __future__ import annotations

import numpy as np

from xlate.kernels.counting.sides import Sides
from xlate.text.encoded import EncodedText


def sides(source: EncodedText, target: EncodedText) -> Sides:
    """Sentence pairs; the two texts must have the same number of sentences."""
    return Sides(
        np.ascontiguousarray(source.ids_T),
        np.ascontiguousarray(source.offsets_S1),
        np.ascontiguousarray(target.ids_T),
        np.ascontiguousarray(target.offsets_S1),
    )
