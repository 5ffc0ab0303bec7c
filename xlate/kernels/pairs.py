"""Sentence pairs and phrase pairs as passed to compiled loops, and the codes of orientations, also used in files."""

from __future__ import annotations

from typing import NamedTuple

from xlate.array_types import Ints, Ints32


class Sides(NamedTuple):
    """S sentence pairs: source sentence s is `source_T[source_offsets_S1[s]:source_offsets_S1[s + 1]]`."""

    source_T: Ints32
    source_offsets_S1: Ints
    target_U: Ints32
    target_offsets_S1: Ints


class SentenceLinks(NamedTuple):
    """L links of S sentence pairs, sorted by (target, source) in each: those of s begin at `offsets_S1[s]`."""

    source_L: Ints32
    target_L: Ints32
    offsets_S1: Ints


class PhrasePairs(NamedTuple):
    """B phrase pairs over P source and Q target phrases.

    The words of the source phrase p = `source_B[b]` are `source_T[source_offsets_P1[p]:source_offsets_P1[p + 1]]`, and
    those of the target phrase are found likewise.
    """

    source_B: Ints32
    target_B: Ints32
    source_T: Ints32
    source_offsets_P1: Ints
    target_U: Ints32
    target_offsets_Q1: Ints

    def inverse(self) -> PhrasePairs:
        """The same pairs with source and target exchanged."""
        return PhrasePairs(
            self.target_B, self.source_B, self.target_U, self.target_offsets_Q1, self.source_T, self.source_offsets_P1
        )


# A block relative to its predecessor (Tillmann & Zhang 2007, section 2).
LEFT, RIGHT, NEUTRAL = 0, 1, 2
LETTERS = "LRN"

# A phrase relative to the phrases before or after it (Koehn et al. 2005; Galley & Manning 2008).
MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2
# The five-way model has two kinds of discontinuous, and a kind of monotone where all other words form one block.
DISCONTINUOUS_LEFT, DISCONTINUOUS_RIGHT, MONOTONE_GLOBAL = DISCONTINUOUS, 3, 4
