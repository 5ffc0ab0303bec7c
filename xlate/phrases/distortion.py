"""Distortion costs from word alignments: how far translation jumps when it leaves or lands on a source word.

The jump between two neighbouring target words is measured on the source side, from the last word linked to the first
of them (the word left; `<s>` at -1 before the first target word) to the first word linked to the second (the word
landed on): monotone translation jumps by 1. Target words without links are skipped, and so are jumps of 0 (both words
linked to one source word). Jumps beyond ±`reach` count as ±`reach`. (Al-Onaizan et al. 2004, inbound and outbound
distortion; the paper gives no smoothing.) With d the jump, c counts and k the smoothing,

    p(d | word) = (c(d, word) + k · p(d)) / (c(word) + k),    p(d) = (c(d) + 1) / (c + 2 · reach + 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.align.links import Links
from xlate.array_types import Floats32, Ints
from xlate.arrays.ragged import row_numbers
from xlate.arrays.ranges import check_shapes, refuse
from xlate.arrays.stored import StoredArrays, arrays_of, layout_of, open_arrays, save_arrays, unusable
from xlate.errors import InputError
from xlate.machine import check_memory
from xlate.text.vocabulary import BEGIN_ID, EncodedText

KIND = "set of jump costs"


@dataclass(frozen=True)
class Distortion:
    """-ln p(jump | word) for V source words and K = 2 · reach + 1 jumps, column jump + reach; natural logs."""

    inbound_VK: Floats32
    outbound_VK: Floats32

    @property
    def reach(self) -> int:
        """The longest jump that is distinguished from longer ones."""
        return int(self.inbound_VK.shape[1]) // 2

    @classmethod
    def count(
        cls,
        source: EncodedText,
        links: Links,
        words: int,
        reach: int = 7,
        smoothing: float = 5.0,
    ) -> Distortion:
        """Counts the jumps of a text.

        Args:
            source: the source text; links: of its sentence pairs.
            words: V, the size of the source vocabulary.
            reach, smoothing: see above.

        Raises:
            InputError: source and links differ in number of sentences, or there is too little memory for so many jumps.
        """
        if len(source) != len(links):
            raise InputError("sides of unequal length", f"{len(source)} sentences, {len(links)} lines of links")
        # Counts, probabilities and costs of one side, and the costs of the other.
        check_memory("the jumps of words", words * (2 * reach + 1) * 24, f"model.jump_reach={reach}")
        left_J, landed_J, jump_J = jumps(source, links)
        column_J = np.clip(jump_J, -reach, reach) + reach
        return cls(*(_costs(word_J, column_J, words, 2 * reach + 1, smoothing) for word_J in (landed_J, left_J)))

    def save(self, directory: str | Path) -> None:
        """Writes the costs into a directory as a folder of arrays."""
        save_arrays(directory, KIND, arrays_of(self))

    @classmethod
    def load(cls, directory: str | Path, words: int | None = None) -> Distortion:
        """Reads what `save` wrote; `words` is the size V of the source vocabulary.

        Raises:
            InputError: a file is missing or damaged, or of another number of words.
        """
        stored = open_arrays(directory, KIND, layout_of(cls)[0], _check, mapped=False)
        if words is not None and len(stored["inbound_VK"]) != words:
            seen = f"costs of {len(stored['inbound_VK'])} words"
            raise unusable(stored.folder / "inbound_VK.npy", "costs of a different vocabulary", seen, f"{words} words")
        return cls(**stored.arrays)


def _check(stored: StoredArrays) -> None:
    """Checks that both arrays have one shape, with an odd number of columns."""
    check_shapes(stored)
    size = stored["inbound_VK"].shape[1]
    if size % 2 == 0:
        raise refuse(stored, "inbound_VK", f"{size} jumps", "an odd number")


def jumps(source: EncodedText, links: Links) -> tuple[Ints, Ints, Ints]:
    """The words left, the words landed on, and the jumps between them, of all sentences; shape (J,) each."""
    sentence_L, source_L, target_L = row_numbers(links.offsets_S1), links.source_L, links.target_L
    order = np.lexsort((source_L, target_L, sentence_L))
    sentence_L, source_L, target_L = sentence_L[order], source_L[order], target_L[order]
    # One row per linked target word: its first and its last source word.
    new_L = (np.diff(sentence_L, prepend=-1) != 0) | (np.diff(target_L, prepend=-1) != 0)
    first = np.flatnonzero(new_L)
    last = np.append(first[1:], len(new_L)) - 1 if len(first) else first
    sentence_T, lands_T, leaves_T = sentence_L[first], source_L[first], source_L[last]
    begins_T = np.diff(sentence_T, prepend=-1) != 0
    before_T = np.where(begins_T, -1, np.concatenate([[-1], leaves_T[:-1]]) if len(leaves_T) else leaves_T)
    jump_T = lands_T.astype(np.int64) - before_T
    start_T = source.offsets_S1[sentence_T]
    ids_T = np.asarray(source.ids_T)
    left_T = np.where(before_T < 0, BEGIN_ID, ids_T[np.maximum(start_T + before_T, 0)])
    landed_T = ids_T[start_T + lands_T]
    moves = jump_T != 0
    return left_T[moves].astype(np.int64), landed_T[moves].astype(np.int64), jump_T[moves]


def _costs(word_J: Ints, column_J: Ints, words: int, columns: int, smoothing: float) -> Floats32:
    count_VK = np.bincount(word_J * columns + column_J, minlength=words * columns).reshape(words, columns)
    share_K = (count_VK.sum(axis=0) + 1.0) / (count_VK.sum() + columns)
    probability_VK = (count_VK + smoothing * share_K) / (count_VK.sum(axis=1, keepdims=True) + smoothing)
    costs: Floats32 = -np.log(probability_VK).astype(np.float32)
    return costs
