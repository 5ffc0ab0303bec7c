"""The state of online training: weights, the oracles of every sentence, and the document that the oracles make.

One list is one step: its translations and the previous oracles are pooled by their words, the best of them become the
new oracles, and these and the first translations of the list move the weights (Watanabe et al. 2007, Algorithm 1,
lines 4 and 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from xlate.array_types import NO_FLOATS, AnyArray, Bools, Floats
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import chosen, pool, with_ids
from xlate.features.structure import StructureFeatures
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.lists import begin_list, list_room, step_list
from xlate.kernels.learning.scores import sparse_scores
from xlate.kernels.learning.slopes import Learned, settle_all
from xlate.learning.run import Arrays
from xlate.learning.settings import OnlineSourceConfig
from xlate.metrics.objective import OracleDocument
from xlate.scoring.weights import Weights
from xlate.updates.online import OneList, OnlineStep, OnlineUpdate
from xlate.updates.rule import UpdateRule

# In a checkpoint: the prefix of the arrays of oracles, and the array of sentences that have any.
ORACLES, KNOWN = "oracles.", "known"
MEMORY, FEATURES = "memory", "features"
Result = TypeVar("Result")


class OnlineLearner:
    """Weights that are updated one list at a time.

    Args:
        start: the first weights; sparse features that come up later start at 0.
        trained_D: the dense weights that move.
        update: how a list moves them.
        settings: how far a list moves them, and how long training lasts; see `Online`.
        document: of the oracles, empty.
        growing: numbers sparse features when a step first meets them, if lists have units in place of ids.
    """

    def __init__(
        self,
        start: Weights,
        trained_D: Bools,
        update: OnlineUpdate,
        settings: OnlineSourceConfig,
        document: OracleDocument,
        growing: StructureFeatures | None = None,
    ) -> None:
        self.growing = growing
        self.names, self.update, self.settings, self.document = start.dense_names, update, settings, document
        self.rule = UpdateRule(adaptive=settings.adagrad, every=False, average=True)
        self.compiled = self.rule.compiled(np.where(trained_D, settings.dense_rate, 0.0), settings.rate)
        dense_D, sparse_F = (np.array(array, np.float64) for array in (start.dense_D, start.sparse_F))
        self.learned = self.rule.learned(dense_D, sparse_F)
        self.oracles: list[CandidateBatch | None] = [None] * len(document.statistics_IK)
        self._room_F = np.zeros(len(sparse_F))
        # By name, larger arrays of which the growing ones in use are views of the beginning.
        self._larger: dict[str, AnyArray] = {}

    @property
    def weights(self) -> Weights:
        """The current weights; the sparse ones change with the next step."""
        return Weights(self.learned.dense_D.copy(), np.asarray(self.learned.sparse_F, np.float64), self.names)

    @property
    def average(self) -> Weights:
        """The mean of the weights before the first step and after each."""
        return Weights(*self.rule.result(self.learned, self.compiled.eta_D, self.compiled.eta), self.names)

    def learn(self, sentence: int, found: CandidateBatch) -> OnlineStep:
        """Learns from the list of a sentence, best translation first; it has words, and statistics as gains.

        A list without translations makes no step.
        """
        if not found.candidates:
            return OnlineStep(NO_FLOATS, 0.0)
        known = self.oracles[sentence]
        pooled = found if known is None else pool([found, known], by_words=True)
        gain_C = self.document.gains(sentence, pooled.gain_CG)
        worth_C = gain_C
        if self.settings.hope:
            # Under the current weights.
            lists, arrays = self._arrays(pooled, np.zeros(pooled.candidates))
            score_C = sparse_scores(arrays, self.learned.sparse_F) + lists.dense_CD @ self.learned.dense_D
            worth_C = gain_C + self.settings.hope * score_C
        best_M = np.argsort(-worth_C, kind="stable")[: self.settings.m]
        self.oracles[sentence] = chosen(pooled, best_M)
        self.document.replace(sentence, pooled.gain_CG[best_M[0]].astype(np.float64))
        first_K = np.arange(min(self.settings.k, found.candidates))
        rows_C = np.union1d(first_K, best_M)
        oracle_M, hypothesis_K = np.searchsorted(rows_C, best_M), np.searchsorted(rows_C, first_K)
        gain_C = gain_C[rows_C]
        _, arrays = self._arrays(chosen(pooled, rows_C), gain_C)
        room = list_room(arrays, 1)
        begin_list(arrays, self.learned, self.compiled, room)
        score_C = room.score_X[: len(gain_C)].copy()
        step = self.update.step(OneList(arrays, score_C, gain_C, oracle_M, hypothesis_K, self.compiled, self._room_F))
        if step.slope_C.any():
            room.slope_X[: len(gain_C)] = step.slope_C
            step_list(arrays, self.learned, self.compiled, room)
        return step

    def _arrays(self, lists: CandidateBatch, gain_C: Floats) -> tuple[CandidateBatch, CandidateArrays]:
        """Lists with numbered features, also in the form for compiled loops; makes room for their weights."""
        if self.growing is not None:
            lists = with_ids(lists, self.growing)
        self._hold(int(lists.part_ids_N.max(initial=-1)) + 1)
        return lists, lists.arrays(gain_C, parts=True)

    def _hold(self, features: int) -> None:
        """Makes room for this many sparse features; an index may have grown while a sentence was decoded."""
        if features > len(self.learned.sparse_F):
            grown = {}
            for name, array in self.learned._asdict().items():
                if name.endswith("_F") and (name != "sparse_squares_F" or self.rule.adaptive):
                    larger = self._larger.get(name)
                    if larger is None or array.base is not larger or len(larger) < features:
                        # Twice the room needed, because every step brings new features.
                        larger = self._larger[name] = _padded(array, 2 * features)
                    grown[name] = larger[:features]
            self.learned = self.learned._replace(**grown)
        if features > len(self._room_F):
            self._room_F = np.zeros(2 * features)

    def state(self) -> dict[str, AnyArray]:
        """All that steps change, as arrays."""
        held = {name: array for name, array in self.learned._asdict().items() if len(array)}
        known_I = np.array([one is not None for one in self.oracles])
        if known_I.any():
            joined = CandidateBatch.joined([one for one in self.oracles if one is not None])
            arrays = ((field.name, getattr(joined, field.name)) for field in fields(joined))
            held |= {ORACLES + name: array for name, array in arrays if array is not None}
        return held | self._met() | {KNOWN: np.flatnonzero(known_I), MEMORY: self.update.memory}

    def restore(self, held: Arrays) -> None:
        """Restores what `state` returned."""
        self._take({name: array for name, array in held.items() if name in Learned._fields})
        self.update.memory[:] = held[MEMORY]
        if self.growing is not None:
            self.growing.extended(held[FEATURES])
        oracles = {name.removeprefix(ORACLES): array for name, array in held.items() if name.startswith(ORACLES)}
        rows = held[KNOWN].tolist()
        joined = CandidateBatch(**oracles) if rows else None
        self.put({sentence: joined.select([place]) for place, sentence in enumerate(rows) if joined is not None})

    def put(self, oracles: Mapping[int, CandidateBatch]) -> None:
        """Makes lists, best first, the oracles of some sentences."""
        for sentence, one in oracles.items():
            self.oracles[sentence] = one
            self.document.replace(sentence, one.gain_CG[0].astype(np.float64))

    def apart(self, work: Callable[[], Result], shard: int) -> tuple[Result, Arrays]:
        """The result of `work`, and the weights and features it ends with; the learner is as it was afterwards."""
        before = {name: array.copy() for name, array in self.learned._asdict().items()}
        oracles, document, memory = list(self.oracles), self.document, self.update.memory.copy()
        self.document = replace(document, statistics_IK=document.statistics_IK.copy())
        self.update.memory[:] += np.uint64(shard)
        try:
            result = work()
            return result, {name: array.copy() for name, array in self.learned._asdict().items()} | self._met()
        finally:
            self.oracles, self.document = oracles, document
            self.update.memory[:] = memory
            self.learned = Learned(**before)

    def stand_still(self, clock: int) -> None:
        """Counts the current weights in the average up to a later step."""
        self.learned.dense_sum_D[:] += (clock - self.learned.clock_1[0]) * self.learned.dense_D
        self.learned.clock_1[0] = clock
        settle_all(self.learned, self.compiled)

    def mix(self, parts: Sequence[Arrays]) -> None:
        """Takes the mean of weights learned separately up to the same step (McDonald, Hall & Mann 2010)."""
        features = max(len(part["sparse_F"]) for part in parts)
        mixed = {}
        for name, array in parts[0].items():
            padded = [
                _padded(part[name], features) if name.endswith("_F") and len(array) else part[name] for part in parts
            ]
            whole = name in ("touched_F", "clock_1")
            mixed[name] = padded[0] if whole else (sum(padded[1:], padded[0]) / len(parts)).astype(array.dtype)
        self._take(mixed)
        self.learned.touched_F[:] = self.learned.clock_1[0]
        self.update.memory[:] += np.uint64(len(parts))

    def _met(self) -> dict[str, AnyArray]:
        """The sparse features seen so far, if they are numbered when first met."""
        return {} if self.growing is None else {FEATURES: self.growing.described}

    def renumbered(self, arrays: Arrays, known: int) -> Arrays:
        """Weights that were learned separately, with their features renumbered as they are here.

        Args:
            arrays: what `apart` returned.
            known: how many features had the same numbers on both sides before any learning.
        """
        if self.growing is None:
            return arrays
        made = dict(arrays)
        met = made.pop(FEATURES)
        here = {row.tobytes(): known + n for n, row in enumerate(self.growing.described[known:])}
        fresh = [row for row in met[known:] if row.tobytes() not in here]
        size = known + len(here)
        here |= {row.tobytes(): size + n for n, row in enumerate(fresh)}
        self.growing.extended(np.concatenate([self.growing.described, *(row[None] for row in fresh)]))
        id_F = np.array([*range(known), *(here[row.tobytes()] for row in met[known:])], np.int64)
        for name, array in made.items():
            if name.endswith("_F") and len(array):
                made[name] = np.zeros(size + len(fresh), array.dtype)
                made[name][id_F[: len(array)]] = array
        return made

    def _take(self, arrays: Arrays) -> None:
        self._hold(len(arrays.get("sparse_F", ())))
        for name, array in self.learned._asdict().items():
            if len(array):
                array[:] = arrays[name]


def _padded(array: AnyArray, size: int) -> AnyArray:
    return np.concatenate([array, np.zeros(size - len(array), array.dtype)])
