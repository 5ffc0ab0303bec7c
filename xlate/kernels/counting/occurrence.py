"""Which phrases occur in a text, and which of its sentences hold one."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.memory.hashing import find, pack


@loop
def occurrences(finder: PhraseFinder, phrases: int, words_T: Ints32, offsets_S1: Ints) -> tuple[Bools, Bools]:
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
