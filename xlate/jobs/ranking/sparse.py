"""The sparse features that lists are ranked by: those of the words, and the list's own that are on some lines only."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Bools, Floats, Floats32, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.candidates.nbest import NbestCandidates
from xlate.features.hypothesis_text import TextTemplates
from xlate.features.index import GrowingFeatures, NamedFeatures
from xlate.jobs.ranking.given import ListText


@dataclass(frozen=True)
class Given:
    """Features of the list itself that are learned as sparse ones: N values that are not 0, of the columns `names`."""

    names: tuple[str, ...]
    hypothesis_N: Ints
    column_N: Ints
    value_N: Floats

    @classmethod
    def of(cls, listed: NbestCandidates, kept: frozenset[str]) -> Given:
        """Those of the sparse columns of a list whose names are among the kept ones."""
        batch = listed.batch
        values_N = np.ones(len(batch.part_ids_N)) if batch.part_values_N is None else batch.part_values_N
        names = tuple(name for name in listed.sparse_names if name in kept)
        place_of = {name: place for place, name in enumerate(names)}
        place_M = np.array([place_of.get(name, -1) for name in listed.sparse_names], dtype=np.int64)
        column_N, rows_N = place_M[batch.part_ids_N], row_numbers(batch.part_id_offsets_P1)
        kept_N = column_N >= 0
        return cls(names, rows_N[kept_N], column_N[kept_N], values_N[kept_N].astype(np.float64))


@dataclass(frozen=True)
class SparseLists:
    """The sparse features of every hypothesis.

    Attributes:
        features: those that tell the hypotheses of enough lists apart.
        offsets_C1, ids_N: those of each hypothesis.
        values_N: their values, divided by `scale_F`; None where all are 1.
        scale_F: how large the values of a feature of the list are, their root mean square; 1 of words.
    """

    features: NamedFeatures
    offsets_C1: Ints
    ids_N: Ints32
    values_N: Floats32 | None
    scale_F: Floats

    @classmethod
    def made(
        cls, text: ListText, templates: TextTemplates, given: Given, min_lists: int, train_I: Bools
    ) -> SparseLists:
        """The features of words that `templates` make, and the `given` ones, of which `min_lists` training lists each
        have hypotheses that differ.
        """
        met, found, lengths, sizes = GrowingFeatures(), array("q"), array("q"), array("q")
        for rows in text.features(templates):
            sizes.append(len(rows))
            for names in rows:
                found.extend(map(met.add, names))
                lengths.append(len(names))
        list_C = row_numbers(offsets_of(sizes))
        hypothesis_T, id_T = np.repeat(np.arange(len(lengths)), lengths), np.array(found, np.int64)
        own_N = np.array([met.add(name) for name in given.names], np.int64)[given.column_N]
        many = max(1, len(met))
        # A number for each pair of a hypothesis and a feature, in the order of both.
        lists_F = _telling(np.sort(hypothesis_T * many + id_T), np.array(sizes), train_I, many)
        lists_F += _differing(list_C[given.hypothesis_N] * many + own_N, given.value_N, np.array(sizes), train_I, many)
        features, id_F = met.frozen(np.flatnonzero(lists_F >= min_lists).tolist())
        hypothesis_T = np.concatenate([hypothesis_T, given.hypothesis_N])
        id_T = id_F[np.concatenate([id_T, own_N])]
        return cls._sorted(features, len(lengths), hypothesis_T, id_T, given.value_N)

    @classmethod
    def _sorted(
        cls, features: NamedFeatures, hypotheses: int, hypothesis_T: Ints, id_T: Ints, given_N: Floats
    ) -> SparseLists:
        """The features of each hypothesis in the order of their ids, -1 for none; the last have the given values."""
        scale_F, words = np.ones(len(features)), len(id_T) - len(given_N)
        own_N = id_T[words:]
        learned_N = own_N >= 0
        count_F = np.bincount(own_N[learned_N], minlength=len(features))
        square_F = np.bincount(own_N[learned_N], given_N[learned_N] ** 2, minlength=len(features))
        scale_F[count_F > 0] = np.sqrt(square_F[count_F > 0] / count_F[count_F > 0])
        value_T = np.concatenate([np.ones(words), given_N])
        kept_T = np.flatnonzero(id_T >= 0)
        order_N = kept_T[np.lexsort((id_T[kept_T], hypothesis_T[kept_T]))]
        ids_N = id_T[order_N].astype(np.int32)
        values_N = (value_T[order_N] / scale_F[ids_N]).astype(np.float32) if learned_N.any() else None
        offsets_C1 = offsets_of(np.bincount(hypothesis_T[kept_T], minlength=hypotheses))
        return cls(features, offsets_C1, ids_N, values_N, scale_F)


def _telling(key_T: Ints, size_I: Ints, train_I: Bools, features: int) -> Ints:
    """In how many training lists some hypotheses have a feature and others have not, (F,)."""
    key_U = key_T[np.flatnonzero(np.diff(key_T, prepend=-1))]
    list_U = np.repeat(np.arange(len(size_I)), size_I)[key_U // features]
    pair_P, held_by_P = np.unique(list_U * features + key_U % features, return_counts=True)
    told_P = train_I[pair_P // features] & (held_by_P < size_I[pair_P // features])
    return np.bincount(pair_P[told_P] % features, minlength=features)


def _differing(pair_N: Ints, value_N: Floats, size_I: Ints, train_I: Bools, features: int) -> Ints:
    """In how many training lists the values of a feature differ, (F,); `pair_N` numbers list and feature of each."""
    if not len(pair_N):
        return np.zeros(features, dtype=np.int64)
    order_N = np.argsort(pair_N, kind="stable")
    pair_P, start_P, held_by_P = np.unique(pair_N[order_N], return_index=True, return_counts=True)
    spread_P = np.maximum.reduceat(value_N[order_N], start_P) - np.minimum.reduceat(value_N[order_N], start_P)
    told_P = train_I[pair_P // features] & ((held_by_P < size_I[pair_P // features]) | (spread_P > 0.0))
    return np.bincount(pair_P[told_P] % features, minlength=features)
