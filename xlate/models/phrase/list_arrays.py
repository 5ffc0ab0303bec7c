"""The candidates of a sentence as arrays that can be sent from one process to another."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of, places_of
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.lists import PhraseList, target_ids
from xlate.models.phrase.model import SPARSE_REORDERING


class ListArrays(NamedTuple):
    """Candidates of one sentence: float features, draws, numbered target words, and the phrases as in `PartShard`."""

    features_CD: NDArray[np.float32]
    draws_C: NDArray[np.int32]
    offsets_C1: NDArray[np.int64]
    words_T: NDArray[np.int32]
    part_offsets_C1: NDArray[np.int64]
    parts_K: NDArray[np.int32]
    phrase_P12: NDArray[np.int32]
    between_lengths_P: NDArray[np.int64]
    between_T: NDArray[np.int32]


@dataclass(frozen=True)
class Draw:
    """How candidates are drawn: so many with shares of exp(scale · score); the seed and the words decide which."""

    draws: int
    scale: float
    seed: int


def list_arrays(decoder: PhraseDecoder, words: Sequence[str], draw: Draw | None = None) -> ListArrays:
    """The n-best list of a sentence, or derivations that are drawn; sums of sparse features are left out.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    if draw is None:
        found = decoder.nbest_list(words)
        return _arrays(found, np.zeros(len(found), dtype=np.int64))
    seed = (zlib.crc32(" ".join(words).encode()) + draw.seed) % 2**31
    return _arrays(*decoder.drawn_list(words, draw.draws, draw.scale, seed))


def _arrays(found: PhraseList, draws_C: NDArray[np.int64]) -> ListArrays:
    options, paths, parts = found.moves.options, found.paths, found.told_apart()
    offsets_O1, ids_W = options.phrases.offsets_O1, target_ids(found.model, options)
    lengths_L = (offsets_O1[1:] - offsets_O1[:-1])[paths.labels_L]
    applications, groups = parts.applications, parts.groups
    columns = [*vars(applications).values(), groups.orientation_N]
    columns += [groups.source_first_N, groups.source_last_N, groups.target_first_N, groups.target_last_N]
    sums = found.model.slots.get(SPARSE_REORDERING)
    return ListArrays(
        found.floats_ND[:, : None if sums is None else sums.start].astype(np.float32),
        draws_C.astype(np.int32),
        offsets_of(lengths_L)[paths.offsets_N1],
        ids_W[places_of(offsets_O1, paths.labels_L)],
        paths.offsets_N1,
        parts.part_L,
        np.stack(columns, axis=1).astype(np.int32),
        np.diff(groups.between_offsets_N1),
        np.asarray(groups.between_T, dtype=np.int32),
    )
