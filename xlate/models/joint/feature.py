"""The joint model as a feature of the phrase decoder: the sum of the scores of all target words, and of the end.

The first layer is a sum of vectors, one of the source words around the affiliated one and one for each of the M words
of the history. Those of a sentence are collected once, so a word costs M + 1 additions, and one product with its
output.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from xlate.align.links import Links
from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import lengths_of, offsets_of, places_of, row_numbers
from xlate.compiled import loop, pointer, summed
from xlate.models.joint.kind import JointModel, affiliations
from xlate.models.phrase.history import HistoryFeature
from xlate.models.unit_model import numbered_words
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, Vocabulary

if TYPE_CHECKING:
    from xlate.models.phrase.model import PhraseModel
    from xlate.models.phrase.options import PlacedPhrases

NAME = "JointModel0"
# The first numbers of `data`: M, H, the bits of a word in the state, the vectors for each place of the history, and
# where the parts begin: what is known of moves, a sum of vectors, vectors of histories, and the place of the first word
# of each phrase; the end of the sentence is a phrase before all others.
HISTORY, HIDDEN, BITS, WORDS, MEMO, SUM, VECTORS, PHRASES, HEAD = range(9)
# Of each word: where the vectors of its source window and of its output begin, and its number in histories.
WINDOW, OUTPUT, NUMBER, WORD = range(4)
# Of each move that is known: its state and option, its score, and the state after it.
KEY, SCORE, AFTER, KNOWN = range(4)
MOVES = 1 << 14
# The state has 32 bits, and options have smaller numbers than this; keys of both are exact as floats.
STATE_BITS, OPTIONS = 32, 1 << 21
# Numbers in histories: of unknown words, and of words of which nothing is known.
UNKNOWN, ANY = 1, END_ID


@summed
def word_score(data: Any, state: int, window: int, output: int) -> float:
    """The score of a word after the words of a state, the nearest one in its lowest bits."""
    hidden, bits, at, vectors = int(data[HIDDEN]), int(data[BITS]), int(data[SUM]), int(data[VECTORS])
    for h in range(hidden):
        data[at + h] = data[window + h]
    for _ in range(int(data[HISTORY])):
        vector = vectors + (state & ((1 << bits) - 1)) * hidden
        for h in range(hidden):
            data[at + h] += data[vector + h]
        vectors, state = vectors + int(data[WORDS]) * hidden, state >> bits
    score: float = data[output + hidden]
    for h in range(hidden):
        # tanh(x) from a fraction for tanh(x / 2), with an error below 3e-8.
        half = 0.5 * min(max(data[at + h], -9.0), 9.0)
        square = half * half
        over = half * (135135.0 + square * (17325.0 + square * (378.0 + square)))
        under = 135135.0 + square * (62370.0 + square * (3150.0 + square * 28.0))
        score += data[output + h] * (2.0 * over * under / (over * over + under * under))
    return score


@summed
def phrase_score(data: Any, state: int, option: int) -> tuple[float, int]:
    """The scores of a phrase's words after a state, and the state after them."""
    phrase, score = int(data[PHRASES]) + option + 1, 0.0
    for word in range(int(data[phrase]), int(data[phrase + 1]), WORD):
        score += word_score(data, state, int(data[word + WINDOW]), int(data[word + OUTPUT]))
        state = (state << int(data[BITS])) | int(data[word + NUMBER])
    return score, state & ((1 << (int(data[BITS]) * int(data[HISTORY]))) - 1)


def move(state: int, option: int, _place: Any, data: Any, after: Any) -> float:
    """The scores of a phrase's words, or of the end; known moves are looked up."""
    key = float(state * OPTIONS + option + 2)
    mixed = state * 0x9E3779B1 + option * 0x85EBCA77
    known = int(data[MEMO]) + KNOWN * ((mixed ^ (mixed >> 15)) & (MOVES - 1))
    if data[known + KEY] != key:
        data[known + KEY] = key
        data[known + SCORE], data[known + AFTER] = phrase_score(data, state, option)
    after[0] = int(data[known + AFTER])
    return float(data[known + SCORE])


@loop
def scores_after(data_N: Floats, state: int, options: int) -> Floats:
    """The scores of all phrases after a state, (O,)."""
    score_O = np.empty(options)
    for option in range(options):
        score_O[option] = phrase_score(pointer(data_N, 0), state, option)[0]
    return score_O


