"""Candidates in memory: instances, their candidates, the candidates' parts, and the parts' sparse ids.

`FeatureNames` names the features of lists that come from Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import NO_INTS, NO_INTS32, AnyFloats, AnyInts, Floats32, Ints, Ints32
from xlate.arrays.ragged import gathered, joined_offsets, offsets_of, places_in_rows
from xlate.arrays.ranges import check_lengths, check_offsets, check_shapes, check_within, pieces, refuse
from xlate.arrays.stored import StoredArrays
from xlate.errors import InputError, refuse_if
from xlate.features.index import NamedFeatures
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.text.vocabulary import EncodedText

FeatureDicts = Sequence[Sequence[Mapping[str, float]]]
Gains = Sequence[Sequence[float | Sequence[float]]]


@dataclass(frozen=True)
class FeatureNames:
    """The names of D float and F sparse features of candidates from Python.

    Attributes:
        dense: the float features, in the order of the columns of `dense_CD` of a batch.
        sparse: the sparse ones, in the order of their ids.

    Raises:
        InputError: a name occurs twice among the float ones, or in both.
    """

    dense: tuple[str, ...]
    sparse: NamedFeatures

    def __post_init__(self) -> None:
        """Rejects duplicate names."""
        twice = len(set(self.dense)) < len(self.dense)
        refuse_if(twice, "a float feature appears twice", ", ".join(self.dense), "each name once")
        if both := [name for name in self.dense if self.sparse.id(name) >= 0]:
            raise InputError("a feature that is both float and sparse", both[0], "one of the two")

    @classmethod
    def of(cls, features: FeatureDicts, dense: Sequence[str] | None = None) -> FeatureNames:
        """The names in some lists.

        Args:
            features: for each list a dictionary of features for each hypothesis.
            dense: the float ones; by default those that every hypothesis has. All others are sparse.

        Raises:
            InputError: a list is a single hypothesis, or a float feature is named twice.

        Example:
            >>> names = FeatureNames.of([[{"lm": -2.0, "bigram=a b": 1}, {"lm": -1.0}]])
            >>> names.dense, names.sparse.names_F
            (('lm',), ('bigram=a b',))
        """
        flat = _flat(features)
        if dense is None:
            dense = [name for name in (flat[0] if flat else ()) if all(name in one for one in flat)]
        among = set(dense)
        return cls(tuple(dense), NamedFeatures.of(name for one in flat for name in one if name not in among))

    def weights(self, dense_D: Iterable[float], sparse_F: Iterable[float]) -> dict[str, float]:
        """Weights by the names of their features, without those that are 0.

        Raises:
            ValueError: there are not as many weights as features.
        """
        named = zip((*self.dense, *self.sparse.names_F), (*map(float, dense_D), *map(float, sparse_F)), strict=True)
        return {name: weight for name, weight in named if weight}


def _flat(features: FeatureDicts) -> list[Mapping[str, float]]:
    for i, one in enumerate(features):
        mapped = isinstance(one, Mapping)
        refuse_if(mapped, f"list {i} is a single hypothesis", "a dictionary", "a list of dictionaries")
    return [candidate for one in features for candidate in one]


def _checked_gains(features: FeatureDicts, gains: Gains) -> Floats32:
    """The gains of candidates, (C, G), after a check that each has a gain, names of features, and finite values.

    Raises:
        InputError: one does not; the message names the list and the hypothesis.
    """
    wrong, seen = len(features) != len(gains), f"{len(features)} lists of features, {len(gains)} of gains"
    refuse_if(wrong, "features and gains have different numbers of lists", seen, "equal numbers")
    rows: list[tuple[float, ...]] = []
    for i, (one, told) in enumerate(zip(features, gains, strict=True)):
        seen = f"{len(one)} hypotheses, {len(told)} gains"
        refuse_if(len(one) != len(told), f"list {i}: features and gains differ in length", seen, "equal numbers")
        for x, (candidate, gain) in enumerate(zip(one, told, strict=True)):
            where = f"list {i}, hypothesis {x}"
            for name, value in candidate.items():
                if not isinstance(name, str) or not name:
                    raise InputError(f"{where}: not a name", repr(name), "a string")
                if not math.isfinite(_number(value)):
                    raise InputError(f"{where}: feature {name}", repr(value), "a finite number")
            row = tuple(gain) if isinstance(gain, Sequence) else (gain,)
            rows.append(row)
            if len(row) != len(rows[0]) or not all(math.isfinite(_number(value)) for value in row):
                expected = "a finite number" if len(rows[0]) == 1 else f"{len(rows[0])} finite numbers"
                raise InputError(f"{where}: gain", repr(row), expected)
    return np.array(rows, np.float32).reshape(len(rows), len(rows[0]) if rows else 1)


def _number(value: object) -> float:
    """A number as a float; NaN for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


