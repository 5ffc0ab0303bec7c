"""Queries of a back-off n-gram model, word by word and for whole phrases; an automaton whose states are contexts.

Once the state is the same as without history, the rest of a phrase does not depend on the history. So the states and
probabilities of each phrase alone are computed once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bools, Bytes, Floats, Floats32, Ints, Ints32, Uints
from xlate.compiled import compiled, embedded, inlined, inner, loop, prefetch
from xlate.kernels.memory import EMPTY, first_slot, pack, places, row_values, slot_of

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


@compiled
def linked(slots_H: AnyArray, words_Kn: Ints32) -> tuple[Ints32, Ints32]:
    """The contexts of the first words of K n-grams and of their longest known proper suffixes; -1 for unknown words.

    The slots hold all shorter n-grams, each with its own context as the next one.
    """
    prefix_K, suffix_K = np.empty(len(words_Kn), np.int32), np.empty(len(words_Kn), np.int32)
    length, keys_H = words_Kn.shape[1], slots_H["key"]
    for k in range(len(words_Kn)):
        prefix_K[k] = _context(slots_H, keys_H, words_Kn, k, 0, length - 1)
        suffix_K[k] = -1
        start = 1
        while suffix_K[k] < 0:
            suffix_K[k] = _context(slots_H, keys_H, words_Kn, k, start, length)
            start += 1
    return prefix_K, suffix_K


@inner
def _context(slots_H: AnyArray, keys_H: Uints, words_Kn: Ints32, k: int, start: int, end: int) -> int:
    context = 0
    for at in range(start, end):
        slot = slot_of(keys_H, pack(context, words_Kn[k, at]))
        if keys_H[slot] == EMPTY:
            return -1
        context = slots_H[slot].next
    return int(context)


@compiled
def add_ngrams(slots_H: AnyArray, keys_K: Uints, logprob_K: Floats32, next_K: Ints32) -> int:
    """Puts K n-grams into slots; returns the first that is there already, or -1."""
    keys_H = slots_H["key"]
    for k in range(len(keys_K)):
        slot = slot_of(keys_H, keys_K[k])
        if keys_H[slot] != EMPTY:
            return k
        keys_H[slot] = keys_K[k]
        slots_H[slot].logprob, slots_H[slot].next = logprob_K[k], next_K[k]
    return -1


@compiled
def merge_contexts(slots_H: AnyArray, contexts_N: AnyArray, extended_N: Bools, state_N: Ints32) -> None:
    """Replaces each context by the shortest one that gives the same answer to every query; writes these to `state_N`.

    Args:
        slots_H, contexts_N: of all n-grams, with their own contexts.
        extended_N: the contexts that an n-gram extends.
        state_N: zeros.
    """
    for n in range(1, len(contexts_N)):
        contexts_N[n].suffix = state_N[contexts_N[n].suffix]
        idle = not extended_N[n] and contexts_N[n].backoff == 0
        state_N[n] = contexts_N[n].suffix if idle else n
    for slot in range(len(slots_H)):
        slots_H[slot].next = state_N[slots_H[slot].next]


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
    logprob_Q = np.empty(len(words_Q), np.float64)
    next_Q = np.empty(len(words_Q), np.int32)
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
    totals_S = np.empty(len(offsets_S1) - 1, np.float64)
    for s in range(len(offsets_S1) - 1):
        total, state = walk(arrays, begin, row_values(words_T, offsets_S1, s))
        if end_word >= 0:
            logprob, state = step(arrays, state, end_word)
            total += logprob
        totals_S[s] = total
    return totals_S


@loop
def walk_tokens(arrays: NgramArrays, begin: int, end_word: int, words_T: Ints32, offsets_S1: Ints) -> Floats:
    """The log probability of each word of S sentences and of the `end_word` of each, in order, (T + S,)."""
    logprob_N, at = np.empty(len(words_T) + len(offsets_S1) - 1, np.float64), 0
    for s in range(len(offsets_S1) - 1):
        state = begin
        for t in places(offsets_S1, s):
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
    states_W, rest_W = np.empty(len(words_W), np.int32), np.empty(len(words_W), np.float64)
    for o in range(len(offsets_O1) - 1):
        state = empty_state
        for at in places(offsets_O1, o):
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
