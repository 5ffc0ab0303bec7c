"""Language model queries of whole phrases.

The rest of a phrase does not depend on the history any more as soon as the state is the same as without history. So the
states and probabilities of each phrase alone are computed once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, loop, prefetch
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.memory.hashing import first_slot, pack

# An entry of a memo: the key of a state and a phrase, and what the model said. A search may have a record of its own
# that begins with such a key. Every key has one place, where a new entry replaces the old one.
SAID = np.dtype([("key", np.uint64), ("logprob", np.float64), ("after", np.int64)])
MEMO_SIZE = 1 << 14


class PhrasesAlone(NamedTuple):
    """The words of O phrases, and what the model says of them without a history.

    Phrase o has the words `words_W[offsets_O1[o]:offsets_O1[o + 1]]`, numbered as in the model. `states_W` is the state
    behind each word, `rest_W` the log probability of the words that follow it in the phrase.
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
    """Asks the processor to fetch the memory with which a query of a phrase after a state begins."""
    word = phrases.words_W[phrases.offsets_O1[phrase]]
    prefetch(ngrams.tags_H, first_slot(pack(state, word), np.uint64(len(ngrams.tags_H) - 1)))


@inlined
def remembered(memo: AnyArray, state: int, phrase: int) -> tuple[Any, bool]:
    """The place in the memo for a phrase after a state, and whether the model's answer is there already.

    When it is not, the caller must ask the model and write the answer there.
    """
    key = pack(state, phrase)
    said = memo[first_slot(key, np.uint64(MEMO_SIZE - 1))]
    known = said.key == key
    if not known:
        said.key = key
    return said, known
