"""The n-best lists of some sentences under weights that change all the time, decoded by processes that live on."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from xlate.array_types import Ints
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import DecodedList
from xlate.features.structure import StructureFeatures
from xlate.jobs.train.tuning import NbestLists
from xlate.models.tuned import TunedSystem
from xlate.scoring.weights import Weights
from xlate.search.workers import Workers

# Sparse weights for which there is room at least; pages that nobody writes to take no memory.
ROOM = 1 << 20
# Chunks of a batch for each process: enough that none waits long for the others.
CHUNKS = 3


class SharedWeights:
    """Weights in memory that forked processes read and their parent writes, and features that grow.

    Args:
        weights: the first ones.
        growing: what numbers the sparse features, if they are numbered when they are met.
    """

    def __init__(self, weights: Weights, growing: StructureFeatures | None = None) -> None:
        self.names, self.growing = weights.dense_names, growing
        self.room = max(ROOM, 2 * len(weights.sparse_F))
        memory = mmap.mmap(-1, 8 * (1 + len(self.names) + self.room))
        # The number of sparse weights, the dense weights, the sparse ones.
        self._values = np.frombuffer(memory, dtype=np.float64)
        width = 0 if growing is None else growing.described.shape[1]
        self._described = np.frombuffer(mmap.mmap(-1, 4 * max(self.room * width, 1)), dtype=np.int32)
        self._width, self._known = width, 0

    def put(self, weights: Weights) -> None:
        """Takes the place of the weights before."""
        dense, sparse = len(weights.dense_D), len(weights.sparse_F)
        if self.growing is not None:
            newer = self.growing.described[self._known : sparse]
            self._described[self._known * self._width : sparse * self._width] = newer.ravel()
            self._known = max(self._known, sparse)
        self._values[0] = sparse
        self._values[1 : 1 + dense] = weights.dense_D
        self._values[1 + dense : 1 + dense + sparse] = weights.sparse_F

    def get(self) -> Weights:
        """The weights as they are; they change when others are put there."""
        dense, sparse = len(self.names), int(self._values[0])
        if self.growing is not None:
            self.growing.extended(self._described[: sparse * self._width].reshape(sparse, self._width))
        return Weights(self._values[1 : 1 + dense], self._values[1 + dense : 1 + dense + sparse], self.names)


class ListsOfSentences:
    """Decodes some sentences of a text at a time; a context manager that ends its processes.

    Args:
        system: what decodes.
        lists: the text, and what is made of its hypotheses.
        processes: how many decode; 1 forks none.
    """

    def __init__(self, system: TunedSystem, lists: NbestLists, processes: int) -> None:
        self.system, self.lists, self.processes = system, lists, processes
        self._workers: Workers[DecodedList] | None = None
        self._shared: SharedWeights | None = None

    def decode(self, weights: Weights, rows: Ints, size: int) -> CandidateBatch:
        """At most `size` translations of each sentence, best first.

        Raises:
            InputError: a process died; what decoding raises.
        """
        if self.processes == 1 or len(rows) == 1:
            found = self._decoded(weights, rows.tolist(), size)
        else:
            found = self._side_by_side(weights, rows.tolist(), size)
        return self.lists.listed(found, rows.tolist())

    def _decoded(self, weights: Weights, rows: Sequence[int], size: int) -> list[DecodedList]:
        return list(self.system.hypotheses(weights, [self.lists.text.sources[i] for i in rows], size))

    def _side_by_side(self, weights: Weights, rows: list[int], size: int) -> list[DecodedList]:
        found: list[DecodedList] = []
        if self._shared is None or self._shared.room < len(weights.sparse_F):
            self._end()
            # The first sentence is decoded here, so that what is compiled when it is needed is compiled once.
            found, rows = self._decoded(weights, rows[:1], size), rows[1:]
            self._shared = SharedWeights(weights, self.system.growing)
            self._workers = Workers(self._work, self.processes)
        assert self._workers is not None
        self._shared.put(weights)
        chunk = -(-len(rows) // (CHUNKS * self.processes))
        for start in range(0, len(rows), chunk):
            if self._workers.full:
                found += self._workers.take()
            self._workers.give(size, rows[start : start + chunk])
        while len(self._workers):
            found += self._workers.take()
        return found

    def _work(self, size: int, rows: Sequence[Any]) -> list[DecodedList]:
        assert self._shared is not None
        return self._decoded(self._shared.get(), rows, size)

    def _end(self) -> None:
        if self._workers is not None:
            self._workers.__exit__(None, None, None)
            self._workers = None

    def __enter__(self) -> ListsOfSentences:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()
