"""Phrase extraction: the phrase pairs that are consistent with the word alignment, with counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from xlate.align.links import Links, check_counts, check_positions
from xlate.array_types import Ints, Ints16, Ints32
from xlate.arrays.ragged import row_numbers
from xlate.arrays.ranges import pieces
from xlate.errors import refuse_if
from xlate.kernels.counting import extraction
from xlate.kernels.memory import intern_rows, preorder
from xlate.kernels.pairs import SentenceLinks, Sides
from xlate.phrases.runs import Run, Runs, number_nodes, sorted_run
from xlate.progress import track
from xlate.text.vocabulary import EncodedText, sides

LONGEST = 255
# Source words per part of a corpus; memory is checked between parts.
PART_WORDS = 2000
# Sentence pairs whose links are sorted at a time.
PART_SENTENCES = 1 << 16
ALIGN_AGAIN = "align the same two files again"


@dataclass(frozen=True)
class PhraseCounts:
    """B phrase pairs over P distinct source and Q distinct target phrases, sorted by (source_B, target_B).

    Phrases are in the order of their word numbers. X distinct shapes, that is sequences of internal links in the
    order (target, source), lie between `link_offsets_X1[x]` and `link_offsets_X1[x + 1]`. `shape_B` is the most
    frequent shape of each pair; a tie goes to the one whose source positions, listed for each target word
    in turn, come last in order. `inverse_shape_B` breaks ties with the two sides exchanged: Moses counts each
    direction on its own, so it can weight p(f|e) by other links than p(e|f).
    """

    source_phrases: EncodedText
    target_phrases: EncodedText
    source_B: Ints32
    target_B: Ints32
    count_B: Ints
    shape_B: Ints32
    inverse_shape_B: Ints32
    link_offsets_X1: Ints
    link_source_K: Ints16
    link_target_K: Ints16
    source_count_P: Ints
    target_count_Q: Ints

    def __len__(self) -> int:
        """The number of distinct phrase pairs B."""
        return len(self.source_B)


def extract_phrases(source: EncodedText, target: EncodedText, links: Links, max_length: int = 7) -> PhraseCounts:
    """Counts the consistent phrase pairs of a corpus in memory (Koehn, Och and Marcu 2003, section 3).

    A source span and a target span make a phrase pair when they hold a link between them and no link leads from
    inside one to outside the other. So spans are tried with and without unaligned words at a boundary, as in Moses.

    Args:
        max_length: the most words of a phrase, on each side.

    Raises:
        InputError: the three differ in number of sentences, a link is outside its sentence pair, or `max_length`
            is not between 1 and 255.
    """
    runs = Runs()
    return merge_phrases(count_phrases(source, target, links, max_length, runs), max_length, runs)


def count_phrases(source: EncodedText, target: EncodedText, links: Links, max_length: int, runs: Runs) -> Run:
    """Counts phrase pairs into runs; returns the last run, which is not written; see `extract_phrases`."""
    refuse_if(not 1 <= max_length <= LONGEST, "unusable phrase length", max_length, f"1 to {LONGEST} words")
    store = extraction.new_phrase_store()
    for part in track(linked_parts(source, target, links), "phrases", total=1 + len(source.ids_T) // PART_WORDS):
        store = extraction.extract(*part, max_length, store)
        if runs.are_full(array for table in store for array in table):
            runs.write(_run(store))
            store = extraction.new_phrase_store()
    return _run(store)


def merge_phrases(last: Run | None, max_length: int, runs: Runs) -> PhraseCounts:
    """The phrase pairs of all runs and of a last one, if any."""
    found = runs.merge(last, partial(_inverse_ranks, max_length=max_length))
    sources, targets, shapes = found.sequences
    column_K, source_K = np.divmod(shapes.ids_T, max_length)
    return PhraseCounts(
        source_phrases=sources,
        target_phrases=targets,
        source_B=found.source_B,
        target_B=found.target_B,
        count_B=found.weight_B,
        shape_B=found.shape_B,
        inverse_shape_B=found.inverse_shape_B,
        link_offsets_X1=shapes.offsets_S1,
        link_source_K=source_K.astype(np.int16),
        link_target_K=(max_length - 1 - column_K).astype(np.int16),
        source_count_P=found.source_weight_P,
        target_count_Q=found.target_weight_Q,
    )


def linked_parts(
    source: EncodedText, target: EncodedText, links: Links
) -> Iterator[tuple[Sides, SentenceLinks, tuple[int, int]]]:
    """Ranges of sentence pairs, between which memory is checked, each with a larger part of the corpus that has it.

    Raises:
        InputError: see `linked_sides`.
    """
    check_counts(source, target, links)
    for piece in pieces(len(source), PART_SENTENCES):
        rows = piece.start, piece.stop
        text = linked_sides(source.part(*rows), target.part(*rows), links.part(*rows), before=piece.start)
        offsets_S1 = text[0].source_offsets_S1
        firsts = np.flatnonzero(np.diff(offsets_S1[:-1] // PART_WORDS, prepend=-1)).tolist()
        for part in pairwise([*firsts, len(offsets_S1) - 1]):
            yield *text, part


def _run(store: extraction.PhraseStore) -> Run:
    return sorted_run(store[:3], store.pairs, store.shaped, store.shaped.count_K)


def _inverse_ranks(shapes: EncodedText, max_length: int) -> Ints32:
    """The rank of each shape when source positions come last, listed for each target word in turn."""
    shape_K = row_numbers(shapes.offsets_S1)
    column_K, source_K = np.divmod(shapes.ids_T, max_length)
    target_K = max_length - 1 - column_K
    by_source = np.lexsort((target_K, source_K, shape_K))
    inverse_K = ((max_length - 1 - source_K) * max_length + target_K)[by_source]
    inverse, node_X = intern_rows(inverse_K, shapes.offsets_S1)
    size = int(inverse.size_1[0])
    return preorder(inverse.parent_N[:size], inverse.word_N[:size])[node_X]


def number_phrases(phrases: EncodedText) -> tuple[EncodedText, Ints32]:
    """The distinct phrases in the order of their word numbers, and the row of each given phrase."""
    trie, node_S = intern_rows(phrases.ids_T, phrases.offsets_S1)
    return number_nodes(trie, node_S)


def linked_sides(
    source: EncodedText, target: EncodedText, links: Links, before: int = 0
) -> tuple[Sides, SentenceLinks]:
    """Sentence pairs, which follow `before` others, and their links in the form that compiled loops take.

    Raises:
        InputError: the three differ in number of sentences, or a link is outside its sentence pair.
    """
    check_counts(source, target, links)
    lengths = np.diff(source.offsets_S1), np.diff(target.offsets_S1)
    check_positions(links, *lengths, ALIGN_AGAIN, before)
    by_target = links.transposed()
    return sides(source, target), SentenceLinks(by_target.target_L, by_target.source_L, by_target.offsets_S1)
