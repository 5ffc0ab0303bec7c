"""N-best lists as flat arrays and as a candidate store.

The store has float and sparse features, and sentence statistics as gains.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import ngram_statistics
from xlate.candidates.store import StoreWriter
from xlate.errors import InputError, refuse_if
from xlate.kernels.memory import best_of_each
from xlate.metrics.bleu import ORDER
from xlate.text.lines import check_length, read_lines, write_lines
from xlate.text.tokens import split_tokens, untokenized_share
from xlate.text.vocabulary import EncodedText, WordNumbers


@dataclass(frozen=True)
class NbestArrays:
    """I lists of C hypotheses in all, with V feature values of M columns; `formats.nbest_file.nbest_arrays` makes them.

    Attributes:
        sentence_I: the number of each list's sentence; candidate_offsets_I1: its hypotheses.
        text: the hypotheses' words, numbered by `numbers`.
        names: of the M columns; a feature with several values has a column for each, `LM_0`, `LM_1`.
        several: the columns of features with several values, which are always dense.
        columns_V, values_V, value_offsets_C1: the values of each hypothesis and their columns.
        total_C: the scores as given, nan where there is none. line_C: the lines of the file.
    """

    sentence_I: Ints
    candidate_offsets_I1: Ints
    text: EncodedText
    numbers: WordNumbers
    names: tuple[str, ...]
    several: frozenset[int]
    columns_V: Ints32
    values_V: Floats
    value_offsets_C1: Ints
    total_C: Floats
    line_C: Ints

    @property
    def is_dense_M(self) -> Bools:
        """Which columns are of features with several values or that are on every line."""
        dense_M: Bools = np.bincount(self.columns_V, minlength=len(self.names)) == len(self.total_C)
        dense_M[sorted(self.several)] = True
        return dense_M

    @property
    def has_totals(self) -> bool:
        """Whether every hypothesis has a total."""
        return bool(np.isfinite(self.total_C).all())

    @property
    def first_I(self) -> Ints:
        """The place of each list's first hypothesis: the one with the highest total, or without totals the one given
        first.
        """
        offsets_I1 = self.candidate_offsets_I1
        return best_of_each(self.total_C, offsets_I1) if self.has_totals else offsets_I1[:-1]

    def without(self, name: str) -> Ints:
        """The hypotheses that lack the column of this name, by their places."""
        column = self.names.index(name) if name in self.names else -1
        has = row_numbers(self.value_offsets_C1)[self.columns_V == column]
        return np.setdiff1d(np.arange(len(self.total_C)), has)

    def table(self, names: Sequence[str]) -> Floats:
        """The values of some columns, (C, N); 0 where a line lacks one."""
        places = {name: place for place, name in enumerate(names)}
        place_V = np.array([places.get(name, -1) for name in self.names], np.int64)[self.columns_V]
        kept_V = place_V >= 0
        table_CN = np.zeros((len(self.total_C), len(names)))
        table_CN[row_numbers(self.value_offsets_C1)[kept_V], place_V[kept_V]] = self.values_V[kept_V]
        return table_CN

    def scores(self, weights: Mapping[str, float]) -> Floats:
        """w · f of every hypothesis, (C,), with weights by column name; a column without one counts 0.

        Raises:
            InputError: a sum is not finite.
        """
        weight_M = np.array([weights.get(name, 0.0) for name in self.names], np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            product_V = weight_M[self.columns_V] * self.values_V
            score_C = np.bincount(row_numbers(self.value_offsets_C1), product_V, len(self.total_C))
        return self.finite(np.asarray(score_C, np.float64))

    def texts(self, hypotheses: Ints) -> list[str]:
        """The words of some hypotheses, given by their places, joined by blanks."""
        words = list(self.numbers)
        return [" ".join(words[number] for number in self.text[c].tolist()) for c in hypotheses.tolist()]

    def select(self, lists: Ints) -> NbestArrays:
        """Some of the lists, given by their places."""
        candidates, candidate_offsets = gathered(self.candidate_offsets_I1, lists)
        values, value_offsets = gathered(self.value_offsets_C1, candidates)
        return replace(
            self,
            sentence_I=self.sentence_I[lists],
            candidate_offsets_I1=candidate_offsets,
            text=self.text.select(candidates),
            columns_V=self.columns_V[values],
            values_V=self.values_V[values],
            value_offsets_C1=value_offsets,
            total_C=self.total_C[candidates],
            line_C=self.line_C[candidates],
        )

    def finite(self, score_C: Floats) -> Floats:
        """Checks and returns the scores of all hypotheses.

        Raises:
            InputError: one of them is not finite.
        """
        strange_C = np.flatnonzero(~np.isfinite(score_C))
        if len(strange_C):
            first = int(strange_C[0])
            row = int(np.searchsorted(self.candidate_offsets_I1, first, side="right")) - 1
            place = first - int(self.candidate_offsets_I1[row]) + 1
            raise InputError(
                "the total is not a finite number",
                f"{score_C[first]} of hypothesis {place} of sentence {self.sentence_I[row]}",
                "weights whose products with the features have a finite sum",
                "look for weights or values that are far too large",
            )
        return score_C


log = logging.getLogger(__name__)
NAMES_FILE = "sparse_names.gz"


def statistic_names() -> tuple[str, ...]:
    """The gain columns: `length`, `reference_length`, `correct_1` …, `total_1` …; sacrebleu's order of statistics."""
    grams = range(1, ORDER + 1)
    return ("length", "reference_length", *(f"correct_{n}" for n in grams), *(f"total_{n}" for n in grams))


