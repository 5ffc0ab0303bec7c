"""Phrase extraction: the phrase pairs that are consistent with the word alignment, with counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.align.links import Links, check_counts, check_positions
from xlate.array_types import Ints, Ints16, Ints32
from xlate.arrays.ragged import row_numbers
from xlate.errors import InputError
from xlate.kernels.counting import extraction
from xlate.kernels.memory import Tally, Trie, intern_rows, preorder, spell
from xlate.kernels.pairs import SentenceLinks, Sides
from xlate.text.vocabulary import EncodedText, sides

LONGEST = 255
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

    def __len__(self) -> int:
        """The number of distinct phrase pairs B."""
        return len(self.source_B)


def extract_phrases(source: EncodedText, target: EncodedText, links: Links, max_length: int = 7) -> PhraseCounts:
    """Counts the consistent phrase pairs of a corpus (Koehn, Och and Marcu 2003, section 3).

    A source span and a target span make a phrase pair when they hold a link between them and no link leads from
    inside one to outside the other. So spans are tried with and without unaligned words at a boundary, as in Moses.

    Args:
        max_length: the most words of a phrase, on each side.

    Raises:
        InputError: the three differ in number of sentences, a link is outside its sentence pair, or `max_length`
            is not between 1 and 255.
    """
    if not 1 <= max_length <= LONGEST:
        raise InputError("unusable phrase length", max_length, f"1 to {LONGEST} words")
    sources, targets, shapes, pairs, shaped = extraction.extract(*linked_sides(source, target, links), max_length)
    count = int(pairs.size_1[0])
    keys = pairs.keys_K[:count]
    source_phrases, source_B = number_nodes(sources, (keys >> np.uint64(32)).astype(np.int32))
    target_phrases, target_B = number_nodes(targets, keys.astype(np.uint32).astype(np.int32))
    order = np.lexsort((target_B, source_B))
    shape_B, inverse_shape_B, links_X = _choose_shapes(shapes, shaped, count, max_length)
    return PhraseCounts(
        source_phrases,
        target_phrases,
        source_B[order],
        target_B[order],
        pairs.count_K[:count][order].astype(np.int64),
        shape_B[order],
        inverse_shape_B[order],
        *links_X,
    )


def number_phrases(phrases: EncodedText) -> tuple[EncodedText, Ints32]:
    """The distinct phrases in the order of their word numbers, and the row of each given phrase."""
    trie, node_S = intern_rows(phrases.ids_T, phrases.offsets_S1)
    return number_nodes(trie, node_S)


def number_nodes(trie: Trie, node_B: Ints32) -> tuple[EncodedText, Ints32]:
    """The distinct sequences of some nodes in the order of their word numbers, and the row of each given node."""
    size = int(trie.size_1[0])
    rank_N = preorder(trie.parent_N[:size], trie.word_N[:size])
    used_N = np.zeros(size, np.bool_)
    used_N[node_B] = True
    node_P = np.flatnonzero(used_N)
    node_P = node_P[np.argsort(rank_N[node_P])]
    row_N = np.full(size, -1, np.int32)
    row_N[node_P] = np.arange(len(node_P), dtype=np.int32)
    return EncodedText(*spell(trie.parent_N, trie.word_N, node_P.astype(np.int32))), row_N[node_B]


def _choose_shapes(
    shapes: Trie, shaped: Tally, pairs: int, max_length: int
) -> tuple[Ints32, Ints32, tuple[Ints, Ints16, Ints16]]:
    """The shape row of each pair, in both directions, and the links of the shapes (row = trie node)."""
    size, rows = int(shapes.size_1[0]), int(shaped.size_1[0])
    codes_K, offsets_X1 = spell(shapes.parent_N, shapes.word_N, np.arange(size, dtype=np.int32))
    column_K, source_K = np.divmod(codes_K, max_length)
    target_K = max_length - 1 - column_K
    rank_N = preorder(shapes.parent_N[:size], shapes.word_N[:size])
    shape_K = row_numbers(offsets_X1)
    by_source = np.lexsort((target_K, source_K, shape_K))
    inverse_K = ((max_length - 1 - source_K) * max_length + target_K)[by_source]
    inverse, node_X = intern_rows(inverse_K, offsets_X1)
    inverse_size = int(inverse.size_1[0])
    inverse_rank_N = preorder(inverse.parent_N[:inverse_size], inverse.word_N[:inverse_size])[node_X]
    counted = shaped.keys_K[:rows], shaped.count_K[:rows]
    shape_B, inverse_shape_B = (extraction.best_shapes(*counted, order, pairs) for order in (rank_N, inverse_rank_N))
    return shape_B, inverse_shape_B, (offsets_X1, source_K.astype(np.int16), target_K.astype(np.int16))


def linked_sides(source: EncodedText, target: EncodedText, links: Links) -> tuple[Sides, SentenceLinks]:
    """Sentence pairs and their links in the form that compiled loops take.

    Raises:
        InputError: the three differ in number of sentences, or a link is outside its sentence pair.
    """
    check_counts(source, target, links)
    lengths = np.diff(source.offsets_S1), np.diff(target.offsets_S1)
    check_positions(links, *lengths, remedy=ALIGN_AGAIN)
    by_target = links.transposed()
    return sides(source, target), SentenceLinks(by_target.target_L, by_target.source_L, by_target.offsets_S1)
