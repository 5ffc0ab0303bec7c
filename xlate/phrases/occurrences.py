"""Where the pairs of a phrase table occur in the text they were extracted from, and how: counts of orientations.

Classifiers in context choose among the most frequent pairs of each source phrase, and learn from their places.

Lexicalised reordering (Koehn et al. 2005) counts how often each pair was monotone, swapped or neither. There are three
models: word-based, by the links of the neighbouring words; phrase-based, where an extracted phrase next to the pair
counts too (Tillmann 2004); hierarchical, where any block next to it counts (Galley & Manning 2008). Backward is with
respect to what is before the pair in the target, forward with respect to what is after it.

`hier-moses` reproduces the hierarchical tables of Moses: forward, Moses checks the wrong corners of the blocks after a
pair, so that only those of one target word count (docs/decisions/0009-reordering-tables.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from xlate.align.links import Links
from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.arrays.ranges import pieces
from xlate.arrays.scratch import Scratch
from xlate.errors import check_choice
from xlate.kernels.counting import extraction
from xlate.kernels.counting.extraction import (
    END,
    PAIR,
    SENTENCE,
    START,
    TIGHT,
    OrientationStore,
    pair_occurrences,
)
from xlate.kernels.counting.merging import add_pairs, rows_among
from xlate.kernels.memory import best_of_rows, new_keys, new_trie
from xlate.phrases.extract import PART_WORDS, linked_parts, linked_sides
from xlate.phrases.matching import finders_of
from xlate.phrases.runs import Runs, number_nodes
from xlate.phrases.table import PhraseTable
from xlate.progress import track
from xlate.text.vocabulary import EncodedText


class Occurrences(NamedTuple):
    """X places where pairs of a table are consistent with the links of their sentence, sorted by sentence and span.

    Attributes:
        sentence_X, start_X, end_X: the source span, half-open.
        pair_X: the pair; a span may be there several times, with and without unaligned words next to its translation.
        tight_X: whether the first and the last word of the translation are linked.
    """

    sentence_X: Ints32
    start_X: Ints32
    end_X: Ints32
    pair_X: Ints32
    tight_X: Bools


def occurrences_of(
    table: PhraseTable, source: EncodedText, target: EncodedText, links: Links, max_length: int = 7
) -> Occurrences:
    """The places where extraction from these texts counts the pairs of a table.

    Raises:
        InputError: texts and links that do not fit each other.
    """
    pairs, by_target = linked_sides(source, target, links)
    rows_X5 = pair_occurrences(pairs, by_target, max_length, *finders_of(table))
    order = np.lexsort((rows_X5[:, PAIR], rows_X5[:, END], rows_X5[:, START], rows_X5[:, SENTENCE]))
    columns = np.ascontiguousarray(rows_X5[order].T)
    return Occurrences(columns[SENTENCE], columns[START], columns[END], columns[PAIR], columns[TIGHT].astype(np.bool_))


class ListedPairs(NamedTuple):
    """N pairs of a table of P source phrases: those of phrase p begin at `offsets_P1[p]`, most frequent first.

    `log_share_N` is ln p(e|f), by the counts that the pairs were listed by; it is never -inf.
    """

    offsets_P1: Ints
    pair_N: Ints
    log_share_N: Floats


def listed_pairs(table: PhraseTable, count_B: AnyInts, most: int) -> ListedPairs:
    """The `most` pairs of each source phrase with the highest counts above 0, ties in the order of the table.

    Args:
        table: the pairs.
        count_B: how often each was extracted, for example outside of one fold.
        most: pairs per source phrase.
    """
    seen = np.flatnonzero(np.asarray(count_B) > 0)
    counts, source_B = np.asarray(count_B[seen], np.float64), np.asarray(table.source_B)
    size_P = np.bincount(source_B[seen], minlength=len(table.source_phrases))
    total_P = np.bincount(source_B[seen], counts)
    kept = best_of_rows(counts, offsets_of(size_P), most)
    pair_N = seen[kept]
    log_share_N = np.log(counts[kept] / total_P[source_B[pair_N]])
    return ListedPairs(offsets_of(np.minimum(size_P, most)), pair_N, log_share_N)


KINDS = {
    "wbe": extraction.WORD,
    "phrase": extraction.PHRASE,
    "hier": extraction.HIERARCHICAL,
    "hier-moses": extraction.AS_MOSES,
    "hier5": extraction.FIVE_WAY,
}
SMOOTHING = 0.5


def reordering_counts(
    table: PhraseTable,
    source: EncodedText,
    target: EncodedText,
    links: Links,
    kind: str,
    max_length: int = 7,
    runs: Runs | None = None,
) -> Ints:
    """Counts of K orientations backward, then forward, of each of B phrase pairs, shape (B, 2K).

    The three orientations are monotone, swap and other. `hier5` has five: monotone; swap; other, where what was
    translated before lies to the left; other, where it lies to the right; and monotone after a single block that holds
    everything before. Forward orientations are the mirror image of these, with respect to what comes next.

    Args:
        table: the phrase pairs; source, target: the text they were extracted from, links: its word alignment.
        kind: `wbe` (word-based), `phrase`, `hier`, `hier-moses`, or `hier5` with five orientations.
        max_length: of phrases, as they were extracted.
        runs: holds the counts of a part of the text, and those of all pairs, which may be mapped from its files.

    Raises:
        InputError: an unknown kind, or texts and links that do not fit each other.
    """
    check_choice("unknown kind of reordering model", kind, KINDS)
    runs, width = runs or Runs(), 10 if kind == "hier5" else 6
    counts_BK2 = runs.filled(len(table) * width, np.int64(0)).reshape(-1, width)
    store = _new_store(width)
    parts = linked_parts(source, target, links)
    for part in track(parts, "orientations", total=1 + len(source.ids_T) // PART_WORDS):
        store = extraction.count_orientations(*part, max_length, KINDS[kind], store)
        if runs.are_full([*store.sources, *store.targets, *store.pairs, store.counts_NK2]):
            _add(store, table, counts_BK2)
            store = _new_store(width)
    _add(store, table, counts_BK2)
    return counts_BK2


def _new_store(width: int) -> OrientationStore:
    return OrientationStore(new_trie(1024), new_trie(1024), new_keys(1024), np.empty((1024, width), np.int32))


def _add(store: OrientationStore, table: PhraseTable, counts_BK2: Ints) -> None:
    """Adds the counts of a part of the text to those of the table's pairs."""
    keys_N, rows = store.pairs.keys_K[: int(store.pairs.size_1[0])], list[Ints32]()
    for trie, node_N, phrases in (
        (store.sources, (keys_N >> np.uint64(32)).astype(np.int32), table.source_phrases),
        (store.targets, keys_N.astype(np.uint32).astype(np.int32), table.target_phrases),
    ):
        held, row_N = number_nodes(trie, node_N)
        rows.append(rows_among(*held.arrays, *phrases.arrays)[row_N])
    # Below 0 if a side is not in the table.
    key_N = (rows[0].astype(np.int64) << 32) | rows[1]
    add_pairs(key_N, np.argsort(key_N), store.counts_NK2, table.source_B, table.target_B, counts_BK2)


def reordering_probabilities(counts_BK2: Ints, scratch: Scratch | None = None) -> Floats:
    """Probabilities of K orientations, backward then forward, `SMOOTHING` added to each count; shape (B, 2K)."""
    k = counts_BK2.shape[1] // 2

    def parts() -> Iterator[tuple[Floats]]:
        for part in pieces(max(1, len(counts_BK2))):
            smoothed_B2K = counts_BK2[part].reshape(-1, 2, k) + SMOOTHING
            yield ((smoothed_B2K / smoothed_B2K.sum(axis=2, keepdims=True)).reshape(-1, 2 * k),)

    probabilities: Floats = (scratch or Scratch()).stored(parts())[0]
    return probabilities
