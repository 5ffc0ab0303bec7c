"""N-best lists as a candidate store: float and sparse features, and sentence statistics as gains."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Floats32, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.nbest_columns import NbestArrays
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.errors import InputError
from xlate.kernels.counting.ngram_statistics import list_statistics
from xlate.metrics.bleu import ORDER
from xlate.text.lines import read_lines, write_lines
from xlate.text.tokens import untokenized_share

log = logging.getLogger(__name__)
NAMES_FILE = "sparse_names.gz"


def statistic_names(order: int = ORDER) -> tuple[str, ...]:
    """The gain columns: `length`, `reference_length`, `correct_1` …, `total_1` …; sacrebleu's order of statistics."""
    grams = range(1, order + 1)
    return ("length", "reference_length", *(f"correct_{n}" for n in grams), *(f"total_{n}" for n in grams))


@dataclass(frozen=True)
class NbestCandidates:
    """N-best lists ready for every loss: a plain batch with one instance a sentence.

    Attributes:
        batch: dense features, sparse ids with values, statistics as gains, (C, 2 + 2·order), numbers of sentences.
        dense_names: of the float columns; sparse_names: of the sparse ids.
    """

    batch: CandidateBatch
    dense_names: tuple[str, ...]
    sparse_names: tuple[str, ...]


def nbest_candidates(
    arrays: NbestArrays, references: Sequence[Sequence[str | None]], first_sentence: int | None = None
) -> NbestCandidates:
    """Turns lists into candidates.

    A feature is dense when it has several values or stands on every line, else sparse; a dense one that is not on a
    line is 0 there, and sparse values of 0, which Moses writes when they have cancelled, are left out.

    Args:
        arrays: the lists.
        references: streams of tokenised references, one sentence a line; None or a blank line for a missing one.
        first_sentence: see `reference_rows`.

    Raises:
        InputError: lists and references do not fit.
    """
    dense_M, sparse_M = _kinds(arrays)
    dense_CD = _dense_rows(arrays, dense_M)
    kept_V = (sparse_M[arrays.columns_V] >= 0) & (arrays.values_V != 0)
    candidate_V = row_numbers(arrays.value_offsets_C1)
    batch = CandidateBatch(
        arrays.candidate_offsets_I1,
        dense_CD,
        nbest_statistics(arrays, references, first_sentence).astype(np.float32),
        offsets_of(np.bincount(candidate_V[kept_V], minlength=len(dense_CD))),
        sparse_M[arrays.columns_V[kept_V]],
        part_values_N=arrays.values_V[kept_V].astype(np.float32),
        sentence_I=arrays.sentence_I,
    )
    names = np.array(arrays.names, dtype=object)
    return NbestCandidates(batch, tuple(names[dense_M >= 0]), tuple(names[sparse_M >= 0]))


def nbest_statistics(
    arrays: NbestArrays,
    references: Sequence[Sequence[str | None]],
    first_sentence: int | None = None,
    order: int = ORDER,
) -> Ints:
    """BLEU statistics of every hypothesis against its sentence's references, (C, 2 + 2·order).

    A missing reference is left out; a sentence without any is compared with the empty one.

    Raises:
        InputError: lists and references do not fit.
    """
    return bleu_statistics(arrays, reference_lines(arrays.sentence_I, references, first_sentence), order)


def bleu_statistics(arrays: NbestArrays, given: Sequence[Sequence[str]], order: int = ORDER) -> Ints:
    """The same against the references of each list, one or more; (C, 2 + 2·order).

    Words are compared as they stand: a warning says so where the references look tokenised otherwise than the lists.
    """
    _warn_of_other_tokens(arrays, given)
    text = arrays.numbers.encode(line for lines in given for line in lines)
    return np.asarray(
        list_statistics(
            arrays.text.ids_T,
            arrays.text.offsets_S1,
            arrays.candidate_offsets_I1,
            text.ids_T,
            text.offsets_S1,
            offsets_of([len(lines) for lines in given]),
            order,
        )
    )


def _warn_of_other_tokens(arrays: NbestArrays, given: Sequence[Sequence[str]]) -> None:
    listed = untokenized_share(arrays.numbers)
    wanted = untokenized_share(word for lines in given for line in lines for word in line.split(" "))
    if min(listed, wanted) < 0.01 and max(listed, wanted) > 0.05:
        log.warning(
            "the references look tokenised otherwise than the lists: of their words %.0f %% end with a comma, "
            "full stop or the like, of the lists' %.0f %%; words count as they stand, so tokenise both alike",
            100 * wanted,
            100 * listed,
        )


