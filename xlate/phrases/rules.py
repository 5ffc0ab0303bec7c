"""Hierarchical phrase pairs in target normal form: rules with counts, internal links and the four scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints16, Ints32
from xlate.arrays.ragged import marked_in_rows, offsets_of, places_of
from xlate.arrays.ranges import check_lengths, check_within, pieces, refuse
from xlate.arrays.stored import StoredArrays, open_arrays, save_arrays
from xlate.phrases.table import arrays_of, check_pairs, check_words, fields_of, select_phrases, words_of
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import BEGIN_ID

# What stands in a source side for a non-terminal. No sentence holds the word `<s>`, so its number is free.
GAP = BEGIN_ID
# The most non-terminals of a rule.
MOST_GAPS = 2
KIND = "rule table"
LAYOUT = {
    "source_sides_ids": ("<i4", 1),
    "source_sides_offsets": ("<i8", 1),
    "target_phrases_ids": ("<i4", 1),
    "target_phrases_offsets": ("<i8", 1),
    "source_B": ("<i4", 1),
    "target_B": ("<i4", 1),
    "swapped_B": ("|b1", 1),
    "count_B": ("<f8", 1),
    "scores_B4": ("<f8", 2),
    "link_offsets_B1": ("<i8", 1),
    "link_source_K": ("<i2", 1),
    "link_target_K": ("<i2", 1),
    "insertion_B": ("<i2", 1),
    "deletion_B": ("<i2", 1),
}


@dataclass(frozen=True)
class RuleTable:
    """B rules X → ⟨γ, b̄ β⟩ over P source sides γ and Q target phrases b̄, sorted by (source_B, target_B, swapped_B).

    A source side is a row of word numbers, `GAP` for each non-terminal; b̄ is a phrase of one word or more; β are the
    non-terminals of γ, those of the source from left to right, or with `swapped_B` from right to left (Watanabe et al.
    2007, Eq. 2). Rows of `source_sides` and of `target_phrases` are in the order of a dictionary, by word numbers.

    The four scores are p(γ|b̄β), lex(γ|b̄β), p(b̄β|γ), lex(b̄β|γ) as plain probabilities, in the columns of
    `phrases.table`. The most frequent internal links of rule b lie between `link_offsets_B1[b]` and
    `link_offsets_B1[b + 1]`: places in the source side, gaps counted, and in b̄, from 0, in the order (target, source).
    `insertion_B` counts the target words of a rule that no word of its source side, nor NULL, makes likely;
    `deletion_B` the source words likewise (Bender et al. 2004).

    Example: the rules X → ⟨ne X1 pas, not X1⟩ and X → ⟨X1 de X2, of X2 X1⟩::

        source_sides    ne GAP pas | GAP de GAP        source_B  0 1     swapped_B  False True
        target_phrases  not | of                       target_B  0 1
    """

    source_sides: EncodedText
    target_phrases: EncodedText
    source_B: Ints32
    target_B: Ints32
    swapped_B: Bools
    count_B: Floats
    scores_B4: Floats
    link_offsets_B1: Ints
    link_source_K: Ints16
    link_target_K: Ints16
    insertion_B: Ints16
    deletion_B: Ints16

    def __len__(self) -> int:
        """The number of rules B."""
        return len(self.source_B)

    def links(self, b: int) -> list[tuple[int, int]]:
        """The internal links of rule b as (place in the source side, place in the target phrase)."""
        part = slice(self.link_offsets_B1[b], self.link_offsets_B1[b + 1])
        return list(zip(self.link_source_K[part].tolist(), self.link_target_K[part].tolist(), strict=True))

    def gaps(self) -> Ints:
        """How many non-terminals each of the source sides has, (P,)."""
        return gaps_of(self.source_sides)

    def select(self, keep_B: Bools) -> RuleTable:
        """The rules marked true, with the sides they use; scores and counts stay as they are."""
        source_rows, source_B = np.unique(self.source_B[keep_B], return_inverse=True)
        target_rows, target_B = np.unique(self.target_B[keep_B], return_inverse=True)
        rows_B = np.flatnonzero(keep_B)
        links = places_of(self.link_offsets_B1, rows_B)
        return RuleTable(
            source_sides=select_phrases(self.source_sides, source_rows),
            target_phrases=select_phrases(self.target_phrases, target_rows),
            source_B=source_B.astype(np.int32),
            target_B=target_B.astype(np.int32),
            swapped_B=self.swapped_B[rows_B],
            count_B=self.count_B[rows_B],
            scores_B4=self.scores_B4[rows_B],
            link_offsets_B1=offsets_of(np.diff(self.link_offsets_B1)[rows_B]),
            link_source_K=self.link_source_K[links],
            link_target_K=self.link_target_K[links],
            insertion_B=self.insertion_B[rows_B],
            deletion_B=self.deletion_B[rows_B],
        )

    def save(self, directory: str | Path) -> None:
        """Writes the table into a directory as a folder of arrays."""
        save_arrays(directory, KIND, arrays_of(self), words_of(self.source_sides, self.target_phrases))

    @classmethod
    def load(cls, directory: str | Path, words: tuple[int, int] | None = None, *, memory_map: bool = True) -> RuleTable:
        """Reads what `save` wrote, by default memory-mapped (read-only); `words` are the sizes of its vocabularies.

        Raises:
            InputError: a file is missing or damaged, ids are outside of their ranges, or of larger vocabularies.
        """
        stored = open_arrays(directory, KIND, LAYOUT, _check, memory_map=memory_map)
        check_words(stored, words)
        return cls(**fields_of(stored, "source_sides", "target_phrases"))


def _check(stored: StoredArrays) -> None:
    """Checks what a stored table has beyond one of phrase pairs: non-terminals, orders, inserted and deleted words."""
    rules = len(stored["source_B"])
    check_lengths(stored, swapped_B=(rules,), insertion_B=(rules,), deletion_B=(rules,))
    check_pairs(stored, "source_sides", "target_phrases")
    source = EncodedText(stored["source_sides_ids"], stored["source_sides_offsets"])
    gaps_P = gaps_of(source)
    check_within(stored, "source_sides_ids", 0, MOST_GAPS + 1, gaps_P)
    words_P = np.diff(source.offsets_S1) - gaps_P
    words_Q = np.diff(stored["target_phrases_offsets"])
    for piece in pieces(rules):
        ends = np.asarray(stored["link_offsets_B1"][piece.start : piece.stop + 1])
        source_B, target_B = np.asarray(stored["source_B"][piece]), np.asarray(stored["target_B"][piece])
        _check_counts(stored, "insertion_B", piece, words_Q[target_B])
        _check_counts(stored, "deletion_B", piece, words_P[source_B])
        turned = np.flatnonzero(stored["swapped_B"][piece] & (gaps_P[source_B] < MOST_GAPS))
        if len(turned):
            seen = f"swapped rule {piece.start + int(turned[0])} with {gaps_P[source_B[turned[0]]]} non-terminals"
            raise refuse(stored, "swapped_B", seen, f"{MOST_GAPS} non-terminals in a swapped rule")
        places_K = np.repeat(source.offsets_S1[source_B], np.diff(ends)) + stored["link_source_K"][ends[0] : ends[-1]]
        wrong = np.flatnonzero(source.ids_T[places_K] == GAP)
        if len(wrong):
            seen = f"a link to a non-terminal at {int(ends[0] + wrong[0])}"
            raise refuse(stored, "link_source_K", seen, "links of words")


def _check_counts(stored: StoredArrays, name: str, piece: slice, most: Ints) -> None:
    """Checks that no rule of a piece has more inserted or deleted words than words."""
    counts = stored[name][piece]
    wrong = np.flatnonzero((counts < 0) | (counts > most))
    if len(wrong):
        seen = f"{counts[wrong[0]]} at {piece.start + int(wrong[0])}"
        raise refuse(stored, name, seen, f"from 0 to {most[wrong[0]]}, the words of the side")


def gaps_of(source_sides: EncodedText) -> Ints:
    """How many non-terminals each of P source sides has, (P,)."""
    return marked_in_rows(np.asarray(source_sides.ids_T) == GAP, source_sides.offsets_S1)
