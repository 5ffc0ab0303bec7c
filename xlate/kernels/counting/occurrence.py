"""Which phrases occur in a text, and which of its sentences hold one."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.memory.hashing import find, pack


@njit(cache=True, nogil=True)
def occurrences(
    finder: PhraseFinder, phrases: int, words_T: NDArray[np.int32], offsets_S1: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Marks which of P phrases occur in S sentences, and which sentences hold any of them; shapes (P,) and (S,)."""
    occurs_P = np.zeros(phrases, dtype=np.bool_)
    holds_S = np.zeros(len(offsets_S1) - 1, dtype=np.bool_)
    for s in range(len(holds_S)):
        for start in range(offsets_S1[s], offsets_S1[s + 1]):
            node = 0
            for t in range(start, offsets_S1[s + 1]):
                node = find(finder.table, pack(node, words_T[t]))
                if node < 0:
                    break
                row = finder.row_N[node]
                if row >= 0:
                    occurs_P[row] = True
                    holds_S[s] = True
    return occurs_P, holds_S
