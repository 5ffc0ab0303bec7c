"""Queries of a back-off n-gram model, word by word and for whole phrases; an automaton whose states are contexts.

Once the state is the same as without history, the rest of a phrase does not depend on the history. So the states and
probabilities of each phrase alone are computed once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bytes, Floats, Floats32, Ints, Ints32, Uints
from xlate.compiled import embedded, inlined, loop, prefetch
from xlate.kernels.memory import EMPTY, HashTable, first_slot, pack

SLOT = np.dtype([("key", np.uint64), ("logprob", np.float32), ("next", np.int32)])
CONTEXT = np.dtype([("backoff", np.float32), ("suffix", np.int32)])
# The tag of an empty slot is 0, that of a full one is seven bits of its key times this number, plus 1.
TAG_FACTOR, TAG_SHIFT = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(57)


class NgramArrays(NamedTuple):
    """A hash table of n-grams with H slots, and N contexts (states); context 0 is the empty one.

    The key of an n-gram is (context, last word); its values are the natural log probability and the next context.
    Values are next to their keys, so a query waits for memory only once. Most queries are for n-grams that are not in
    the table. `tags_H` answers nearly all of those: it is a sixteenth of the size of the slots, so more of it is in the
    processor's caches.
    """

    slots_H: AnyArray
    tags_H: Bytes
    contexts_N: AnyArray


def ngram_arrays(
    table: HashTable, logprob_K: Floats32, next_K: Ints32, backoff_N: Floats32, suffix_N: Ints32
) -> NgramArrays:
    """The arrays of K n-grams, the rows of a table, and N contexts; read-only, like those of a stored model."""
    slots_H = np.empty(len(table.keys_H), dtype=SLOT)
    rows_H = np.maximum(table.rows_H, 0)
    slots_H["key"] = table.keys_H
    slots_H["logprob"], slots_H["next"] = logprob_K[rows_H], next_K[rows_H]
    tags_H = slot_tags(slots_H["key"])
    contexts_N = np.empty(len(backoff_N), dtype=CONTEXT)
    contexts_N["backoff"], contexts_N["suffix"] = backoff_N, suffix_N
    arrays = NgramArrays(slots_H, tags_H, contexts_N)
    for array in arrays:
        # Numba would compile another version for arrays that can be written.
        array.flags.writeable = False
    return arrays


def slot_tags(key_H: Uints) -> Bytes:
    """The tags of slots with these keys, shape (H,)."""
    tags_H: Bytes = ((key_H * TAG_FACTOR) >> TAG_SHIFT).astype(np.uint8) + np.uint8(1)
    tags_H[key_H == EMPTY] = 0
    return tags_H


@embedded
def step(arrays: NgramArrays, state: int, word: int) -> tuple[float, int]:
    """The natural log probability of a word after a state, and the next state.

    A word that the model does not list counts as `<unk>` (number 0).
    """
    slots_H, tags_H, mask = arrays.slots_H, arrays.tags_H, np.uint64(len(arrays.slots_H) - 1)
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
            # Word 0 always has a unigram, so the loop ends.
            word = 0
        else:
            penalty += arrays.contexts_N[state].backoff
            state = int(arrays.contexts_N[state].suffix)


@loop
def step_all(arrays: NgramArrays, states_Q: Ints32, words_Q: Ints32) -> tuple[Floats, Ints32]:
    """`step` for Q independent queries."""
    logprob_Q = np.empty(len(words_Q), dtype=np.float64)
    next_Q = np.empty(len(words_Q), dtype=np.int32)
    for q in range(len(words_Q)):
        logprob_Q[q], next_Q[q] = step(arrays, states_Q[q], words_Q[q])
    return logprob_Q, next_Q


@loop
def walk(arrays: NgramArrays, state: int, words_T: Ints32) -> tuple[float, int]:
    """The sum of the log probabilities of successive words, and the last state."""
    total = 0.0
    for t in range(len(words_T)):
        logprob, state = step(arrays, state, words_T[t])
        total += logprob
    return total, state


@loop
def walk_sentences(arrays: NgramArrays, begin: int, end_word: int, words_T: Ints32, offsets_S1: Ints) -> Floats:
    """The log probabilities of S sentences, each starting in state `begin` and ending with `end_word` unless it is
    negative.
    """
    totals_S = np.empty(len(offsets_S1) - 1, dtype=np.float64)
    for s in range(len(offsets_S1) - 1):
        total, state = walk(arrays, begin, words_T[offsets_S1[s] : offsets_S1[s + 1]])
        if end_word >= 0:
            logprob, state = step(arrays, state, end_word)
            total += logprob
        totals_S[s] = total
    return totals_S


@loop
def walk_tokens(arrays: NgramArrays, begin: int, end_word: int, words_T: Ints32, offsets_S1: Ints) -> Floats:
    """The log probability of each word of S sentences and of the `end_word` of each, in order, (T + S,)."""
    logprob_N, at = np.empty(len(words_T) + len(offsets_S1) - 1, dtype=np.float64), 0
    for s in range(len(offsets_S1) - 1):
        state = begin
        for t in range(offsets_S1[s], offsets_S1[s + 1]):
            logprob_N[at], state = step(arrays, state, words_T[t])
            at += 1
        logprob_N[at], state = step(arrays, state, end_word)
        at += 1
    return logprob_N


# An entry of a memo: the key of a state and a phrase, and the model's answer. A search may use its own record that
# begins with such a key. Every key has one place, where a new entry replaces the old one.
SAID = np.dtype([("key", np.uint64), ("logprob", np.float64), ("after", np.int64)])
MEMO_SIZE = 1 << 14


class PhrasesAlone(NamedTuple):
    """The words of O phrases, and their probabilities and states without a history.

    Phrase o has the words `words_W[offsets_O1[o]:offsets_O1[o + 1]]`, numbered as in the model. `states_W` is the state
    after each word, `rest_W` the log probability of the words that follow it in the phrase.
    """

    offsets_O1: Ints
    words_W: Ints32
    states_W: Ints32
    rest_W: Floats


@loop
def walk_alone(lm: NgramArrays, empty_state: int, offsets_O1: Ints, words_W: Ints32) -> tuple[Ints32, Floats]:
    """Computes `states_W` and `rest_W` of phrases."""
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


@embedded
def phrase_logprob(ngrams: NgramArrays, phrases: PhrasesAlone, phrase: int, state: int) -> tuple[float, int]:
    """The natural log probability of the words of a phrase after a state, and the next state."""
    total, end = 0.0, phrases.offsets_O1[phrase + 1]
    after = int(state)
    for at in range(phrases.offsets_O1[phrase], end):
        logprob, after = step(ngrams, after, phrases.words_W[at])
        total += logprob
        if after == phrases.states_W[at]:
            return total + phrases.rest_W[at], int(phrases.states_W[end - 1])
    return total, after


@embedded
def fetch_ahead(ngrams: NgramArrays, phrases: PhrasesAlone, phrase: int, state: int) -> None:
    """Prefetches the memory that a query of a phrase after a state reads first."""
    word = phrases.words_W[phrases.offsets_O1[phrase]]
    prefetch(ngrams.tags_H, first_slot(pack(state, word), np.uint64(len(ngrams.tags_H) - 1)))


@inlined
def remembered(memo: AnyArray, state: int, phrase: int) -> tuple[Any, bool]:
    """The place in the memo for a phrase after a state, and whether the model's answer is there already.

    If not, the caller must query the model and write the answer there.
    """
    key = pack(state, phrase)
    said = memo[first_slot(key, np.uint64(MEMO_SIZE - 1))]
    known = said.key == key
    if not known:
        said.key = key
    return said, known
