"""Language model queries of whole phrases, and what a phrase is alone.

Where the state inside a phrase is the one it has without any history, the history has no say any more and the rest is
known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.memory.hashing import EMPTY, first_slot, pack
from xlate.kernels.memory.prefetch import prefetch

# An entry of a memo: what the model said of a phrase after a history. A search that weighs parts of it apart has a
# record of its own that begins with such a key. Entries are direct-mapped: a new one replaces an old one.
SAID = np.dtype([("key", np.uint64), ("logprob", np.float64), ("after", np.int64)])
MEMO_SIZE = 1 << 14


class PhrasesAlone(NamedTuple):
    """Words of O phrases and what they are without a history.

    Phrase o has words `words_W[offsets_O1[o]:offsets_O1[o + 1]]` in the model's numbers; behind each of them the state
    is `states_W`, and the log probability of what is left of the phrase `rest_W`.
    """

    offsets_O1: NDArray[np.int64]
    words_W: NDArray[np.int32]
    states_W: NDArray[np.int32]
    rest_W: NDArray[np.float64]


@njit(cache=True, nogil=True)
def walk_alone(
    lm: NgramArrays, empty_state: int, offsets_O1: NDArray[np.int64], words_W: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """`states_W` and `rest_W` of phrases."""
    states_W, rest_W = np.empty(len(words_W), dtype=np.int32), np.empty(len(words_W), dtype=np.float64)
    for o in range(len(offsets_O1) - 1):
        state = empty_state
        for at in range(offsets_O1[o], offsets_O1[o + 1]):
            rest_W[at], state = step(lm, state, words_W[at])
            states_W[at] = state
        total = 0.0
        for at in range(offsets_O1[o + 1] - 1, offsets_O1[o] - 1, -1):
            total, rest_W[at] = total + rest_W[at], total
    return states_W, rest_W


@njit(cache=True, nogil=True, forceinline=True)
def phrase_logprob(ngrams: NgramArrays, phrases: PhrasesAlone, phrase: int, state: int) -> tuple[float, int]:
    """The natural log probability of a phrase's words after a state, and the state behind them."""
    total, end = 0.0, phrases.offsets_O1[phrase + 1]
    after = int(state)
    for at in range(phrases.offsets_O1[phrase], end):
        logprob, after = step(ngrams, after, phrases.words_W[at])
        total += logprob
        if after == phrases.states_W[at]:
            return total + phrases.rest_W[at], int(phrases.states_W[end - 1])
    return total, after


@njit(cache=True, nogil=True, forceinline=True)
def fetch_ahead(ngrams: NgramArrays, phrases: PhrasesAlone, phrase: int, state: int) -> None:
    """Asks for the memory that a query of a phrase after a state begins with."""
    word = phrases.words_W[phrases.offsets_O1[phrase]]
    prefetch(ngrams.tags_H, first_slot(pack(state, word), np.uint64(len(ngrams.tags_H) - 1)))


@njit(cache=True, nogil=True)
def emptied(memo: NDArray[Any]) -> NDArray[Any]:
    """The same memo, of `MEMO_SIZE` entries, with nothing in it."""
    memo["key"][:] = EMPTY
    return memo


@njit(cache=True, inline="always")
def remembered(memo: NDArray[Any], state: int, phrase: int) -> tuple[Any, bool]:
    """The place for what the model says of a phrase after a state, and whether it stands there already.

    When it does not, the caller must ask the model and write it there.
    """
    key = pack(state, phrase)
    said = memo[first_slot(key, np.uint64(MEMO_SIZE - 1))]
    known = said.key == key
    if not known:
        said.key = key
    return said, known
