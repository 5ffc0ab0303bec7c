"""What rules were glued on, and what the words of derivations score, along many paths of one sentence."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.lm.phrase_lm import PhrasesAlone, phrase_logprob


@loop
def glued_steps(offsets_N1: Ints, gaps_L: Ints32) -> Bools:
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


@loop
def path_logprobs(
    lm: NgramArrays, begin_state: int, end_word: int, offsets_N1: Ints, phrase_L: Ints, phrases: PhrasesAlone
) -> Floats:
    """The natural log probability of each path's words and of the end of the sentence, shape (N,)."""
    total_N = np.zeros(len(offsets_N1) - 1)
    for i in range(len(total_N)):
        state = begin_state
        for at in range(offsets_N1[i], offsets_N1[i + 1]):
            logprob, state = phrase_logprob(lm, phrases, phrase_L[at], state)
            total_N[i] += logprob
        total_N[i] += step(lm, state, end_word)[0]
    return total_N