# Arrays with a row for each instance, candidate or part, and the ragged ones of each: offsets and values.
ROWS = {"I": ("sentence_I",), "C": ("dense_CD", "gain_CG", "base_C", "draws_C"), "P": ("unit_PU",)}
RAGGED = {
    "candidate_part_offsets_C1": ("C", ("candidate_parts_K",)),
    "word_offsets_C1": ("C", ("words_T",)),
    "part_id_offsets_P1": ("P", ("part_ids_N", "part_values_N")),
    "between_offsets_P1": ("P", ("between_T",)),
    "context_offsets_I1": ("I", ("contexts_X",)),
}
BETWEEN: tuple[str, ...] = ("part_offsets_I1", "candidate_part_offsets_C1", "candidate_parts_K")
UNITS: tuple[str, ...] = ("unit_PU", "between_offsets_P1", "between_T")
WORDS: tuple[str, ...] = ("word_offsets_C1", "words_T")
CONTEXTS: tuple[str, ...] = ("context_offsets_I1", "contexts_X")


@dataclass(frozen=True)
class CandidateBatch:
    """I instances with C candidates in all; D float features, G gain columns, P parts, N sparse ids.

    A candidate is a bag of its instance's parts, a part a bag of sparse ids. Two instances, the first with candidates
    c0 and c1 that share part p0, the second with c2::

        candidate_offsets_I1       0 2 3           candidates of instance i: [i] to [i + 1]
        part_offsets_I1            0 2 3           parts of instance i
        candidate_part_offsets_C1  0 1 3 4         parts of candidate c …
        candidate_parts_K          0 | 0 1 | 0     … counted within its instance
        part_id_offsets_P1         0 2 3 3         ids of part p
        part_ids_N                 7 9 | 4 |       (the third part has none)
        dense_CD, gain_CG          one row per candidate

    A plain batch has one part per candidate, and the three arrays in between are None. The gain of a block instance is
    one column, 1 for a true successor and -1 for an alternative. `base_C` is a fixed score, `part_values_N` the
    values of the ids if they are not all 1.

    In place of ids, parts may carry their *unit*: U numbers `unit_PU`, and more numbers `between_T` at
    `between_offsets_P1`, from which the ids of any templates are made (`candidates/lists.py`). `sentence_I` is the
    number of each instance's sentence, `draws_C` how often a candidate was drawn at random, 0 in n-best lists.
    `words_T` at `word_offsets_C1` are the target words of each candidate, if lists are pooled by their words.

    A plain batch may give a context for each instance: ids `contexts_X` at `context_offsets_I1`. The features of a
    candidate are then all pairs of one of these and one of its own ids; see `kernels/learning/candidates.py`.
    """

    candidate_offsets_I1: Ints
    dense_CD: Floats32
    gain_CG: Floats32
    part_id_offsets_P1: Ints
    part_ids_N: Ints32
    part_offsets_I1: Ints | None = None
    candidate_part_offsets_C1: Ints | None = None
    candidate_parts_K: Ints32 | None = None
    part_values_N: Floats32 | None = None
    base_C: Floats32 | None = None
    sentence_I: Ints | None = None
    draws_C: Ints32 | None = None
    unit_PU: Ints32 | None = None
    between_offsets_P1: Ints | None = None
    between_T: Ints32 | None = None
    word_offsets_C1: Ints | None = None
    words_T: Ints32 | None = None
    context_offsets_I1: Ints | None = None
    contexts_X: Ints32 | None = None

    @classmethod
    def joined(cls, batches: Sequence[CandidateBatch]) -> CandidateBatch:
        """Batches one after the other; values of 1 are written out if another batch has values.

        Raises:
            ValueError: there is no batch, or only some have an array.
        """
        if not batches:
            raise ValueError("nothing to join")
        arrays: dict[str, Any] = {}
        for name in (field.name for field in fields(cls)):
            given = [getattr(batch, name) for batch in batches]
            lacking = [place for place, array in enumerate(given) if array is None]
            if len(lacking) == len(given):
                continue
            for place in lacking:
                if name != "part_values_N":
                    raise ValueError(f"{name}: some batches have it, some not")
                given[place] = np.ones(len(batches[place].part_ids_N), np.float32)
            arrays[name] = joined_offsets(given) if "offsets" in name else np.concatenate(given)
        return cls(**arrays)

    @classmethod
    def from_lists(cls, features: FeatureDicts, gains: Gains, names: FeatureNames) -> CandidateBatch:
        """Lists from Python, a candidate for each hypothesis.

        Args:
            features: for each list a dictionary of features for each hypothesis.
            gains: how good each hypothesis is, in the same order; or several numbers each, such as BLEU statistics.
            names: which features are float and which are sparse. A float feature that a hypothesis lacks is 0; features
                that are neither are left out.

        Raises:
            InputError: there are not as many gains as hypotheses, a value is no finite number, or a name is empty or no
                string.

        Example:
            >>> from xlate import CandidateBatch, FeatureNames
            >>> features = [[{"lm": -2.0, "bigram=a b": 1}, {"lm": -1.0}], [{"lm": -3.5, "bigram=b c": 2}]]
            >>> names = FeatureNames.of(features)
            >>> lists = CandidateBatch.from_lists(features, [[0.4, 0.1], [0.9]], names)
            >>> lists.dense_CD.tolist(), lists.part_ids_N.tolist()
            ([[-2.0], [-1.0], [-3.5]], [0, 1])
            >>> lists.to_lists(names)[0][1]
            [{'lm': -3.5, 'bigram=b c': 2.0}]
        """
        flat, gain_CG, id_of = _flat(features), _checked_gains(features, gains), names.sparse.id
        dense = [[one.get(name, 0.0) for name in names.dense] for one in flat]
        # Features missing from the index are left out.
        rows = [sorted((id_of(name), value) for name, value in one.items() if id_of(name) >= 0) for one in flat]
        values_N = np.array([value for row in rows for _, value in row], np.float32)
        return cls(
            candidate_offsets_I1=offsets_of([len(one) for one in features]),
            dense_CD=np.array(dense, np.float32).reshape(len(flat), len(names.dense)),
            gain_CG=gain_CG,
            part_id_offsets_P1=offsets_of([len(row) for row in rows]),
            part_ids_N=np.array([feature for row in rows for feature, _ in row], np.int32),
            part_values_N=None if (values_N == 1).all() else values_N,
        ).validate()

    def to_lists(self, names: FeatureNames) -> tuple[list[list[dict[str, float]]], list[list[Any]]]:
        """The features and gains in the form of `from_lists`, including float features that are 0.

        Several gain columns come as a tuple for each candidate.
        """
        ids_N, ends_C1, values_N = self.flat_ids()
        told = list(names.sparse.names(ids_N))
        values = [1.0] * len(told) if values_N is None else values_N.tolist()
        columns = self.gain_CG.tolist()
        gain_C = [row[0] for row in columns] if self.gain_CG.shape[1] == 1 else [tuple(row) for row in columns]
        flat = [
            {**dict(zip(names.dense, row, strict=True)), **dict(zip(told[a:b], values[a:b], strict=True))}
            for row, (a, b) in zip(self.dense_CD.tolist(), pairwise(ends_C1.tolist()), strict=True)
        ]
        cuts = list(pairwise(self.candidate_offsets_I1.tolist()))
        return [flat[a:b] for a, b in cuts], [gain_C[a:b] for a, b in cuts]

    @property
    def is_plain(self) -> bool:
        """Whether every candidate is one part."""
        return self.candidate_parts_K is None

    @property
    def candidates(self) -> int:
        """The number of candidates C."""
        return len(self.dense_CD)

    @property
    def words(self) -> EncodedText:
        """The target words of the candidates.

        Raises:
            ValueError: the batch has none.
        """
        if self.words_T is None or self.word_offsets_C1 is None:
            raise ValueError("candidates without words cannot be compared by them")
        return EncodedText(self.words_T, self.word_offsets_C1)

    @property
    def units(self) -> tuple[Ints32, Ints, Ints32]:
        """The unit of each part, (P, U), and its further numbers, as offsets and numbers.

        Raises:
            ValueError: parts have ids.
        """
        if self.unit_PU is None or self.between_offsets_P1 is None or self.between_T is None:
            raise ValueError("parts of ids are not units")
        return self.unit_PU, self.between_offsets_P1, self.between_T

    @property
    def contexts(self) -> tuple[Ints, Ints32]:
        """The context of each instance, as offsets and ids.

        Raises:
            ValueError: the instances have no contexts.
        """
        if self.context_offsets_I1 is None or self.contexts_X is None:
            raise ValueError("instances without contexts")
        return self.context_offsets_I1, self.contexts_X

    def __len__(self) -> int:
        """The number of instances I."""
        return len(self.candidate_offsets_I1) - 1

    def validate(self) -> CandidateBatch:
        """Returns itself if every array fits the others.

        Raises:
            ValueError: one does not; the message names the array, the place and what was expected there.
        """
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        stored = StoredArrays(Path(), {name: array for name, array in held.items() if array is not None}, {})
        try:
            check_arrays(stored)
            check_within(stored, "part_ids_N", 0, 1 << 31)
        except InputError as error:
            raise ValueError(f"{Path(error.file or '').stem}: {error.seen}, expected {error.expected}") from None
        if self.contexts_X is not None and not (self.is_plain and self.part_values_N is None):
            raise ValueError("contexts_X: expected plain candidates whose ids have no values")
        return self

    def select(self, instances: Sequence[int] | AnyInts) -> CandidateBatch:
        """The batch of the given instances, in that order."""
        rows = np.asarray(instances, np.int64)
        candidates, offsets_I1 = gathered(self.candidate_offsets_I1, rows)
        parts, part_offsets_I1 = candidates, None
        if self.part_offsets_I1 is not None:
            parts, part_offsets_I1 = gathered(self.part_offsets_I1, rows)
        taken = self.taken({"I": rows, "C": candidates, "P": parts})
        return replace(taken, candidate_offsets_I1=offsets_I1, part_offsets_I1=part_offsets_I1)

    def taken(self, rows: Mapping[str, Ints]) -> CandidateBatch:
        """Copies of some rows: instances `I`, candidates `C`, parts `P`; offsets by instance do not change.

        Parts keep their numbers within the instance.
        """
        made: dict[str, Any] = {}

        def take(names: Iterable[str], places: Ints) -> None:
            made.update({name: np.asarray(held[places]) for name in names if (held := getattr(self, name)) is not None})

        for level, names in ROWS.items():
            take(names, rows[level])
        for offsets, (level, names) in RAGGED.items():
            if (given := getattr(self, offsets)) is not None:
                places, made[offsets] = gathered(given, rows[level])
                take(names, places)
        return replace(self, **made)

    def part_of_K(self) -> Ints:
        """For each part of each candidate, its number among all parts, (K,); 0 to C - 1 in a plain batch."""
        ends_C1 = self.candidate_part_offsets_C1
        if ends_C1 is None or self.candidate_parts_K is None or self.part_offsets_I1 is None:
            return np.arange(self.candidates)
        sizes_I = np.diff(ends_C1[self.candidate_offsets_I1])
        return np.repeat(self.part_offsets_I1[:-1], sizes_I) + self.candidate_parts_K

    def flat_ids(self) -> tuple[Ints32, Ints, Floats32 | None]:
        """The ids of every candidate written out: ids, offsets by candidate (C+1), and values if there are any."""
        if self.candidate_part_offsets_C1 is None:
            return self.part_ids_N, self.part_id_offsets_P1, self.part_values_N
        ids, offsets_K1 = gathered(self.part_id_offsets_P1, self.part_of_K())
        values = None if self.part_values_N is None else self.part_values_N[ids]
        return self.part_ids_N[ids], offsets_K1[self.candidate_part_offsets_C1], values

    def arrays(self, gain_C: AnyFloats | None = None, *, parts: bool = False, dense: bool = True) -> CandidateArrays:
        """The arrays in the form for compiled loops, in single precision.

        Args:
            gain_C: one gain per candidate; by default the only gain column.
            parts: write out the parts of a plain batch, one per candidate.
            dense: with the dense features; otherwise without columns.

        Raises:
            ValueError: no gains are given for several gain columns, or there are contexts, which loops over lists do
                not support.
        """
        if parts and self.contexts_X is not None:
            raise ValueError("contexts_X: expected none where parts are written out")
        if gain_C is None:
            if self.gain_CG.shape[1] != 1:
                raise ValueError(f"{self.gain_CG.shape[1]} gain columns, expected one, or gains")
            gain_C = self.gain_CG[:, 0]
        dense_CD = self.dense_CD if dense else self.dense_CD[:, :0]
        return CandidateArrays(
            self.candidate_offsets_I1,
            np.ascontiguousarray(dense_CD, np.float32),
            np.ascontiguousarray(gain_C, np.float32),
            _single(self.base_C),
            *self._between(parts),
            self.part_id_offsets_P1,
            self.part_ids_N,
            _single(self.part_values_N),
            *((NO_INTS, NO_INTS32) if self.contexts_X is None else self.contexts),
        )

    def _between(self, parts: bool) -> tuple[Ints, Ints, Ints32]:
        if self.part_offsets_I1 is None or self.candidate_parts_K is None or self.candidate_part_offsets_C1 is None:
            if not parts:
                return NO_INTS, NO_INTS, NO_INTS32
            own_K = places_in_rows(self.candidate_offsets_I1).astype(np.int32)
            return self.candidate_offsets_I1, np.arange(self.candidates + 1), own_K
        return self.part_offsets_I1, self.candidate_part_offsets_C1, self.candidate_parts_K