def reference_lines(
    sentence_I: Ints, references: Sequence[Sequence[str | None]], first_sentence: int | None = None
) -> list[list[str]]:
    """The references of each list; a missing one is left out, and where there is none at all stands the empty one.

    Raises:
        InputError: lists and references do not fit.
    """
    rows = reference_rows(sentence_I, [len(stream) for stream in references], first_sentence)
    given = [[line for stream in references if (line := stream[row]) is not None and line.strip()] for row in rows]
    return [lines or [""] for lines in given]


def reference_rows(
    sentence_I: Ints,
    lengths: Sequence[int],
    first_sentence: int | None = None,
    *,
    what: str = "references",
    file: str | None = None,
) -> list[int]:
    """Which line of the references each list belongs to.

    With `first_sentence`, sentence f + k belongs to line k, from 0. Without it numbers are lines from 0 when they all
    are below the number of lines, and the last line has a list; else, when there are as many lists as lines, the k-th
    list belongs to the k-th line. `what` the lines are and their `file` are for the messages.

    Raises:
        InputError: streams of different length, sentences without a reference, or lines behind the last list.
    """
    if not lengths or len(set(lengths)) != 1:
        raise InputError(
            "reference streams do not fit",
            seen=list(lengths),
            expected="one or more, all with the same number of lines",
        )
    rows = sentence_I - (first_sentence or 0)
    if len(rows) and rows.max() >= lengths[0] and first_sentence is None and len(rows) == lengths[0]:
        rows = np.arange(lengths[0])
    if len(rows) and not 0 <= rows.min() <= rows.max() < lengths[0]:
        raise InputError(
            f"lists and {what} do not fit",
            file=file,
            seen=f"{len(rows)} lists, sentences {sentence_I.min()} to {sentence_I.max()}, {lengths[0]} {what}",
            expected=f"a line of the {what} for each list",
            remedy=f"first_id=N when sentence N belongs to the first line of the {what}",
        )
    if len(rows) and first_sentence is None and rows.max() + 1 < lengths[0]:
        raise InputError(
            f"more {what} than the lists have sentences",
            file=file,
            line=int(rows.max()) + 2,
            seen=f"{lengths[0]} {what}, and no list behind sentence {sentence_I.max()}",
            expected=f"{what} of the same sentences, the last of which has a list",
            remedy="check that both are of the same text; first_id=0 if the lists are of its first sentences only",
        )
    return [int(row) for row in rows]


def write_nbest_store(
    directory: str | Path, candidates: NbestCandidates, metadata: dict[str, Any] | None = None
) -> None:
    """Writes lists as a candidate store, with the names of the sparse features in a file beside."""
    described = {**(metadata or {}), "sparse_names_sha256": _fingerprint(candidates.sparse_names)}
    names = statistic_names((candidates.batch.gain_CG.shape[1] - 2) // 2)
    with StoreWriter(directory, candidates.dense_names, len(candidates.sparse_names), names, described) as writer:
        writer.append(candidates.batch)
        write_lines(writer.aside / NAMES_FILE, candidates.sparse_names)


def read_sparse_names(store: CandidateStore) -> tuple[str, ...]:
    """The names of a store's sparse features, one an id.

    Raises:
        InputError: they are missing or not those of this store.
    """
    path = store.directory / NAMES_FILE
    names = tuple(read_lines(path))
    if _fingerprint(names) != store.metadata.get("sparse_names_sha256"):
        raise InputError(
            "not the feature names of this store",
            file=path,
            seen=f"{len(names)} names",
            expected=f"the {store.sparse_size} names written with the store",
            remedy="import the n-best list again",
        )
    return names


def _kinds(arrays: NbestArrays) -> tuple[Ints32, Ints32]:
    """Each column's place among the dense and among the sparse ones, -1 where it is the other."""
    count_M = np.bincount(arrays.columns_V, minlength=len(arrays.names))
    is_dense_M = count_M == len(arrays.total_C)
    is_dense_M[sorted(arrays.several)] = True
    dense_M = np.where(is_dense_M, np.cumsum(is_dense_M) - 1, -1).astype(np.int32)
    return dense_M, np.where(is_dense_M, -1, np.cumsum(~is_dense_M) - 1).astype(np.int32)


def _dense_rows(arrays: NbestArrays, dense_M: Ints32) -> Floats32:
    candidates = len(arrays.total_C)
    dense_CD = np.zeros((candidates, int((dense_M >= 0).sum())), dtype=np.float32)
    candidate_V = row_numbers(arrays.value_offsets_C1)
    column_V = dense_M[arrays.columns_V]
    dense_CD[candidate_V[column_V >= 0], column_V[column_V >= 0]] = arrays.values_V[column_V >= 0]
    return dense_CD


def _fingerprint(names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(names).encode("utf-8")).hexdigest()
