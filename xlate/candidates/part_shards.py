"""N-best lists of a part of a text, with what any sparse features of their phrases can be made from; one file each.

A shard says nothing of templates, so text is decoded once for every set of features. Beside each file stands the
SHA-256 of its bytes; without it, or with another, the shard counts as not there.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of, places_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.features.phrase_sparse import Applications, Groups, SparseFeatures
from xlate.text.json_files import read_json
from xlate.text.lines import atomic_write

log = logging.getLogger(__name__)

FORMAT = "xlate part shard 2"
# Columns of `phrase_P12`.
APPLICATION = slice(0, 7)
ORIENTATION, TOP = 7, slice(8, 12)
PHRASES_AT_A_TIME = 250_000


@dataclass(frozen=True)
class PartShard:
    """I lists of C hypotheses in all, with D float features and K BLEU statistics; P different phrases.

    `draws_C` is how often each hypothesis was drawn, 0 in lists of the best. `phrase_P12` has the numbers of
    `Applications`, then orientation and the four words of `Groups`; source words in between are `between_T` at
    `between_offsets_P1`. The other arrays are those of `CandidateBatch`.
    """

    sentence_I: NDArray[np.int64]
    candidate_offsets_I1: NDArray[np.int64]
    features_CD: NDArray[np.float32]
    statistics_CK: NDArray[np.int16]
    draws_C: NDArray[np.int32]
    part_offsets_I1: NDArray[np.int64]
    candidate_part_offsets_C1: NDArray[np.int64]
    candidate_parts_K: NDArray[np.int32]
    phrase_P12: NDArray[np.int32]
    between_offsets_P1: NDArray[np.int64]
    between_T: NDArray[np.int32]

    @classmethod
    def joined(cls, shards: Sequence[PartShard]) -> PartShard:
        """Shards one after the other."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in (field.name for field in fields(cls)):
            rows = [getattr(shard, name) for shard in shards]
            if "offsets" in name:
                arrays[name] = offsets_of(np.concatenate([np.diff(row) for row in rows]))
            else:
                arrays[name] = np.concatenate(rows)
        return cls(**arrays)

    def take(self, rows: NDArray[np.int64]) -> PartShard:
        """Some of the lists, in that order."""
        candidates = places_of(self.candidate_offsets_I1, rows)
        parts = places_of(self.part_offsets_I1, rows)
        return PartShard(
            self.sentence_I[rows],
            offsets_of(np.diff(self.candidate_offsets_I1)[rows]),
            self.features_CD[candidates],
            self.statistics_CK[candidates],
            self.draws_C[candidates],
            offsets_of(np.diff(self.part_offsets_I1)[rows]),
            offsets_of(np.diff(self.candidate_part_offsets_C1)[candidates]),
            self.candidate_parts_K[places_of(self.candidate_part_offsets_C1, candidates)],
            self.phrase_P12[parts],
            offsets_of(np.diff(self.between_offsets_P1)[parts]),
            self.between_T[places_of(self.between_offsets_P1, parts)],
        )

    @property
    def drawn(self) -> bool:
        """Whether the hypotheses were drawn by lot."""
        return bool(self.draws_C.any())

    def batch(self, sparse: SparseFeatures, weights_D: NDArray[np.float64] | None, gamma: float) -> CandidateBatch:
        """Two-level lists under templates, BLEU statistics as gains.

        Float features are weighted into `base_C`; without weights they are kept as features. Hypotheses that were drawn
        have ln(draws) / γ there: exp(γ · score) is then their weight as a sample of all derivations, and sparse weights
        that have grown since weigh them anew.
        """
        base_C = None if weights_D is None else self.features_CD @ weights_D
        if self.drawn:
            base_C = np.log(self.draws_C) / gamma
        id_offsets_P1, ids_N = self._ids(sparse)
        return CandidateBatch(
            self.candidate_offsets_I1,
            self.features_CD if weights_D is None else self.features_CD[:, :0],
            self.statistics_CK.astype(np.float32),
            id_offsets_P1,
            ids_N,
            self.part_offsets_I1,
            self.candidate_part_offsets_C1,
            self.candidate_parts_K,
            base_C=None if base_C is None else base_C.astype(np.float32),
        )

    def _ids(self, sparse: SparseFeatures) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The features of every phrase, made piece by piece: on the way they take several times their room."""
        lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        found: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
        for first in range(0, len(self.phrase_P12), PHRASES_AT_A_TIME):
            columns = self.phrase_P12[first : first + PHRASES_AT_A_TIME]
            ends = self.between_offsets_P1[first : first + len(columns) + 1]
            first_s, last_s, first_t, last_t = columns.T[TOP]
            offsets, ids = sparse.ids(
                Applications(*columns.T[APPLICATION]),
                Groups(
                    columns[:, ORIENTATION], first_s, last_s, first_t, last_t,
                    ends - ends[0], self.between_T[ends[0] : ends[-1]],
                ),
            )  # fmt: skip
            lengths.append(np.diff(offsets))
            found.append(ids)
        return offsets_of(np.concatenate(lengths)), np.concatenate(found)


def write_shard(path: Path, shard: PartShard, about: dict[str, Any]) -> None:
    """Writes a shard, then its checksum; killed in between, the shard is not there."""
    buffer = io.BytesIO()
    np.savez(buffer, **{field.name: getattr(shard, field.name) for field in fields(shard)})
    data = buffer.getvalue()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").unlink(missing_ok=True)
    with atomic_write(path) as stream:
        stream.write(data)
    described = {"format": FORMAT, "sha256": hashlib.sha256(data).hexdigest(), **about}
    with atomic_write(path.with_suffix(".json")) as stream:
        stream.write((json.dumps(described, indent=1) + "\n").encode())


def is_whole(path: Path) -> bool:
    """Whether a shard is there as it was written; says so when it is not but something is."""
    try:
        if not path.with_suffix(".json").exists() or not path.exists():
            return False
        described = read_json(path.with_suffix(".json"), FORMAT, "decode it again")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s) and is made again", path, error)
        return False
    if described.get("format") != FORMAT:
        log.warning("%s has the form %r, not %r, and is made again", path, described.get("format"), FORMAT)
        return False
    if described.get("sha256") != hashlib.sha256(data).hexdigest():
        log.warning("%s is damaged (its checksum differs) and is made again", path)
        return False
    return True


def read_shard(path: Path) -> PartShard:
    """Reads what `write_shard` wrote.

    Raises:
        InputError: it is not there, or damaged.
    """
    if not is_whole(path):
        raise InputError(
            "a shard is missing or damaged", file=path, expected=FORMAT, remedy="decode it again: the same command"
        )
    with np.load(path, allow_pickle=False) as arrays:
        return PartShard(**{field.name: arrays[field.name] for field in fields(PartShard)})
