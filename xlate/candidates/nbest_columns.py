"""N-best lists as flat arrays: words and feature values numbered while the lines come in."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of
from xlate.errors import InputError
from xlate.kernels.learning.candidates import CandidateArrays, no_contexts
from xlate.kernels.learning.scores import sparse_scores
from xlate.text.encoded import EncodedText


class Scored(Protocol):
    """What is needed of a hypothesis; `layout` has the feature names with how many values each has."""

    @property
    def line(self) -> int: ...
    @property
    def sentence(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def layout(self) -> tuple[tuple[str, int], ...]: ...
    @property
    def values(self) -> list[float]: ...
    @property
    def total(self) -> float | None: ...


class WordNumbers:
    """Numbers words as they come, from 0; unlike a vocabulary it knows every word it is asked for."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        """The words in the order of their numbers."""
        return iter(self._numbers)

    def append_to(self, ids: array[int], text: str) -> int:
        """Appends the numbers of the words between blanks; returns how many there are."""
        before = len(ids)
        ids.extend(map(self._numbers.__getitem__, filter(None, text.split(" "))))
        return len(ids) - before

    def encode(self, texts: Iterable[str]) -> EncodedText:
        """Texts of tokens between blanks as numbers."""
        ids = array("i")
        lengths = [self.append_to(ids, text) for text in texts]
        return EncodedText(np.array(ids, dtype=np.int32), offsets_of(lengths))


@dataclass(frozen=True)
class NbestArrays:
    """I lists of C hypotheses in all, with V feature values of M columns.

    Attributes:
        sentence_I: the number of each list's sentence; candidate_offsets_I1: its hypotheses.
        text: the hypotheses' words, numbered by `numbers`.
        names: of the M columns; a feature of several values has a column for each, `LM_0`, `LM_1`.
        several: the columns of features with several values, which are dense whatever else holds.
        columns_V, values_V, value_offsets_C1: the values of each hypothesis and their columns.
        total_C: the scores as given, not a number where there is none.
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

    def scores(self, weights: Mapping[str, float]) -> Floats:
        """w · f of every hypothesis, (C,), with weights by column name; a column without one counts 0.

        Raises:
            InputError: a sum that is not finite.
        """
        weight_M = np.array([weights.get(name, 0.0) for name in self.names], dtype=np.float64)
        nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32)
        none_C = np.zeros(0, np.float32)
        dense_CD = np.zeros((len(self.total_C), 0), np.float32)
        bags = self.value_offsets_C1, self.columns_V, self.values_V
        lists = CandidateArrays(self.candidate_offsets_I1, dense_CD, none_C, none_C, *nothing, *bags, *no_contexts())
        return self.finite(sparse_scores(lists, weight_M))

    def texts(self, hypotheses: Ints) -> list[str]:
        """The words of some hypotheses, by their places, with blanks between them."""
        words = list(self.numbers)
        return [" ".join(words[number] for number in self.text[c].tolist()) for c in hypotheses.tolist()]

    def select(self, lists: Ints) -> NbestArrays:
        """Some of the lists, by their places."""
        candidates, candidate_offsets = gathered(self.candidate_offsets_I1, lists)
        words, word_offsets = gathered(self.text.offsets_S1, candidates)
        values, value_offsets = gathered(self.value_offsets_C1, candidates)
        return replace(
            self,
            sentence_I=self.sentence_I[lists],
            candidate_offsets_I1=candidate_offsets,
            text=EncodedText(self.text.ids_T[words], word_offsets),
            columns_V=self.columns_V[values],
            values_V=self.values_V[values],
            value_offsets_C1=value_offsets,
            total_C=self.total_C[candidates],
        )

    def finite(self, score_C: Floats) -> Floats:
        """The same scores of every hypothesis.

        Raises:
            InputError: one of them is not finite.
        """
        strange_C = np.flatnonzero(~np.isfinite(score_C))
        if len(strange_C):
            first = int(strange_C[0])
            row = int(np.searchsorted(self.candidate_offsets_I1, first, side="right")) - 1
            place = first - int(self.candidate_offsets_I1[row]) + 1
            raise InputError(
                "a total that is no finite number",
                seen=f"{score_C[first]} of hypothesis {place} of sentence {self.sentence_I[row]}",
                expected="weights whose products with the features have a finite sum",
                remedy="look for weights and values that are far too large",
            )
        return score_C


def nbest_arrays(lists: Iterable[Sequence[Scored]], file: str | Path | None = None) -> NbestArrays:
    """Collects lists, one sentence each; `file` is where they come from, for the messages.

    Raises:
        InputError: there is no list; with the line, when a feature changes its number of values, or the columns of two
            features have one name, such as `LM_0` beside `LM` with two values.
    """
    columns, numbers = _Columns(), WordNumbers()
    words, lengths, used, counts = array("i"), array("q"), array("i"), array("q")
    values, totals, sentences, sizes = array("d"), array("d"), array("q"), array("q")
    for hypotheses in lists:
        sentences.append(hypotheses[0].sentence)
        sizes.append(len(hypotheses))
        for hypothesis in hypotheses:
            lengths.append(numbers.append_to(words, hypothesis.text))
            try:
                used.extend(chain.from_iterable(map(columns.__getitem__, hypothesis.layout)))
            except ValueError as error:
                raise _unfit(error, file, hypothesis.line) from error
            values.extend(hypothesis.values)
            counts.append(len(hypothesis.values))
            totals.append(float("nan") if hypothesis.total is None else hypothesis.total)
    if not sentences:
        raise InputError("no hypotheses", file=file, seen="an empty list", expected="one hypothesis or more")
    return NbestArrays(
        np.array(sentences, dtype=np.int64),
        offsets_of(np.array(sizes, dtype=np.int64)),
        EncodedText(np.array(words, dtype=np.int32), offsets_of(np.array(lengths, dtype=np.int64))),
        numbers,
        tuple(columns.numbers),
        frozenset(columns.several),
        np.array(used, dtype=np.int32),
        np.array(values, dtype=np.float64),
        offsets_of(np.array(counts, dtype=np.int64)),
        np.array(totals, dtype=np.float64),
    )


def _unfit(error: ValueError, file: str | Path | None, line: int) -> InputError:
    return InputError(
        str(error),
        file=file,
        line=line,
        expected="the same number of values of a feature on every line, and a name of its own",
        remedy="make the whole list with one model",
    )


class _Columns(dict[tuple[str, int], tuple[int, ...]]):
    """The columns of a feature with its number of values, numbered when it is first met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.features: dict[str, int] = {}
        self.several: set[int] = set()

    def __missing__(self, pair: tuple[str, int]) -> tuple[int, ...]:
        feature, count = pair
        if self.features.setdefault(feature, count) != count:
            raise ValueError(f"the feature {feature} has {count} values, and {self.features[feature]} before")
        names = [feature] if count == 1 else [f"{feature}_{place}" for place in range(count)]
        for name in names:
            if name in self.numbers:
                raise ValueError(f"two features with the column {name}")
            self.numbers[name] = len(self.numbers)
        self[pair] = columns = tuple(self.numbers[name] for name in names)
        if count > 1:
            self.several.update(columns)
        return columns
