"""The joint model as a feature of the phrase decoder: the sum of the scores of all target words, and of the end.

The first layer is a sum of vectors: one of the source words around the affiliated one, and one for each word of the
history. Those that a sentence needs are collected once. The words of a phrase whose whole history is inside it are
scored before the search, the first M ones in the search.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xlate.align.links import Links
from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.arrays.ragged import lengths_of, offsets_of, places_in_rows, places_of, row_numbers
from xlate.compiled import summed
from xlate.kernels.search.phrase_moves import END_OPTION
from xlate.models.joint.kind import JointModel, affiliations, load_joint
from xlate.models.phrase.history import HistoryFeature
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, Vocabulary

if TYPE_CHECKING:
    from xlate.models.phrase.model import PhraseModel
    from xlate.models.phrase.options import PlacedPhrases

NAME = "JointModel0"
# The first numbers of `data`: M, H, the bits of a word in the state, its words, and where its other parts begin:
# (state, option) and value of moves, vectors of histories, phrases and their words.
HISTORY, HIDDEN, BITS, WORDS, MEMO, SUM, VECTORS, PHRASES, SAID, HEAD = range(10)
# Of each phrase: its first word, how many words depend on the phrases before, what the others score, and the state.
FIRST, OPEN, CLOSED, SHIFT, TAIL, PHRASE = range(6)
# Of each word: where the vectors of its source window and of its output begin, and its number in histories.
WINDOW, OUTPUT, NUMBER, WORD = range(4)
MEMO_SIZE = 1 << 14
# The state has 32 bits, and options have smaller numbers than this; keys of both are exact as floats.
STATE_BITS, OPTIONS = 32, 1 << 21


@summed
def word_score(data: Any, state: int, window: int, output: int) -> float:
    """The score of a word after a history."""
    hidden, words, bits, at = int(data[HIDDEN]), int(data[WORDS]), int(data[BITS]), int(data[SUM])
    for h in range(hidden):
        data[at + h] = data[window + h]
    vectors = int(data[VECTORS])
    for _ in range(int(data[HISTORY])):
        vector = vectors + (state & ((1 << bits) - 1)) * hidden
        for h in range(hidden):
            data[at + h] += data[vector + h]
        vectors, state = vectors + words * hidden, state >> bits
    score = data[output + hidden]
    for h in range(hidden):
        # tanh(x) from a fraction for tanh(x / 2), with an error below 3e-8.
        half = 0.5 * min(max(data[at + h], -9.0), 9.0)
        square = half * half
        over = half * (135135.0 + square * (17325.0 + square * (378.0 + square)))
        under = 135135.0 + square * (62370.0 + square * (3150.0 + square * 28.0))
        score += data[output + h] * (2.0 * over * under / (over * over + under * under))
    return score


def move(state: int, option: int, _place: Any, data: Any, after: Any) -> float:
    """The scores of a phrase's words, or of the end; the state has the last M words, the last one in its lowest bits."""
    key = float(state * OPTIONS + option + 2)
    mixed = state * 0x9E3779B1 + option * 0x85EBCA77
    kept = int(data[MEMO]) + 2 * ((mixed ^ (mixed >> 15)) & (MEMO_SIZE - 1))
    phrase = int(data[PHRASES]) + (option - END_OPTION) * PHRASE
    bits = int(data[BITS])
    mask = (1 << (bits * int(data[HISTORY]))) - 1
    after[0] = ((state << int(data[phrase + SHIFT])) | int(data[phrase + TAIL])) & mask
    if data[kept] == key:
        return data[kept + 1]
    score, word = data[phrase + CLOSED], int(data[SAID]) + int(data[phrase + FIRST]) * WORD
    for _ in range(int(data[phrase + OPEN])):
        score += word_score(data, state, int(data[word + WINDOW]), int(data[word + OUTPUT]))
        state = (state << bits) | int(data[word + NUMBER])
        word += WORD
    data[kept], data[kept + 1] = key, score
    return score