@dataclass(frozen=True)
class NbestCandidates:
    """N-best lists ready for every loss: a plain batch with one instance per sentence.

    Attributes:
        batch: dense features, sparse ids with values, statistics as gains, (C, 2 + 2·order), numbers of sentences.
        dense_names: of the float columns; sparse_names: of the sparse ids.
    """

    batch: CandidateBatch
    dense_names: tuple[str, ...]
    sparse_names: tuple[str, ...]


def nbest_candidates(arrays: NbestArrays, references: Sequence[Sequence[str]]) -> NbestCandidates:
    """Turns lists into candidates, with the tokenised references of each, one or more.

    A feature is dense if it has several values or is on every line, otherwise sparse. A dense one that a line lacks is
    0 there. Sparse values of 0, which Moses writes when they have cancelled out, are left out.
    """
    is_dense_M = arrays.is_dense_M
    names = np.array(arrays.names, object)
    kept_V = ~is_dense_M[arrays.columns_V] & (arrays.values_V != 0)
    batch = CandidateBatch(
        arrays.candidate_offsets_I1,
        arrays.table(names[is_dense_M].tolist()).astype(np.float32),
        nbest_statistics(arrays, references).astype(np.float32),
        offsets_of(np.bincount(row_numbers(arrays.value_offsets_C1)[kept_V], minlength=len(arrays.total_C))),
        # The places of the columns among the sparse ones.
        (np.cumsum(~is_dense_M) - 1)[arrays.columns_V[kept_V]].astype(np.int32),
        part_values_N=arrays.values_V[kept_V].astype(np.float32),
        sentence_I=arrays.sentence_I,
    )
    return NbestCandidates(batch, tuple(names[is_dense_M]), tuple(names[~is_dense_M]))


