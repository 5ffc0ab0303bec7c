"""What a system gives of a sentence, as numbers, and the lists of a text made from it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, AnyFloats, Floats32, Ints, Ints32
from xlate.arrays.ragged import joined_offsets, offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.kernels.counting.ngram_statistics import list_statistics
from xlate.metrics.bleu import ORDER
from xlate.text.encoded import EncodedText


@dataclass(frozen=True)
class Draw:
    """How candidates are drawn: so many with shares of exp(scale · score); the seed and the words decide which."""

    draws: int
    scale: float
    seed: int

    def seed_of(self, words: Sequence[str]) -> int:
        """The seed for a sentence."""
        return (zlib.crc32(" ".join(words).encode()) + self.seed) % 2**31


class DecodedList(NamedTuple):
    """C translations of one sentence, best first or as they were drawn; sent from process to process.

    `dense_CD` are float features; `words_T` at `word_offsets_C1` the target words as `text.Numbering` numbers them.
    What follows is None where there is nothing of the kind: the steps of the translations as parts, numbered within
    the sentence, `parts_K` at `part_offsets_C1`; for each part the ids of its sparse features, or the unit it is; and
    how often each translation was drawn (see `CandidateBatch`).
    """

    dense_CD: Floats32
    word_offsets_C1: Ints
    words_T: Ints32
    part_offsets_C1: Ints | None = None
    parts_K: Ints32 | None = None
    id_offsets_P1: Ints | None = None
    ids_N: Ints32 | None = None
    unit_PU: Ints32 | None = None
    between_offsets_P1: Ints | None = None
    between_T: Ints32 | None = None
    draws_C: Ints32 | None = None

    @property
    def parts(self) -> int:
        """The number of parts P, 0 without."""
        offsets_P1 = self.id_offsets_P1 if self.between_offsets_P1 is None else self.between_offsets_P1
        return 0 if offsets_P1 is None else len(offsets_P1) - 1

    @classmethod
    def of_words(cls, words: Sequence[Ints32], features_CD: AnyFloats) -> DecodedList:
        """Translations of which only words and float features are known."""
        text = EncodedText.from_ids(words)
        return cls(np.asarray(features_CD, dtype=np.float32), text.offsets_S1, text.ids_T)


def listed(
    found: Sequence[DecodedList],
    references: EncodedText,
    reference_offsets_I1: Ints,
    sentence_I: Ints | None = None,
    *,
    words: bool = False,
) -> CandidateBatch:
    """The lists of a text, with BLEU statistics as gains; plain when translations have no parts.

    Args:
        found: of I sentences.
        references: numbered sentence by sentence as the translations are.
        reference_offsets_I1: which of them belong to each sentence.
        sentence_I: numbers of the sentences, when they are to be kept.
        words: the target words are kept too.

    Raises:
        InputError: no sentence.
    """
    if not found:
        raise InputError("no sentences", expected="one or more")
    candidate_offsets_I1 = offsets_of([len(one.dense_CD) for one in found])
    statistics_CK = list_statistics(
        np.concatenate([one.words_T for one in found]),
        joined_offsets([one.word_offsets_C1 for one in found]),
        candidate_offsets_I1,
        references.ids_T,
        references.offsets_S1,
        reference_offsets_I1,
        ORDER,
    )
    parts = offsets_of([one.parts for one in found])
    two_level = found[0].part_offsets_C1 is not None
    count = int(parts[-1]) if two_level else int(candidate_offsets_I1[-1])
    id_offsets_P1, ids_N = _joined(found, joined_offsets, "id_offsets_P1"), _joined(found, np.concatenate, "ids_N")
    return CandidateBatch(
        candidate_offsets_I1,
        np.concatenate([one.dense_CD for one in found]),
        statistics_CK.astype(np.float32),
        np.zeros(count + 1, np.int64) if id_offsets_P1 is None else id_offsets_P1,
        np.zeros(0, np.int32) if ids_N is None else ids_N,
        parts if two_level else None,
        _joined(found, joined_offsets, "part_offsets_C1"),
        _joined(found, np.concatenate, "parts_K"),
        sentence_I=sentence_I,
        draws_C=_joined(found, np.concatenate, "draws_C"),
        unit_PU=_joined(found, np.concatenate, "unit_PU"),
        between_offsets_P1=_joined(found, joined_offsets, "between_offsets_P1"),
        between_T=_joined(found, np.concatenate, "between_T"),
        word_offsets_C1=_joined(found, joined_offsets, "word_offsets_C1") if words else None,
        words_T=_joined(found, np.concatenate, "words_T") if words else None,
    )


def _joined(found: Sequence[DecodedList], join: Callable[[Any], AnyArray], name: str) -> Any:
    """An array of all sentences, None where there is none."""
    given = [getattr(one, name) for one in found]
    return None if given[0] is None else join(given)
