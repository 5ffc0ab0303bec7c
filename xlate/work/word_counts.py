"""How often each word of a work directory occurs in its training text, where the text itself may be absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xlate.array_types import Ints
from xlate.arrays.ranges import check_lengths
from xlate.arrays.stored import HEADER, open_arrays, save_arrays
from xlate.work.directory import WorkDirectory

FOLDER, KIND = "word_counts", "counts of words"
LAYOUT = {"count_V": ("<i8", 1)}


def word_counts(work: WorkDirectory, side: str) -> Ints:
    """The count of each word of the vocabulary of `source` or `target`, (V,): as it is kept, or else of the text.

    Raises:
        InputError: what is kept is damaged, or there is neither.
    """
    words = len(work.source_vocabulary if side == "source" else work.target_vocabulary)
    kept = work.path / FOLDER / side
    if not (kept / HEADER).exists():
        return np.bincount(work.training_text(side).ids_T, minlength=words)
    stored = open_arrays(kept, KIND, LAYOUT)
    check_lengths(stored, count_V=(words,))
    return stored["count_V"]


def keep_word_counts(work: WorkDirectory, side: str, into: Path) -> None:
    """Keeps the counts in another folder of the form of a work directory, which has no text."""
    save_arrays(into / FOLDER / side, KIND, {"count_V": word_counts(work, side).astype(np.int64)})
