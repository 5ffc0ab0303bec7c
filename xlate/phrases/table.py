"""Phrase tables: distinct phrase pairs with counts, internal links and the four Moses scores."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.align.lexical import LexicalTable
from xlate.errors import InputError
from xlate.kernels.hashing import build_table
from xlate.kernels.lexical import lexical_weights
from xlate.phrases.extract import PhraseCounts
from xlate.text.encoded import EncodedText
from xlate.text.lines import atomic_write, read_lines

FORMAT = "xlate phrase table 1"
META = "table.json"


@dataclass(frozen=True)
class PhraseTable:
    """B phrase pairs over P distinct source and Q distinct target phrases, sorted by (source_B, target_B).

    Rows of `source_phrases` and of `target_phrases` are in the order of their word numbers, a prefix before what it
    begins. The four scores of a pair are p(f|e), lex(f|e), p(e|f), lex(e|f) as plain probabilities (no logs), where
    f is the source phrase and e the target phrase. The internal links of pair b lie between `link_offsets_B1[b]` and
    `link_offsets_B1[b + 1]`, positions from 0 within the phrases, in the order (target, source) of Moses's tables.

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
        """Writes the table as .npy files into a directory; `table.json`, written last, says that it is complete."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / META).unlink(missing_ok=True)
        arrays = self._arrays()
        for name, array in arrays.items():
            with atomic_write(directory / f"{name}.npy") as stream:
                np.save(stream, array, allow_pickle=False)
        shapes = {name: [str(array.dtype), *array.shape] for name, array in arrays.items()}
        with atomic_write(directory / META) as stream:
            stream.write((json.dumps({"format": FORMAT, "arrays": shapes}, indent=1) + "\n").encode())

    @classmethod
    def load(cls, directory: str | Path, *, memory_map: bool = True) -> PhraseTable:
        """Reads what `save` wrote, by default memory-mapped (read-only).

        Raises:
            InputError: a file is missing, incomplete, of another type or shape than `table.json` says.
        """
        directory = Path(directory)
        shapes = _read_meta(directory / META)
        arrays = {name: _read_array(directory / f"{name}.npy", shapes.get(name), memory_map) for name in _array_names()}
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
        links = ragged_rows(self.link_offsets_B1, rows_B)
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
    scores_B4[:, 0] = count_B / target_count_Q[counts.target_B]
    scores_B4[:, 1] = _inverse_lexical_weights(counts, lexical)
    scores_B4[:, 2] = count_B / source_count_P[counts.source_B]
    scores_B4[:, 3] = _lexical_weights(counts, lexical)
    if np.isnan(scores_B4).any():
        b = int(np.flatnonzero(np.isnan(scores_B4).any(axis=1))[0])
        raise InputError(
            "the lexical table lacks a linked word pair of a phrase pair",
            seen=f"word numbers {counts.source_phrases[counts.source_B[b]]} and "
            f"{counts.target_phrases[counts.target_B[b]]}",
            expected="a lexical table of the same corpus and links as the phrases",
            remedy="compute the lexical table again",
        )
    links = ragged_rows(counts.link_offsets_X1, counts.shape_B)
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


def _lexical_weights(counts: PhraseCounts, lexical: LexicalTable) -> NDArray[np.float64]:
    """lex(e|f), shape (B,)."""
    return lexical_weights(
        counts.source_phrases.ids_T,
        counts.source_phrases.offsets_S1,
        counts.target_phrases.ids_T,
        counts.target_phrases.offsets_S1,
        counts.source_B,
        counts.target_B,
        counts.shape_B,
        counts.link_offsets_X1,
        counts.link_source_K,
        counts.link_target_K,
        build_table(_keys(lexical.source_K, lexical.target_K)),
        lexical.target_given_source_K,
    )


def _inverse_lexical_weights(counts: PhraseCounts, lexical: LexicalTable) -> NDArray[np.float64]:
    """lex(f|e), shape (B,)."""
    return lexical_weights(
        counts.target_phrases.ids_T,
        counts.target_phrases.offsets_S1,
        counts.source_phrases.ids_T,
        counts.source_phrases.offsets_S1,
        counts.target_B,
        counts.source_B,
        counts.inverse_shape_B,
        counts.link_offsets_X1,
        counts.link_target_K,
        counts.link_source_K,
        build_table(_keys(lexical.target_K, lexical.source_K)),
        lexical.source_given_target_K,
    )


def _keys(given_K: NDArray[np.int32], word_K: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Hash keys of word pairs; the numbers are raised by one so that NULL is 0."""
    return ((given_K.astype(np.int64) + 1).astype(np.uint64) << np.uint64(32)) | (word_K.astype(np.int64) + 1).astype(
        np.uint64
    )


def select_phrases(phrases: EncodedText, rows_R: NDArray[np.integer[Any]]) -> EncodedText:
    """The phrases of the given rows, in that order."""
    places, rows = ragged_rows(phrases.offsets_S1, rows_R), np.asarray(rows_R)
    return EncodedText(phrases.ids_T[places], offsets_of(phrases.offsets_S1[rows + 1] - phrases.offsets_S1[rows]))


def offsets_of(lengths_R: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where each of R rows begins in a flat array, and the end of the last; shape (R + 1,)."""
    offsets_R1 = np.zeros(len(lengths_R) + 1, dtype=np.int64)
    np.cumsum(lengths_R, out=offsets_R1[1:])
    return offsets_R1


def ragged_rows(offsets_S1: NDArray[np.int64], rows_R: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where the values of the given rows lie in a flat array, row after row."""
    begins_R = np.asarray(offsets_S1)[rows_R]
    lengths_R = np.asarray(offsets_S1)[np.asarray(rows_R) + 1] - begins_R
    shift_R = begins_R - (np.cumsum(lengths_R) - lengths_R)
    places: NDArray[np.int64] = np.repeat(shift_R, lengths_R)
    return places + np.arange(len(places), dtype=np.int64)


def _array_names() -> list[str]:
    names = []
    for field in fields(PhraseTable):
        is_text = field.name in ("source_phrases", "target_phrases")
        names += [f"{field.name}_ids", f"{field.name}_offsets"] if is_text else [field.name]
    return names


def _read_meta(path: Path) -> dict[str, list[Any]]:
    remedy = "write the phrase table again"
    try:
        meta = json.loads("\n".join(read_lines(path)))
        shapes = meta["arrays"] if meta["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        shapes = None
    if not isinstance(shapes, dict):
        raise InputError("not a phrase table", file=path, expected=f"a table of format {FORMAT!r}", remedy=remedy)
    return shapes


def _read_array(path: Path, shape: list[Any] | None, memory_map: bool) -> NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r" if memory_map else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            "cannot be read", file=path, seen=str(error), expected="a .npy file", remedy="write the phrase table again"
        ) from error
    if [str(array.dtype), *array.shape] != shape:
        raise InputError(
            "not the array this phrase table was written with",
            file=path,
            seen=[str(array.dtype), *array.shape],
            expected=f"{shape}",
            remedy="write the phrase table again",
        )
    return np.asarray(array)
