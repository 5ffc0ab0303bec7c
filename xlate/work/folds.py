"""Which sentence pairs of the training text are to be seen by systems that were made without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.align.copies import balanced_folds, heldout_pairs
from xlate.array_types import Bools, Ints
from xlate.errors import InputError
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of, read_stage

# Stands for a fold where estimates of the whole text are used.
WHOLE = -1


@dataclass(frozen=True)
class Folds:
    """The fold of each of S sentence pairs, `WHOLE` for those that estimates of the whole text are used for.

    All copies of a pair are in one fold (`align/copies.py`), or estimates without the fold would have seen it.
    `heldout_S` marks the pairs that nothing is trained on, copies with them.
    """

    fold_S: Ints
    heldout_S: Bools
    identity: str

    @classmethod
    def of_events(cls, work: WorkDirectory, folds: int) -> Folds:
        """The folds that events are made in; with 0, as in the paper, only held-out pairs are one.

        Raises:
            InputError: all pairs are copies of each other, so that there is nothing outside of their fold.
        """
        every = read_stage(work.path, "blocks").number("heldout_every")
        heldout_S = heldout_pairs(work.copies, every)
        fold_S = balanced_folds(work.copies, folds) if folds else np.where(heldout_S, 0, WHOLE)
        if folds and len(np.unique(fold_S)) == 1:
            seen = f"{len(fold_S)} pairs, {len(np.unique(work.copies))} without their copies"
            raise InputError(
                "the training text cannot be cut into folds",
                file=work.path,
                seen=seen,
                expected="pairs that are not all copies of each other",
                remedy="model.folds=0 makes events as the paper does",
            )
        on = read_stage(work.path, "corpus").identity
        return cls(fold_S, heldout_S, identity_of({"on": on, "folds": folds, "heldout_every": every, "version": 1}))

    @property
    def numbers(self) -> list[int]:
        """The folds that have pairs, ascending."""
        return [int(fold) for fold in np.unique(self.fold_S)]

    def rows(self, fold: int) -> Ints:
        """The pairs of a fold."""
        return np.flatnonzero(self.fold_S == fold)

    def others(self, fold: int) -> Ints:
        """The pairs that estimates without a fold are made from."""
        return np.flatnonzero(self.fold_S != fold)
