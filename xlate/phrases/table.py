"""Phrase tables: distinct phrase pairs with counts, internal links and the four Moses scores."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.align.lexical import LexicalTable
from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints16, Ints32, Uints
from xlate.arrays.ragged import offsets_of, places_of
from xlate.arrays.ranges import check_lengths, check_offsets, check_rising, check_within, pieces, refuse
from xlate.arrays.stored import StoredArrays, open_arrays, save_arrays, unusable
from xlate.errors import InputError
from xlate.kernels.counting.lexical import NO_GAP, InnerLinks, lexical_weights
from xlate.kernels.counting.sides import PhrasePairs
from xlate.kernels.memory.hashing import build_table
from xlate.kernels.memory.trie import take_rows
from xlate.phrases.extract import PhraseCounts
from xlate.text.encoded import EncodedText

KIND = "phrase table"
LAYOUT = {
    "source_phrases_ids": ("<i4", 1),
    "source_phrases_offsets": ("<i8", 1),
    "target_phrases_ids": ("<i4", 1),
    "target_phrases_offsets": ("<i8", 1),
    "source_B": ("<i4", 1),
    "target_B": ("<i4", 1),
    "count_B": ("<f8", 1),
    "scores_B4": ("<f8", 2),
    "link_offsets_B1": ("<i8", 1),
    "link_source_K": ("<i2", 1),
    "link_target_K": ("<i2", 1),
    "source_count_P": ("<f8", 1),
    "target_count_Q": ("<f8", 1),
}
# Columns of scores.
INVERSE_PHRASE, INVERSE_LEXICAL, DIRECT_PHRASE, DIRECT_LEXICAL = range(4)


@dataclass(frozen=True)
class PhraseTable:
    """B phrase pairs over P distinct source and Q distinct target phrases, sorted by (source_B, target_B).

    Rows of `source_phrases` and of `target_phrases` are in the order of a dictionary, by word numbers. The four scores
    of a pair are p(f|e), lex(f|e), p(e|f), lex(e|f) as plain probabilities (no logs), where f is the source phrase and
    e the target phrase. The internal links of pair b lie between `link_offsets_B1[b]` and `link_offsets_B1[b + 1]`,
    positions from 0 within the phrases, in the order (target, source) of Moses's tables.

    Example: the pairs (a b, x), (a b, y) and (c, x)::

        source_phrases  a b | c        source_B  0 0 1
        target_phrases  x | y          target_B  0 1 0
    """

    source_phrases: EncodedText
    target_phrases: EncodedText
    source_B: Ints32
    target_B: Ints32
    count_B: Floats
    scores_B4: Floats
    link_offsets_B1: Ints
    link_source_K: Ints16
    link_target_K: Ints16
    source_count_P: Floats
    target_count_Q: Floats

    def __len__(self) -> int:
        """The number of phrase pairs B."""
        return len(self.source_B)

    def links(self, b: int) -> list[tuple[int, int]]:
        """The internal links of pair b as (source, target) positions within its phrases."""
        part = slice(self.link_offsets_B1[b], self.link_offsets_B1[b + 1])
        return list(zip(self.link_source_K[part].tolist(), self.link_target_K[part].tolist(), strict=True))

    def pairs_of(self, source_row: int) -> slice:
        """The pairs of one source phrase, as a slice of the B rows."""
        start, end = np.searchsorted(self.source_B, [source_row, source_row + 1])
        return slice(int(start), int(end))

    def save(self, directory: str | Path) -> None:
        """Writes the table into a directory as a folder of arrays."""
        save_arrays(directory, KIND, arrays_of(self), words_of(self.source_phrases, self.target_phrases))

    @classmethod
    def load(
        cls, directory: str | Path, words: tuple[int, int] | None = None, *, memory_map: bool = True
    ) -> PhraseTable:
        """Reads what `save` wrote, by default memory-mapped (read-only); `words` are the sizes of its vocabularies.

        Raises:
            InputError: a file is missing or damaged, ids are outside of their ranges, or of larger vocabularies.
        """
        stored = open_arrays(directory, KIND, LAYOUT, _check, memory_map=memory_map)
        check_words(stored, words)
        return cls(**fields_of(stored, "source_phrases", "target_phrases"))

    def select(self, keep_B: Bools) -> PhraseTable:
        """The pairs marked true, with the phrases they use; scores and phrase counts stay as they are."""
        source_rows, source_B = np.unique(self.source_B[keep_B], return_inverse=True)
        target_rows, target_B = np.unique(self.target_B[keep_B], return_inverse=True)
        rows_B = np.flatnonzero(keep_B)
        links = places_of(self.link_offsets_B1, rows_B)
        return PhraseTable(
            source_phrases=select_phrases(self.source_phrases, source_rows),
            target_phrases=select_phrases(self.target_phrases, target_rows),
            source_B=source_B.astype(np.int32),
            target_B=target_B.astype(np.int32),
            count_B=self.count_B[rows_B],
            scores_B4=self.scores_B4[rows_B],
            link_offsets_B1=offsets_of(np.diff(self.link_offsets_B1)[rows_B]),
            link_source_K=self.link_source_K[links],
            link_target_K=self.link_target_K[links],
            source_count_P=self.source_count_P[source_rows],
            target_count_Q=self.target_count_Q[target_rows],
        )


def arrays_of(table: Any) -> dict[str, NDArray[np.generic]]:
    """The arrays of a table, a dataclass of arrays and texts, as they are stored."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, EncodedText):
            arrays[f"{field.name}_ids"] = value.ids_T
            arrays[f"{field.name}_offsets"] = value.offsets_S1
        else:
            arrays[field.name] = value
    return arrays


