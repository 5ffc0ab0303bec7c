"""Where the pairs of a phrase table stand in the text they were extracted from, and how: counts of orientations.

Classifiers in context choose among the most frequent pairs of each source phrase, and learn from their places.

Lexicalised reordering (Koehn et al. 2005) counts how often each pair was monotone, swapped or neither. Three models:
word-based, by the links of the neighbouring words; phrase-based, where an extracted phrase beside the pair counts too
(Tillmann 2004); hierarchical, where any block beside it counts (Galley & Manning 2008). Backward is with respect to
what is before the pair in the target, forward with respect to what is behind it.

Moses's hierarchical tables come out with `hier-moses`: forward, Moses looks at the wrong corners of the blocks behind a
pair, so that only those of one target word count (docs/decisions/0009-reordering-tables.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.align.links import Links
from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of
from xlate.errors import check_choice
from xlate.kernels.counting import extraction
from xlate.kernels.counting.extraction import END, PAIR, SENTENCE, START, TIGHT, pair_occurrences
from xlate.phrases.extract import check_linked, sentence_links
from xlate.phrases.matching import pair_table, phrase_finder
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText, sides


@dataclass(frozen=True)
class Occurrences:
    """X places where pairs of a table are consistent with the links of their sentence, sorted by sentence and span.

    Attributes:
        sentence_X, start_X, end_X: the source span, half-open.
        pair_X: the pair; one span may be there several times, with and without unaligned words beside its translation.
        tight_X: whether the first and the last word of the translation are linked.
    """

    sentence_X: Ints32
    start_X: Ints32
    end_X: Ints32
    pair_X: Ints32
    tight_X: Bools

    def __len__(self) -> int:
        """The number of places X."""
        return len(self.pair_X)

    def select(self, kept_X: Bools) -> Occurrences:
        """Some of them."""
        return Occurrences(*(array[kept_X] for array in vars(self).values()))

    def counts(self, pairs: int) -> Ints:
        """How often each of so many pairs occurs, (B,)."""
        return np.bincount(self.pair_X, minlength=pairs)


def occurrences_of(
    table: PhraseTable, source: EncodedText, target: EncodedText, links: Links, max_length: int = 7
) -> Occurrences:
    """The places that extraction from these texts counts the pairs of a table at.

    Raises:
        InputError: texts and links that do not fit each other.
    """
    check_linked(source, target, links)
    finders = phrase_finder(table.source_phrases), phrase_finder(table.target_phrases)
    rows_X5 = pair_occurrences(sides(source, target), sentence_links(links), max_length, *finders, pair_table(table))
    order = np.lexsort((rows_X5[:, PAIR], rows_X5[:, END], rows_X5[:, START], rows_X5[:, SENTENCE]))
    columns = np.ascontiguousarray(rows_X5[order].T)
    return Occurrences(columns[SENTENCE], columns[START], columns[END], columns[PAIR], columns[TIGHT].astype(np.bool_))


@dataclass(frozen=True)
class ListedPairs:
    """N pairs of a table of P source phrases: those of phrase p begin at `offsets_P1[p]`, most frequent first.

    `log_share_N` is ln p(e|f), by the counts that the pairs were listed by; -inf never occurs.
    """

    offsets_P1: Ints
    pair_N: Ints
    log_share_N: Floats

    def of(self, phrase_I: AnyInts) -> tuple[Ints, Ints]:
        """Where the pairs of I source phrases stand among the N, and offsets by phrase, (I + 1,)."""
        return gathered(self.offsets_P1, phrase_I)


def listed_pairs(table: PhraseTable, count_B: AnyInts, most: int) -> ListedPairs:
    """The `most` pairs of each source phrase with the highest counts above 0, equal counts in the order of the table.

    Args:
        table: the pairs.
        count_B: how often each was extracted, such as elsewhere than in one fold.
        most: pairs of a source phrase.
    """
    sources = len(table.source_phrases)
    seen = np.flatnonzero(np.asarray(count_B) > 0)
    order = seen[np.lexsort((-count_B[seen], table.source_B[seen]))]
    source_N = np.asarray(table.source_B[order], np.int64)
    size_P = np.bincount(source_N, minlength=sources)
    rank_N = np.arange(len(order)) - offsets_of(size_P)[source_N]
    total_P = np.bincount(source_N, weights=count_B[order], minlength=sources)
    kept = rank_N < most
    share_N = count_B[order][kept] / total_P[source_N[kept]]
    return ListedPairs(offsets_of(np.minimum(size_P, most)), order[kept], np.log(share_N))


KINDS = {
    "wbe": extraction.WORD,
    "phrase": extraction.PHRASE,
    "hier": extraction.HIERARCHICAL,
    "hier-moses": extraction.AS_MOSES,
    "hier5": extraction.FIVE_WAY,
}
SMOOTHING = 0.5


def reordering_counts(
    table: PhraseTable, source: EncodedText, target: EncodedText, links: Links, kind: str, max_length: int = 7
) -> Ints:
    """Counts of K orientations backward, then forward, of each of B phrase pairs, shape (B, 2K).

    The three orientations are monotone, swap and other. `hier5` has five: monotone; swap; other, where what was
    translated before lies to the left; other, where it lies to the right; and monotone after a single block that holds
    everything before. Forward orientations are the mirror image of these, with respect to what comes next.

    Args:
        table: the phrase pairs; source, target: the text they were extracted from, links: its word alignment.
        kind: `wbe` (word-based), `phrase`, `hier`, `hier-moses`, or `hier5` with five orientations.
        max_length: of phrases, as they were extracted.

    Raises:
        InputError: an unknown kind, or texts and links that do not fit each other.
    """
    check_choice("unknown kind of reordering model", kind, KINDS)
    check_linked(source, target, links)
    counts_BK2 = np.zeros((len(table), 10 if kind == "hier5" else 6), dtype=np.int64)
    extraction.count_orientations(
        phrase_finder(table.source_phrases),
        phrase_finder(table.target_phrases),
        pair_table(table),
        sides(source, target),
        sentence_links(links),
        max_length,
        KINDS[kind],
        counts_BK2,
    )
    return counts_BK2


def reordering_probabilities(counts_BK2: Ints, smoothing: float = SMOOTHING) -> Floats:
    """Probabilities of K orientations, backward then forward, `smoothing` added to each count; shape (B, 2K)."""
    k = counts_BK2.shape[1] // 2
    smoothed_B2K = counts_BK2.reshape(-1, 2, k) + smoothing
    probabilities: Floats = (smoothed_B2K / smoothed_B2K.sum(axis=2, keepdims=True)).reshape(-1, 2 * k)
    return probabilities
