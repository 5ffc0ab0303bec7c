"""Phrase tables: distinct phrase pairs with counts, internal links and the four Moses scores."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.align.lexical import LexicalTable
from xlate.arrays.ragged import offsets_of, places_of
from xlate.arrays.ranges import check_lengths, check_offsets, check_rising, check_within, pieces, refuse
from xlate.arrays.stored import StoredArrays, open_arrays, save_arrays, unusable
from xlate.errors import InputError
from xlate.kernels.counting.lexical import InnerLinks, lexical_weights
from xlate.kernels.counting.sides import PhrasePairs
from xlate.kernels.memory.hashing import build_table
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
    source_B: NDArray[np.int32]
    target_B: NDArray[np.int32]
    count_B: NDArray[np.float64]
    scores_B4: NDArray[np.float64]
    link_offsets_B1: NDArray[np.int64]
    link_source_K: NDArray[np.int16]
    link_target_K: NDArray[np.int16]
    source_count_P: NDArray[np.float64]
    target_count_Q: NDArray[np.float64]

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
        words = {
            f"{side}_words": int(phrases.ids_T.max(initial=-1)) + 1
            for side, phrases in (("source", self.source_phrases), ("target", self.target_phrases))
        }
        save_arrays(directory, KIND, self._arrays(), words)

    @classmethod
    def load(
        cls, directory: str | Path, words: tuple[int, int] | None = None, *, memory_map: bool = True
    ) -> PhraseTable:
        """Reads what `save` wrote, by default memory-mapped (read-only); `words` are the sizes of its vocabularies.

        Raises:
            InputError: a file is missing or damaged, ids are outside of their ranges, or of larger vocabularies.
        """
        stored = open_arrays(directory, KIND, LAYOUT, _check, memory_map=memory_map)
        for side, size in zip(("source", "target"), words or (), strict=bool(words)):
            if stored.number(f"{side}_words") > size:
                raise unusable(
                    stored.folder / f"{side}_phrases_ids.npy",
                    "a phrase table over another vocabulary",
                    f"{side} words up to number {stored.number(f'{side}_words') - 1}",
                    f"numbers below {size}",
                )
        arrays = dict(stored.arrays)
        phrases = {
            side: EncodedText(arrays.pop(f"{side}_ids"), arrays.pop(f"{side}_offsets"))
            for side in ("source_phrases", "target_phrases")
        }
        parts: dict[str, Any] = {**phrases, **arrays}
        return cls(**parts)

    def select(self, keep_B: NDArray[np.bool_]) -> PhraseTable:
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

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        arrays: dict[str, NDArray[np.generic]] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, EncodedText):
                arrays[f"{field.name}_ids"] = value.ids_T
                arrays[f"{field.name}_offsets"] = value.offsets_S1
            else:
                arrays[field.name] = value
        return arrays


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
    if np.isnan(scores_B4).any():
        b = int(np.flatnonzero(np.isnan(scores_B4).any(axis=1))[0])
        raise InputError(
            "the lexical table lacks a linked word pair of a phrase pair",
            seen=f"word numbers {counts.source_phrases[counts.source_B[b]]} and "
            f"{counts.target_phrases[counts.target_B[b]]}",
            expected="a lexical table of the same corpus and links as the phrases",
            remedy="compute the lexical table again",
        )
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


def direct_lexical_weights(phrases: PhraseTable, lexical: LexicalTable) -> NDArray[np.float64]:
    """lex(e|f) of a table's pairs under other word probabilities, (B,); NaN where those lack a link inside a pair."""
    shape_B = np.arange(len(phrases), dtype=np.int32)
    links = InnerLinks(
        shape_B, *map(np.asarray, (phrases.link_offsets_B1, phrases.link_source_K, phrases.link_target_K))
    )
    table = build_table(_keys(lexical.source_K, lexical.target_K))
    return lexical_weights(phrase_pairs(phrases), links, table, lexical.target_given_source_K)


def _lexical_weights(counts: PhraseCounts, lexical: LexicalTable) -> NDArray[np.float64]:
    """lex(e|f), shape (B,)."""
    links = InnerLinks(counts.shape_B, counts.link_offsets_X1, counts.link_source_K, counts.link_target_K)
    table = build_table(_keys(lexical.source_K, lexical.target_K))
    return lexical_weights(phrase_pairs(counts), links, table, lexical.target_given_source_K)


def _inverse_lexical_weights(counts: PhraseCounts, lexical: LexicalTable) -> NDArray[np.float64]:
    """lex(f|e), shape (B,)."""
    links = InnerLinks(counts.inverse_shape_B, counts.link_offsets_X1, counts.link_target_K, counts.link_source_K)
    table = build_table(_keys(lexical.target_K, lexical.source_K))
    return lexical_weights(phrase_pairs(counts).inverse(), links, table, lexical.source_given_target_K)


def _keys(given_K: NDArray[np.int32], word_K: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash keys of word pairs; the numbers are raised by one so that NULL is 0."""
    return ((given_K.astype(np.int64) + 1).astype(np.uint64) << np.uint64(32)) | (word_K.astype(np.int64) + 1).astype(
        np.uint64
    )


def select_phrases(phrases: EncodedText, rows_R: NDArray[np.integer[Any]]) -> EncodedText:
    """The phrases of the given rows, in that order."""
    places, rows = places_of(phrases.offsets_S1, rows_R), np.asarray(rows_R)
    return EncodedText(phrases.ids_T[places], offsets_of(phrases.offsets_S1[rows + 1] - phrases.offsets_S1[rows]))


def _check(stored: StoredArrays) -> None:
    """Checks that a stored table's rows, words and links are within their ranges."""
    pairs, links = len(stored["source_B"]), len(stored["link_source_K"])
    check_lengths(
        stored,
        target_B=(pairs,),
        count_B=(pairs,),
        scores_B4=(pairs, 4),
        link_offsets_B1=(pairs + 1,),
        link_target_K=(links,),
        source_count_P=(len(stored["source_phrases_offsets"]) - 1,),
        target_count_Q=(len(stored["target_phrases_offsets"]) - 1,),
    )
    for side in ("source", "target"):
        check_offsets(stored, f"{side}_phrases_offsets", len(stored[f"{side}_phrases_ids"]))
        check_within(stored, f"{side}_phrases_ids", 0, stored.number(f"{side}_words"))
        check_within(stored, f"{side}_B", 0, len(stored[f"{side}_phrases_offsets"]) - 1)
    check_rising(stored, "source_B")
    check_offsets(stored, "link_offsets_B1", links)
    _check_links(stored)


def _check_links(stored: StoredArrays) -> None:
    """Checks that every link is between words of its pair."""
    for piece in pieces(len(stored["source_B"])):
        ends = np.asarray(stored["link_offsets_B1"][piece.start : piece.stop + 1])
        for side in ("source", "target"):
            rows, offsets = np.asarray(stored[f"{side}_B"][piece]), stored[f"{side}_phrases_offsets"]
            lengths_K = np.repeat(offsets[rows + 1] - offsets[rows], np.diff(ends))
            links_K = stored[f"link_{side}_K"][ends[0] : ends[-1]]
            wrong = np.flatnonzero((links_K < 0) | (links_K >= lengths_K))
            if len(wrong):
                seen = f"{links_K[wrong[0]]} at {int(ends[0] + wrong[0])}"
                raise refuse(stored, f"link_{side}_K", seen, f"below {lengths_K[wrong[0]]}, the length of its phrase")
