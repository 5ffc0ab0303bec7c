"""Language model queries of whole phrases: an n-gram model with its values beside its keys, and what a phrase is alone.

A query of `xlate.kernels.ngram` reads from up to six arrays, each a wait for memory; here from two. And where the state
inside a phrase is the one it has without any history, the history has no say any more and the rest is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.hashing import EMPTY, first_slot, pack
from xlate.kernels.ngram import NgramArrays, step
from xlate.kernels.prefetch import prefetch

SLOT = np.dtype([("key", np.uint64), ("logprob", np.float32), ("next", np.int32)])
CONTEXT = np.dtype([("backoff", np.float32), ("suffix", np.int32)])
# A tag is 0 where a slot is empty, else seven bits of the product of this and the key, plus 1.
TAG_FACTOR, TAG_SHIFT = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(57)


class PackedNgrams(NamedTuple):
    """The hash table of `NgramArrays`, H slots with what is found there, and N contexts.

    Most questions are about n-grams that are not there. `tags_H`, a sixteenth of the size of the slots and so nearer to
    the processor, answers nearly all of those.
    """

    slots_H: NDArray[Any]
    tags_H: NDArray[np.uint8]
    contexts_N: NDArray[Any]


def pack_ngrams(arrays: NgramArrays) -> PackedNgrams:
    """The same model, packed."""
    slots_H = np.empty(len(arrays.table.keys_H), dtype=SLOT)
    rows_H = np.maximum(arrays.table.rows_H, 0)
    slots_H["key"] = arrays.table.keys_H
    slots_H["logprob"], slots_H["next"] = arrays.logprob_K[rows_H], arrays.next_K[rows_H]
    contexts_N = np.empty(len(arrays.backoff_N), dtype=CONTEXT)
    contexts_N["backoff"], contexts_N["suffix"] = arrays.backoff_N, arrays.suffix_N
    tags_H = ((slots_H["key"] * TAG_FACTOR) >> TAG_SHIFT).astype(np.uint8) + np.uint8(1)
    tags_H[slots_H["key"] == EMPTY] = 0
    return PackedNgrams(slots_H, tags_H, contexts_N)


@njit(cache=True, nogil=True, forceinline=True)
def step_packed(ngrams: PackedNgrams, state: int, word: int) -> tuple[float, int]:
    """The natural log probability of a word after a state, and the state behind it; see `xlate.kernels.ngram.step`."""
    slots_H, tags_H, mask = ngrams.slots_H, ngrams.tags_H, np.uint64(len(ngrams.slots_H) - 1)
    penalty = 0.0
    while True:
        key = pack(state, word)
        slot = first_slot(key, mask)
        tag = ((key * TAG_FACTOR) >> TAG_SHIFT) + np.uint64(1)
        seen = np.uint64(tags_H[slot])
        while seen != 0:
            if seen == tag and slots_H[slot].key == key:
                return penalty + slots_H[slot].logprob, int(slots_H[slot].next)
            slot = (slot + np.uint64(1)) & mask
            seen = np.uint64(tags_H[slot])
        if state == 0:
            # Word 0 always has a unigram, so this ends.
            word = 0
        else:
            penalty += ngrams.contexts_N[state].backoff
            state = int(ngrams.contexts_N[state].suffix)


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
def phrase_logprob(ngrams: PackedNgrams, phrases: PhrasesAlone, phrase: int, state: int) -> tuple[float, int]:
    """The natural log probability of a phrase's words after a state, and the state behind them."""
    total, end = 0.0, phrases.offsets_O1[phrase + 1]
    after = int(state)
    for at in range(phrases.offsets_O1[phrase], end):
        logprob, after = step_packed(ngrams, after, phrases.words_W[at])
        total += logprob
        if after == phrases.states_W[at]:
            return total + phrases.rest_W[at], int(phrases.states_W[end - 1])
    return total, after


@njit(cache=True, nogil=True, forceinline=True)
def fetch_ahead(ngrams: PackedNgrams, phrases: PhrasesAlone, phrase: int, state: int) -> None:
    """Asks for the memory that a query of a phrase after a state begins with."""
    word = phrases.words_W[phrases.offsets_O1[phrase]]
    prefetch(ngrams.tags_H, first_slot(pack(state, word), np.uint64(len(ngrams.tags_H) - 1)))
