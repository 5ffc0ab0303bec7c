"""What rules were glued on, and what the words of derivations score, along many paths of one sentence."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.lm.phrase_lm import PhrasesAlone, phrase_logprob


@njit(cache=True, nogil=True)
def glued_steps(offsets_N1: NDArray[np.int64], gaps_L: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each of L steps was glued on: no gap of a rule before it was open; shape (L,).

    Step l leaves `gaps_L[l]` gaps open; path i has steps `offsets_N1[i]` to `offsets_N1[i + 1]`.
    """
    glued_L = np.zeros(len(gaps_L), dtype=np.bool_)
    for i in range(len(offsets_N1) - 1):
        waiting = 0
        for at in range(offsets_N1[i], offsets_N1[i + 1]):
            glued_L[at] = waiting == 0
            waiting = max(waiting - 1, 0) + gaps_L[at]
    return glued_L


@njit(cache=True, nogil=True)
def path_logprobs(
    lm: NgramArrays,
    begin_state: int,
    end_word: int,
    offsets_N1: NDArray[np.int64],
    phrase_L: NDArray[np.int64],
    phrases: PhrasesAlone,
) -> NDArray[np.float64]:
    """The natural log probability of each path's words and of the end of the sentence, shape (N,)."""
    total_N = np.zeros(len(offsets_N1) - 1)
    for i in range(len(total_N)):
        state = begin_state
        for at in range(offsets_N1[i], offsets_N1[i + 1]):
            logprob, state = phrase_logprob(lm, phrases, phrase_L[at], state)
            total_N[i] += logprob
        total_N[i] += step(lm, state, end_word)[0]
    return total_N