def _single(array: AnyFloats | None) -> Floats32:
    return np.zeros(0, np.float32) if array is None else np.ascontiguousarray(array, np.float32)


def check_arrays(stored: StoredArrays) -> None:
    """Checks that the arrays of a batch fit each other, and that candidates hold parts of their own instance.

    Raises:
        InputError: they do not; the message names the array.
    """
    for names in (UNITS, WORDS, CONTEXTS, BETWEEN):
        there = [name for name in names if name in stored.arrays]
        if 0 < len(there) < len(names):
            raise refuse(stored, there[0], ", ".join(there), "with " + ", ".join(names))
    candidates = len(stored["dense_CD"])
    check_offsets(stored, "candidate_offsets_I1", candidates)
    check_shapes(stored, texts="T")
    for offsets, (_, (values, *_)) in RAGGED.items():
        if offsets in stored.arrays:
            check_offsets(stored, offsets, len(stored[values]))
    if BETWEEN[0] in stored.arrays:
        check_offsets(stored, "part_offsets_I1", len(stored["part_id_offsets_P1"]) - 1)
        _check_parts(stored)
    else:
        check_lengths(stored, part_id_offsets_P1=(candidates + 1,))


def _check_parts(stored: StoredArrays) -> None:
    """Checks that candidates have parts of their own instance."""
    candidate_offsets, part_offsets = stored["candidate_offsets_I1"], stored["part_offsets_I1"]
    ends_C1 = stored["candidate_part_offsets_C1"]
    for piece in pieces(len(candidate_offsets) - 1):
        ends_I = ends_C1[candidate_offsets[piece.start : piece.stop + 1]]
        sizes_I = np.diff(part_offsets[piece.start : piece.stop + 1])
        for some in pieces(int(ends_I[-1] - ends_I[0])):
            places = np.arange(some.start, some.stop) + ends_I[0]
            parts_K = stored["candidate_parts_K"][places[0] : places[-1] + 1]
            instance_K = np.searchsorted(ends_I, places, side="right") - 1
            check_within(stored, "candidate_parts_K", 0, sizes_I[instance_K], parts_K, places[0])
