"""An n-gram model ready for queries: every context is a number, every query takes one or a few hash look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints32
from xlate.arrays.ranges import check_lengths, check_within, pieces, refuse
from xlate.arrays.scratch import Scratch
from xlate.arrays.stored import StoredArrays, begin_folder, open_arrays, save_arrays, unusable
from xlate.errors import InputError
from xlate.kernels.lm import (
    CONTEXT,
    SLOT,
    NgramArrays,
    add_ngrams,
    linked,
    merge_contexts,
    slot_tags,
    step_all,
    walk,
    walk_sentences,
    walk_tokens,
)
from xlate.kernels.memory import EMPTY, pair_keys, slots_for
from xlate.lm.arpa import ArpaModel
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, EncodedText, Vocabulary

KIND = "language model"
VOCABULARY = "vocabulary.txt"
# The bytes of an n-gram of an automaton with few empty slots, and of its context.
NGRAM_BYTES = 64
LN10 = float(np.log(10.0))
LAYOUT = {"slots": (SLOT, 1), "tags": ("|u1", 1), "contexts": (CONTEXT, 1)}


class NgramModel:
    """A back-off model as an automaton; a state is one int, the number of the longest context that matters.

    Log probabilities are natural. State 0 is the empty context. Two histories that the model cannot distinguish have
    the same state: a context that no n-gram extends and that has no back-off weight is replaced by its suffix.

    Example:
        good: `logprob, state = model.score(model.begin_state, word)`
        bad:  `model.score(model.begin_state, BEGIN_ID)`: `<s>` begins a sentence, it is never predicted.
    """

    def __init__(self, vocabulary: Vocabulary, order: int, arrays: NgramArrays) -> None:
        self.vocabulary = vocabulary
        self.order = order
        self.arrays = arrays
        self.empty_state = 0
        self.begin_state = self.score(0, BEGIN_ID)[1]

    @classmethod
    def from_arpa(cls, arpa: ArpaModel, scratch: Scratch | None = None) -> NgramModel:
        """Builds the automaton of a back-off model; if `scratch` cannot hold it in memory, it is mapped from its files.

        Raises:
            InputError: an n-gram's first words are not an n-gram of the model, or an n-gram occurs twice.
        """
        if scratch is None or scratch.holds(sum(arpa.counts) * NGRAM_BYTES):
            scratch = Scratch()
        return cls(arpa.vocabulary, arpa.order, _automaton(arpa, scratch))

    def score(self, state: int, word: int) -> tuple[float, int]:
        """The natural log probability of a word after a state, and the next state."""
        return self.score_words(state, np.array([word], np.int32))

    def score_batch(self, states_Q: Ints32, words_Q: Ints32) -> tuple[Floats, Ints32]:
        """Q independent queries at once."""
        return step_all(self.arrays, states_Q, words_Q)

    def score_words(self, state: int, words_T: Ints32) -> tuple[float, int]:
        """The log probability of words one after another, and the last state."""
        total, after = walk(self.arrays, state, words_T)
        return float(total), int(after)

    def sentence_logprob(self, words_T: Ints32) -> float:
        """The natural log probability of a sentence between `<s>` and `</s>`."""
        return float(self.sentence_logprobs(EncodedText.from_ids([words_T]))[0])

    def sentence_logprobs(self, sentences: EncodedText) -> Floats:
        """`sentence_logprob` of S sentences, shape (S,)."""
        return walk_sentences(self.arrays, self.begin_state, END_ID, *sentences.arrays)

    def save(self, directory: str | Path) -> None:
        """Writes the model into a directory as a folder of arrays, with its vocabulary alongside."""
        directory = begin_folder(directory)
        self.vocabulary.save(directory / VOCABULARY)
        described = {"order": self.order, "words": len(self.vocabulary)}
        save_arrays(directory, KIND, dict(zip(LAYOUT, self.arrays, strict=True)), described, [VOCABULARY])

    @classmethod
    def load(cls, directory: str | Path) -> NgramModel:
        """Opens what `save` wrote, memory-mapped.

        Raises:
            InputError: another kind or version, a missing or damaged file, ids out of range.
        """
        stored = open_arrays(directory, KIND, LAYOUT, _check_automaton)
        vocabulary = Vocabulary.load(stored.folder / VOCABULARY)
        if len(vocabulary) != stored.number("words"):
            raise unusable(
                stored.folder / VOCABULARY,
                "the vocabulary does not match the model",
                f"{len(vocabulary)} words",
                f"{stored.number('words')} words",
            )
        return cls(vocabulary, stored.number("order"), NgramArrays(*(stored[name] for name in LAYOUT)))


def _automaton(arpa: ArpaModel, scratch: Scratch) -> NgramArrays:
    """Numbers the contexts (the empty one, then every n-gram below the highest order) and links them."""
    contexts = 1 + sum(arpa.counts[:-1])
    contexts_N, extended_N = scratch.filled(contexts, np.zeros((), CONTEXT)), scratch.filled(contexts, False)
    # An empty slot has the values of the first n-gram.
    first = EMPTY, arpa.tables[0].log10_K[0] * LN10, int(arpa.order > 1)
    slots_H = scratch.filled(slots_for(sum(arpa.counts)), np.array(first, SLOT))
    own = 1
    for n, table in enumerate(arpa.tables, 1):
        for piece in pieces(len(table)):
            words_Kn = np.ascontiguousarray(table.words_Kn[piece])
            prefix_K, next_K = linked(slots_H, words_Kn)
            alone = np.flatnonzero(prefix_K < 0)
            if len(alone):
                expected = "an entry for its first words too"
                raise _unusable(arpa, "whose beginning is missing from the model", words_Kn[alone[0]], expected)
            extended_N[prefix_K] = True
            if n < arpa.order:
                rows = slice(own, own + len(words_Kn))
                contexts_N["backoff"][rows], contexts_N["suffix"][rows] = table.backoff_K[piece] * LN10, next_K
                next_K = np.arange(rows.start, rows.stop, dtype=np.int32)
                own = rows.stop
            logprob_K = (table.log10_K[piece] * LN10).astype(np.float32)
            twice = add_ngrams(slots_H, pair_keys(prefix_K, words_Kn[:, -1]), logprob_K, next_K)
            if twice >= 0:
                raise _unusable(arpa, "appears twice", words_Kn[twice], "each n-gram once")
    merge_contexts(slots_H, contexts_N, extended_N, scratch.filled(contexts, np.int32(0)))
    (tags_H,) = scratch.stored((slot_tags(slots_H["key"][piece]),) for piece in pieces(len(slots_H)))
    return NgramArrays(slots_H, tags_H, contexts_N)


def _unusable(arpa: ArpaModel, fault: str, words_n: Ints32, expected: str) -> InputError:
    seen = " ".join(map(arpa.vocabulary.word, words_n.tolist()))
    return InputError(f"an n-gram {fault}", seen, expected, "make the model again")


def _check_automaton(stored: StoredArrays) -> None:
    """Checks that every query ends: states and words exist, suffixes get shorter, the hash table has an empty slot."""
    slots_H, tags_H, contexts_N = (stored[name] for name in LAYOUT)
    states, words = len(contexts_N), stored.number("words")
    check_lengths(stored, tags=slots_H.shape)
    if not states or len(slots_H) & (len(slots_H) - 1):
        raise refuse(stored, "slots", f"{len(slots_H)} slots, {states} contexts", "a power of two, and one or more")
    unigram_of_unknown, free = False, 0
    for piece in pieces(len(slots_H)):
        part_H, wanted_H = slots_H[piece], slot_tags(slots_H["key"][piece])
        if (tags_H[piece] != wanted_H).any():
            raise refuse(stored, "tags", "a tag of a different key", "the tags of the keys")
        taken = wanted_H != 0
        free += int((~taken).sum())
        unigram_of_unknown |= bool((part_H["key"] == 0).any())
        key_N = part_H["key"][taken]
        for values, end in (
            (part_H["next"][taken], states),
            (key_N >> np.uint64(32), states),
            (key_N & np.uint64(0xFFFFFFFF), words),
        ):
            check_within(stored, "slots", 0, end, values)
    if not free or not unigram_of_unknown:
        raise refuse(stored, "slots", f"{free} empty slots", "one or more, and a unigram of the unknown word")
    for piece in pieces(states):
        # A suffix is a shorter context, which has a smaller number; that of a context of one word is the empty one.
        shorter_N = np.maximum(np.arange(piece.start, piece.stop), 1)
        check_within(stored, "contexts", 0, shorter_N, contexts_N["suffix"][piece], piece.start)


@dataclass(frozen=True)
class Perplexity:
    """Perplexities over all tokens (one `</s>` per sentence) and over those the model knows."""

    including_unknown: float
    excluding_unknown: float
    tokens: int
    unknown: int

    def __str__(self) -> str:
        return (
            f"perplexity {self.including_unknown:.2f} including and {self.excluding_unknown:.2f} excluding "
            f"{self.unknown} unknown of {self.tokens} tokens"
        )


def token_logprobs(model: NgramModel, sentences: EncodedText) -> Floats:
    """The natural log probability of each word of some sentences and of the end of each, in order; shape (T + S,)."""
    return walk_tokens(model.arrays, model.begin_state, END_ID, *sentences.arrays)


def perplexity(model: NgramModel, sentences: Sequence[Sequence[str]]) -> Perplexity:
    """Measures tokenised sentences; nan for a text without sentences."""
    text = EncodedText.encode(sentences, model.vocabulary)
    if not len(text):
        return Perplexity(float("nan"), float("nan"), 0, 0)
    logprob_T = token_logprobs(model, text)
    known_T = np.insert(text.ids_T, text.offsets_S1[1:], END_ID) != UNKNOWN_ID
    including, excluding = (float(np.exp(-kept_N.mean())) for kept_N in (logprob_T, logprob_T[known_T]))
    return Perplexity(including, excluding, len(known_T), int((~known_T).sum()))
