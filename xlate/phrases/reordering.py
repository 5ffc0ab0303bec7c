"""Lexicalised reordering: how often each phrase pair was monotone, swapped or neither (Koehn et al. 2005).

Three models: word-based, by the links of the neighbouring words; phrase-based, where an extracted phrase beside the
pair counts too (Tillmann 2004); hierarchical, where any block beside it counts (Galley & Manning 2008). Backward is
with respect to what is before the pair in the target, forward with respect to what is behind it.

Moses's hierarchical tables come out with `hier-moses`: forward, Moses looks at the wrong corners of the blocks behind a
pair, so that only those of one target word count (docs/decisions/0009-reordering-tables.md).
"""

from __future__ import annotations

import numpy as np

from xlate.align.links import Links
from xlate.array_types import Floats, Ints
from xlate.errors import check_choice
from xlate.kernels.counting import reordering
from xlate.phrases.extract import check_linked, sentence_links
from xlate.phrases.matching import pair_table, phrase_finder
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText, sides

KINDS = {
    "wbe": reordering.WORD,
    "phrase": reordering.PHRASE,
    "hier": reordering.HIERARCHICAL,
    "hier-moses": reordering.AS_MOSES,
    "hier5": reordering.FIVE_WAY,
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
    reordering.count_orientations(
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