def nbest_statistics(arrays: NbestArrays, references: Sequence[Sequence[str]]) -> Ints:
    """BLEU statistics of every hypothesis against its sentence's references, (C, 2 + 2·order).

    Words are compared as they are; there is a warning if the references look tokenised differently from the lists.
    Without references no n-gram is counted, and both lengths are the mean length in the list, which MIRA multiplies
    gains by.

    Raises:
        InputError: not as many references as lists.
    """
    if not references:
        statistics_CK = np.zeros((len(arrays.total_C), 2 + 2 * ORDER), np.int64)
        size_I, length_C = np.diff(arrays.candidate_offsets_I1), np.diff(arrays.text.offsets_S1)
        words_I = np.add.reduceat(length_C, arrays.candidate_offsets_I1[:-1])
        statistics_CK[:, :2] = np.repeat(np.maximum(1, words_I // size_I), size_I)[:, None]
        return statistics_CK
    seen = f"{len(references)} references, {len(arrays.sentence_I)} lists"
    refuse_if(len(references) != len(arrays.sentence_I), "lists and references do not fit", seen, "those of each list")
    listed = untokenized_share(arrays.numbers)
    wanted = untokenized_share(word for lines in references for line in lines for word in line.split(" "))
    if min(listed, wanted) < 0.01 and max(listed, wanted) > 0.05:
        log.warning(
            "the references look tokenised differently from the lists: %.0f %% of their words end with a comma, "
            "full stop or the like, but %.0f %% of the lists'; words are compared as they are, so tokenise both alike",
            100 * wanted,
            100 * listed,
        )
    text = arrays.numbers.encode(split_tokens(line) for lines in references for line in lines)
    offsets_I1 = offsets_of([*map(len, references)])
    return ngram_statistics(arrays.text, arrays.candidate_offsets_I1, text, offsets_I1)


def read_references(paths: Sequence[str], sentence_I: Ints, first_sentence: int | None = None) -> list[list[str]]:
    """The references of each list, one or more, from files with a line per sentence; none without files.

    A blank line is a missing reference; a list without any gets an empty one.

    Raises:
        InputError: files of different lengths, or that do not fit the lists; see `reference_rows`.
    """
    streams = [read_lines(path) for path in paths]
    for path, stream in zip(paths, streams, strict=True):
        check_length(path, len(stream), len(streams[0]))
    rows = reference_rows(sentence_I, len(streams[0]), first_sentence, file=paths[0]) if streams else []
    return [present([stream[row] for stream in streams]) for row in rows]


def present(references: Iterable[str]) -> list[str]:
    """The references of a list that are not blank; an empty one if all are."""
    return [line for line in references if line.strip()] or [""]


def reference_rows(
    sentence_I: Ints,
    length: int,
    first_sentence: int | None = None,
    *,
    what: str = "references",
    file: str | Path | None = None,
) -> list[int]:
    """Which of `length` lines of the references each list belongs to.

    With `first_sentence`, sentence f + k belongs to line k, from 0. Without it, sentence numbers are line numbers from
    0 if all are below the number of lines and the last line has a list; otherwise, if there are as many lists as lines,
    the k-th list belongs to the k-th line. `what`, the kind of lines, and their `file` are for the messages.

    Raises:
        InputError: sentences have no reference, or lines follow that of the last list.
    """
    rows = sentence_I - (first_sentence or 0)
    if len(rows) and rows.max() >= length and first_sentence is None and len(rows) == length:
        rows = np.arange(length)
    if len(rows) and not 0 <= rows.min() <= rows.max() < length:
        raise InputError(
            f"lists and {what} do not match",
            f"{len(rows)} lists, sentences {sentence_I.min()} to {sentence_I.max()}, {length} {what}",
            f"one line of the {what} per list",
            f"first_id=N if sentence N belongs to the first line of the {what}",
            file=file,
        )
    if len(rows) and first_sentence is None and rows.max() + 1 < length:
        raise InputError(
            f"more {what} than the lists have sentences",
            f"{length} {what}, and no list after sentence {sentence_I.max()}",
            f"{what} of the same sentences, with a list for the last one",
            "check that both are of the same text; first_id=0 if the lists are of its first sentences only",
            file=file,
            line=int(rows.max()) + 2,
        )
    return [int(row) for row in rows]


def write_nbest_store(
    directory: str | Path, candidates: NbestCandidates, metadata: dict[str, Any] | None = None
) -> None:
    """Writes lists as a candidate store, with a file of the names of the sparse features."""
    names_sha256 = hashlib.sha256("\n".join(candidates.sparse_names).encode()).hexdigest()
    described = {**(metadata or {}), "sparse_names_sha256": names_sha256}
    with StoreWriter(
        directory, candidates.dense_names, len(candidates.sparse_names), statistic_names(), described
    ) as writer:
        writer.append(candidates.batch)
        write_lines(writer.aside / NAMES_FILE, candidates.sparse_names)