def fields_of(stored: StoredArrays, *texts: str) -> dict[str, Any]:
    """The fields of a stored table, some of which are texts; the inverse of `arrays_of`."""
    values: dict[str, Any] = dict(stored.arrays)
    for name in texts:
        values[name] = EncodedText(values.pop(f"{name}_ids"), values.pop(f"{name}_offsets"))
    return values


def words_of(source: EncodedText, target: EncodedText) -> dict[str, int]:
    """How many words the vocabularies of a table have at the least, as it stands in its header."""
    return {
        f"{side}_words": int(text.ids_T.max(initial=-1)) + 1 for side, text in (("source", source), ("target", target))
    }


def check_words(stored: StoredArrays, words: tuple[int, int] | None) -> None:
    """Checks that a stored table is over vocabularies of these sizes, where they are given.

    Raises:
        InputError: it has words of larger ones.
    """
    for side, size in zip(("source", "target"), words or (), strict=bool(words)):
        if stored.number(f"{side}_words") > size:
            raise unusable(
                stored.folder / f"{side}_B.npy",
                "a table over another vocabulary",
                f"{side} words up to number {stored.number(f'{side}_words') - 1}",
                f"numbers below {size}",
            )


def score_phrases(counts: PhraseCounts, lexical: LexicalTable) -> PhraseTable:
    """Relative frequencies and lexical weights of counted phrase pairs, as Moses's `score` without smoothing.

    p(f|e) = N(f, e) / N(e), p(e|f) = N(f, e) / N(f). lex(e|f) is, over the words of e, the product of the mean of
    p(e_i|f_j) over the linked f_j, or of p(e_i|NULL) (Koehn et al. 2003, section 4.4), lex(f|e) the converse.

    Raises:
        InputError: the lexical table lacks a word pair that is linked inside a phrase pair.
    """
    count_B = counts.count_B.astype(np.float64)
    source_count_P = np.bincount(counts.source_B, weights=count_B, minlength=len(counts.source_phrases))
    target_count_Q = np.bincount(counts.target_B, weights=count_B, minlength=len(counts.target_phrases))
    scores_B4 = np.empty((len(counts), 4))
    scores_B4[:, INVERSE_PHRASE] = count_B / target_count_Q[counts.target_B]
    scores_B4[:, INVERSE_LEXICAL] = _inverse_lexical_weights(counts, lexical)
    scores_B4[:, DIRECT_PHRASE] = count_B / source_count_P[counts.source_B]
    scores_B4[:, DIRECT_LEXICAL] = _lexical_weights(counts, lexical)
    check_lexical(scores_B4, phrase_pairs(counts))
    links = places_of(counts.link_offsets_X1, counts.shape_B)
    return PhraseTable(
        source_phrases=counts.source_phrases,
        target_phrases=counts.target_phrases,
        source_B=counts.source_B,
        target_B=counts.target_B,
        count_B=count_B,
        scores_B4=scores_B4,
        link_offsets_B1=offsets_of(np.diff(counts.link_offsets_X1)[counts.shape_B]),
        link_source_K=counts.link_source_K[links],
        link_target_K=counts.link_target_K[links],
        source_count_P=source_count_P.astype(np.float64),
        target_count_Q=target_count_Q.astype(np.float64),
    )


def phrase_pairs(phrases: PhraseTable | PhraseCounts) -> PhrasePairs:
    """The phrase pairs in the form that compiled loops take."""
    return PhrasePairs(
        np.ascontiguousarray(phrases.source_B),
        np.ascontiguousarray(phrases.target_B),
        np.ascontiguousarray(phrases.source_phrases.ids_T),
        np.ascontiguousarray(phrases.source_phrases.offsets_S1),
        np.ascontiguousarray(phrases.target_phrases.ids_T),
        np.ascontiguousarray(phrases.target_phrases.offsets_S1),
    )


def check_lexical(scores_B4: Floats, pairs: PhrasePairs) -> None:
    """Checks that no lexical weight of B pairs is NaN.

    Raises:
        InputError: one is.
    """
    wrong = np.flatnonzero(np.isnan(scores_B4).any(axis=1))
    if len(wrong):
        p, q = pairs.source_B[wrong[0]], pairs.target_B[wrong[0]]
        source = pairs.source_T[pairs.source_offsets_P1[p] : pairs.source_offsets_P1[p + 1]]
        target = pairs.target_U[pairs.target_offsets_Q1[q] : pairs.target_offsets_Q1[q + 1]]
        raise InputError(
            "the lexical table lacks a linked word pair of a phrase pair",
            seen=f"word numbers {source} and {target}",
            expected="a lexical table of the same corpus and links as the phrases",
            remedy="compute the lexical table again",
        )