class JointScores:
    """Scores the phrases of sentences; keeps the numbers of the last sentence."""

    def __init__(self, joint: JointModel) -> None:
        self.joint = joint
        self.kept: tuple[PlacedPhrases, Floats] | None = None

    def alone(self, model: PhraseModel, phrases: PlacedPhrases) -> Floats:
        """The scores of phrases after mean vectors."""
        data = self.data(model, phrases)
        state = sum(ANY << int(data[BITS]) * place for place in range(int(data[HISTORY])))
        return scores_after(data, state, len(phrases))

    def data(self, model: PhraseModel, phrases: PlacedPhrases) -> Floats:
        """The numbers that `move` reads."""
        if (kept := self.kept) is None or kept[0] is not phrases:
            kept = self.kept = phrases, self._data(model, phrases)
        return kept[1]

    def _data(self, model: PhraseModel, phrases: PlacedPhrases) -> Floats:
        joint, vectors_MVH = self.joint, self.joint.history_MVH
        history, _, hidden = vectors_MVH.shape
        local_L, local_W = self._local_words(model, phrases)
        source_nH = joint.source_nH(joint.source.ids(phrases.words))
        output_LH = np.column_stack([joint.arrays["output.weight"][local_L], joint.arrays["bias.weight"][local_L]])
        vectors_MLH = vectors_MVH[:, local_L]
        window_W = np.append(len(phrases.words), self._affiliations(model, phrases))
        lengths_O = np.append(1, np.diff(phrases.phrases.offsets_O1))
        memo, bits = np.zeros(KNOWN * MOVES), STATE_BITS // history
        sizes = HEAD, len(memo), hidden, vectors_MLH.size, len(lengths_O) + 1, WORD * len(local_W), source_nH.size
        *places, windows, outputs = offsets_of(sizes)[1:].tolist()
        number_W = np.where(local_W < 1 << bits, local_W, UNKNOWN)
        words_W3 = np.column_stack([windows + window_W * hidden, outputs + local_W * (hidden + 1), number_W])
        head = [history, hidden, bits, len(local_L), *places[:-1]]
        parts = head, memo, np.zeros(hidden), vectors_MLH, places[-1] + WORD * offsets_of(lengths_O), words_W3
        return np.concatenate([np.ravel(part) for part in (*parts, source_nH, output_LH)], dtype=np.float64)

    def _local_words(self, model: PhraseModel, phrases: PlacedPhrases) -> tuple[Ints, Ints]:
        """The model's words that a sentence needs, and the place there of the end and of each word of the phrases.

        They are `<s>`, `<unk>` and `</s>`, and then the others by frequency.
        """
        # Words that the phrase model does not know have numbers beyond its vocabulary.
        ids_V = np.append(self._ids(model.target_vocabulary), UNKNOWN_ID)
        units = phrases.words, phrases.pair_O, phrases.start_O
        words = numbered_words(model.table, model.target_vocabulary, *units)
        ids_W = ids_V[np.minimum(words.ids_T, len(ids_V) - 1)]
        local_L, local_W = np.unique(np.append([UNKNOWN_ID, BEGIN_ID, END_ID, END_ID], ids_W), return_inverse=True)
        # Before the first phrase, state 0 stands for `<s>`; no phrase has such a word.
        local_L[:2] = BEGIN_ID, UNKNOWN_ID
        return local_L, np.maximum(local_W[3:], UNKNOWN)

    @lru_cache(maxsize=2)  # noqa: B019
    def _ids(self, vocabulary: Vocabulary) -> Ints32:
        return self.joint.target.ids(vocabulary.words)

    def _affiliations(self, model: PhraseModel, phrases: PlacedPhrases) -> Ints:
        """The source positions that words of phrases belong to; those of a copied word or a term to its first one."""
        table, offsets_O1, known_O = model.table, phrases.phrases.offsets_O1, phrases.pair_O >= 0
        links_O = np.where(known_O, lengths_of(table.link_offsets_B1, np.maximum(phrases.pair_O, 0)), 0)
        places = places_of(table.link_offsets_B1, phrases.pair_O[known_O])
        source_L, target_L = (side[places].astype(np.int32) for side in (table.link_source_K, table.link_target_K))
        links = Links(source_L, target_L, offsets_of(links_O))
        return affiliations(offsets_O1, links) + phrases.start_O[row_numbers(offsets_O1)]


def joint_feature(joint: JointModel) -> HistoryFeature:
    """A joint model as a feature with history."""
    scores = JointScores(joint)
    return HistoryFeature(NAME, scores.data, move, scores.alone, by_name=False)