class JointScores:
    """Scores the phrases of a sentence, and keeps those of the last one."""

    def __init__(self, joint: JointModel) -> None:
        self.joint = joint
        self.kept: tuple[PlacedPhrases, Floats, Floats] | None = None
        # Computed now, so that forked processes share them.
        self.vectors_MVH = np.concatenate([joint.history_MVH, joint.unknown_MH[:, None]], axis=1)

    def feature(self) -> HistoryFeature:
        """The feature with history; any number of models may have one."""
        return HistoryFeature(NAME, self.data, move, self.alone, by_name=False)

    def data(self, model: PhraseModel, phrases: PlacedPhrases) -> Floats:
        """See `HistoryFeature`."""
        return self.of(model, phrases)[0]

    def alone(self, model: PhraseModel, phrases: PlacedPhrases) -> Floats:
        """See `HistoryFeature`."""
        return self.of(model, phrases)[1]

    def of(self, model: PhraseModel, phrases: PlacedPhrases) -> tuple[Floats, Floats]:
        """The numbers that `move` reads, and the score of each phrase with mean vectors for what is before it."""
        kept = self.kept
        if kept is None or kept[0] is not phrases:
            kept = self.kept = (phrases, *self._computed(model, phrases))
        return kept[1:]

    def _computed(self, model: PhraseModel, phrases: PlacedPhrases) -> tuple[Floats, Floats]:
        joint, history = self.joint, len(self.vectors_MVH)
        # The end comes first, as a phrase of one word.
        offsets_O1 = offsets_of(np.append(1, np.diff(phrases.phrases.offsets_O1)))
        local_L, local_W = self._local_words(model, phrases)
        window_W = np.append(len(phrases.words), self._affiliations(model, phrases))
        bits = STATE_BITS // history
        mask = (1 << bits * history) - 1
        number_W = np.where(local_W < 1 << bits, local_W, 1)
        code_W, place_W = np.zeros_like(local_W), places_in_rows(offsets_O1)
        for back in range(1, history + 1):
            code_W[back:] |= np.where(place_W >= back, np.roll(number_W, back) << bits * (back - 1), 0)[back:]
        last_O, count_O = offsets_O1[1:] - 1, np.diff(offsets_O1)
        tail_O, open_O = (code_W[last_O] << bits | number_W[last_O]) & mask, np.minimum(count_O, history)
        source_nH = joint.source_nH(joint.source.ids(phrases.words))
        # The last one stands for words before a phrase.
        vectors_MLH = self.vectors_MVH[:, np.append(local_L, -1)]
        output_LH = np.column_stack([joint.arrays["output.weight"][local_L], joint.arrays["bias.weight"][local_L]])
        row_W, hidden = row_numbers(offsets_O1), source_nH.shape[1]
        alone_W = _alone(source_nH, vectors_MLH, output_LH, (window_W, local_W, code_W))
        closed_O = np.bincount(row_W, np.where(place_W >= history, alone_W, 0.0), len(count_O))
        memo = np.zeros(2 * MEMO_SIZE + hidden)
        phrases_OP = np.column_stack([offsets_O1[:-1], open_O, closed_O, open_O * bits, tail_O])
        sizes = HEAD, 2 * MEMO_SIZE, hidden, vectors_MLH.size, phrases_OP.size, len(local_W) * WORD, source_nH.size
        *places, windows, outputs = offsets_of(sizes)[1:].tolist()
        words_W3 = np.column_stack([windows + window_W * hidden, outputs + local_W * (hidden + 1), number_W])
        head = [history, hidden, bits, len(local_L) + 1, *places]
        parts = (head, memo, vectors_MLH, phrases_OP, words_W3, source_nH, output_LH)
        data = np.concatenate([np.ravel(part) for part in parts], dtype=np.float64)
        return data, np.bincount(row_W, alone_W, len(count_O))[1:]

    def _local_words(self, model: PhraseModel, phrases: PlacedPhrases) -> tuple[Ints, Ints]:
        """The model's words that a sentence uses, `<s>`, `<unk>` and then ascending, and the place of each word there.

        The end comes first.
        """
        from xlate.models.phrase.lists import target_ids

        # Words that the phrase model does not know have numbers beyond its vocabulary.
        numbers = np.append(self.numbers(model.target_vocabulary), UNKNOWN_ID)
        ids_W = numbers[np.minimum(target_ids(model, phrases), len(numbers) - 1)]
        special = [UNKNOWN_ID, BEGIN_ID, END_ID]
        local_L, local_W = np.unique(np.concatenate([special, [END_ID], ids_W]), return_inverse=True)
        # State 0 is a history of `<s>`; no phrase has such a word.
        local_L[:2] = BEGIN_ID, UNKNOWN_ID
        return local_L, np.maximum(local_W[len(special) :], 1)

    @lru_cache(maxsize=2)  # noqa: B019
    def numbers(self, vocabulary: Vocabulary) -> Ints32:
        """The model's numbers of a vocabulary's words."""
        return self.joint.target.ids(vocabulary.words)

    def _affiliations(self, model: PhraseModel, phrases: PlacedPhrases) -> Ints:
        """The source positions that the words of phrases belong to; all of a copied word's or a term's to its first."""
        table, offsets_O1 = model.table, phrases.phrases.offsets_O1
        known = phrases.pair_O >= 0
        links_O = np.where(known, lengths_of(table.link_offsets_B1, np.maximum(phrases.pair_O, 0)), 0)
        places = places_of(table.link_offsets_B1, phrases.pair_O[known])
        links = Links(table.link_source_K[places], table.link_target_K[places], offsets_of(links_O))
        return affiliations(offsets_O1, links) + phrases.start_O[row_numbers(offsets_O1)]


def _alone(source_nH: Floats, vectors_MLH: AnyArray, output_LH: Floats, words: tuple[Ints, Ints, Ints]) -> Floats:
    """The scores of words, given by their windows, their outputs and the history inside their phrases.

    Words before phrases, which are 0 in a history, have the last vector.
    """
    window_W, local_W, code_W = words
    key_W = (window_W * len(output_LH) + local_W) << STATE_BITS | code_W
    _, first, same_W = np.unique(key_W, return_index=True, return_inverse=True)
    hidden_WH, code_W, bits = source_nH[window_W[first]], code_W[first], STATE_BITS // len(vectors_MLH)
    for vectors_LH in vectors_MLH:
        number_W = code_W & ((1 << bits) - 1)
        hidden_WH += vectors_LH[np.where(number_W > 0, number_W, -1)]
        code_W = code_W >> bits
    output_WH = output_LH[local_W[first]]
    return (np.einsum("wh,wh->w", np.tanh(hidden_WH), output_WH[:, :-1]) + output_WH[:, -1])[same_W]


def joint_feature(run: Path) -> HistoryFeature:
    """The feature of a finished run; raises what `load_joint` raises."""
    return JointScores(load_joint(run)).feature()
