"""Queries of a back-off n-gram model as an automaton over contexts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.hashing import HashTable, find, pack


class NgramArrays(NamedTuple):
    """K n-grams and N contexts (states); context 0 is the empty one.

    An n-gram is found under the key (context, last word). Logs are natural.
    """

    table: HashTable
    logprob_K: NDArray[np.float32]
    next_K: NDArray[np.int32]
    backoff_N: NDArray[np.float32]
    suffix_N: NDArray[np.int32]


@njit(cache=True, nogil=True)
def step(arrays: NgramArrays, state: int, word: int) -> tuple[float, int]:
    """The natural log probability of a word after a state, and the state behind the word.

    A word the model does not list counts as `<unk>` (number 0).
    """
    penalty = 0.0
    while True:
        row = find(arrays.table, pack(state, word))
        if row >= 0:
            return penalty + arrays.logprob_K[row], int(arrays.next_K[row])
        if state == 0:
            # Word 0 always has a unigram, so this ends.
            word = 0
        else:
            penalty += arrays.backoff_N[state]
            state = int(arrays.suffix_N[state])


@njit(cache=True, nogil=True)
def step_all(
    arrays: NgramArrays, states_Q: NDArray[np.int32], words_Q: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """`step` for Q independent queries."""
    logprob_Q = np.empty(len(words_Q), dtype=np.float64)
    next_Q = np.empty(len(words_Q), dtype=np.int32)
    for q in range(len(words_Q)):
        logprob_Q[q], next_Q[q] = step(arrays, states_Q[q], words_Q[q])
    return logprob_Q, next_Q


@njit(cache=True, nogil=True)
def walk(arrays: NgramArrays, state: int, words_T: NDArray[np.int32]) -> tuple[float, int]:
    """The sum of the log probabilities of words one after another, and the last state."""
    total = 0.0
    for t in range(len(words_T)):
        logprob, state = step(arrays, state, words_T[t])
        total += logprob
    return total, state


@njit(cache=True, nogil=True)
def walk_sentences(
    arrays: NgramArrays, begin: int, end_word: int, words_T: NDArray[np.int32], offsets_S1: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The log probability of S sentences, each from `begin` and with `end_word` behind it when that is not negative."""
    totals_S = np.empty(len(offsets_S1) - 1, dtype=np.float64)
    for s in range(len(offsets_S1) - 1):
        total, state = walk(arrays, begin, words_T[offsets_S1[s] : offsets_S1[s + 1]])
        if end_word >= 0:
            logprob, state = step(arrays, state, end_word)
            total += logprob
        totals_S[s] = total
    return totals_S