def direct_lexical_weights(phrases: PhraseTable, lexical: LexicalTable) -> Floats:
    """lex(e|f) of a table's pairs under other word probabilities, (B,); NaN where those lack a link inside a pair."""
    shape_B = np.arange(len(phrases), dtype=np.int32)
    links = InnerLinks(
        shape_B, *map(np.asarray, (phrases.link_offsets_B1, phrases.link_source_K, phrases.link_target_K))
    )
    table = build_table(lexical_keys(lexical.source_K, lexical.target_K))
    return lexical_weights(phrase_pairs(phrases), links, table, lexical.target_given_source_K, NO_GAP)


def _lexical_weights(counts: PhraseCounts, lexical: LexicalTable) -> Floats:
    """lex(e|f), shape (B,)."""
    links = InnerLinks(counts.shape_B, counts.link_offsets_X1, counts.link_source_K, counts.link_target_K)
    table = build_table(lexical_keys(lexical.source_K, lexical.target_K))
    return lexical_weights(phrase_pairs(counts), links, table, lexical.target_given_source_K, NO_GAP)


def _inverse_lexical_weights(counts: PhraseCounts, lexical: LexicalTable) -> Floats:
    """lex(f|e), shape (B,)."""
    links = InnerLinks(counts.inverse_shape_B, counts.link_offsets_X1, counts.link_target_K, counts.link_source_K)
    table = build_table(lexical_keys(lexical.target_K, lexical.source_K))
    return lexical_weights(phrase_pairs(counts).inverse(), links, table, lexical.source_given_target_K, NO_GAP)


def lexical_keys(given_K: Ints32, word_K: Ints32) -> Uints:
    """Hash keys of word pairs; the numbers are raised by one so that NULL is 0."""
    return ((given_K.astype(np.int64) + 1).astype(np.uint64) << np.uint64(32)) | (word_K.astype(np.int64) + 1).astype(
        np.uint64
    )


def select_phrases(phrases: EncodedText, rows_R: AnyInts) -> EncodedText:
    """The phrases of the given rows, in that order."""
    rows = np.asarray(rows_R, dtype=np.int64)
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(phrases):
        raise IndexError(f"rows from {rows.min()} to {rows.max()} of {len(phrases)} phrases")
    return EncodedText(*take_rows(np.asarray(phrases.ids_T), np.asarray(phrases.offsets_S1), rows))


def _check(stored: StoredArrays) -> None:
    """Checks that a stored table's rows, words and links are within their ranges."""
    check_lengths(
        stored,
        source_count_P=(len(stored["source_phrases_offsets"]) - 1,),
        target_count_Q=(len(stored["target_phrases_offsets"]) - 1,),
    )
    check_pairs(stored, "source_phrases", "target_phrases")


def check_pairs(stored: StoredArrays, source_texts: str, target_texts: str) -> None:
    """Checks the rows, words, counts, scores and links that tables of phrase pairs and of rules have alike.

    Raises:
        InputError: arrays do not fit each other, or values are out of their ranges.
    """
    pairs, links = len(stored["source_B"]), len(stored["link_source_K"])
    check_lengths(
        stored,
        target_B=(pairs,),
        count_B=(pairs,),
        scores_B4=(pairs, 4),
        link_offsets_B1=(pairs + 1,),
        link_target_K=(links,),
    )
    for side, texts in (("source", source_texts), ("target", target_texts)):
        check_offsets(stored, f"{texts}_offsets", len(stored[f"{texts}_ids"]))
        check_within(stored, f"{texts}_ids", 0, stored.number(f"{side}_words"))
        check_within(stored, f"{side}_B", 0, len(stored[f"{texts}_offsets"]) - 1)
    check_rising(stored, "source_B")
    check_offsets(stored, "link_offsets_B1", links)
    for side, texts in (("source", source_texts), ("target", target_texts)):
        _check_links(stored, side, stored[f"{texts}_offsets"])


def _check_links(stored: StoredArrays, side: str, offsets: Ints) -> None:
    """Checks that every link is between words of its pair."""
    for piece in pieces(len(stored["source_B"])):
        ends = np.asarray(stored["link_offsets_B1"][piece.start : piece.stop + 1])
        rows = np.asarray(stored[f"{side}_B"][piece])
        lengths_K = np.repeat(offsets[rows + 1] - offsets[rows], np.diff(ends))
        links_K = stored[f"link_{side}_K"][ends[0] : ends[-1]]
        wrong = np.flatnonzero((links_K < 0) | (links_K >= lengths_K))
        if len(wrong):
            seen = f"{links_K[wrong[0]]} at {int(ends[0] + wrong[0])}"
            raise refuse(stored, f"link_{side}_K", seen, f"below {lengths_K[wrong[0]]}, the length of its phrase")
