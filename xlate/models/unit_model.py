"""Models of units with scores: phrase pairs, or hierarchical rules; the best units of source sides under weights.

Units are ranked when a sentence first needs them, because a text uses few of a table's source phrases. Ranked units are
kept, so each phrase is ranked once; translating a whole text in one call is faster than sentence by sentence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from xlate.array_types import AnyArray, AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, joined_offsets, lengths_of, offsets_of, places_of
from xlate.arrays.ranges import pieces
from xlate.features.index import FeatureIndex, slots_of
from xlate.kernels.lm import PhrasesAlone, walk_alone, walk_sentences
from xlate.kernels.search.spans import option_words
from xlate.lm.model import NgramModel
from xlate.models.derivation import COPIED
from xlate.phrases.table import LinkedPairs
from xlate.search.beam import END_LABEL, CompiledSpace, Words, phrases_in
from xlate.text.terms import is_hard, own_target, terms_in
from xlate.text.vocabulary import EncodedText, Numbering, Vocabulary

# The lowest natural log of a score, and what a copied source word counts, as in Moses.
LOWEST_LOG = -100.0
UNKNOWN_PENALTY = -100.0


Table = TypeVar("Table", bound=LinkedPairs)


@dataclass(frozen=True)
class UnitModel(ABC, Generic[Table]):
    """Units with scores, a language model, and float features by name; it holds no weights."""

    table: Table
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    lm: NgramModel

    @property
    @abstractmethod
    def features(self) -> Mapping[str, int]:
        """The D float features by name, with the number of values of each."""

    @property
    @abstractmethod
    def sparse(self) -> FeatureIndex | None:
        """The features of the sparse weights, None for a model without any."""

    @cached_property
    def slots(self) -> dict[str, slice]:
        """The slice of each float feature."""
        return slots_of(self.features)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """A name for each float feature: `LM0`, and `TranslationModel0_0` where there are several."""
        return columns_of(self.features)

    @cached_property
    def sums(self) -> slice:
        """The slice of the sums of sparse features, after all other floats."""
        starts = [part.start for name, part in self.slots.items() if name.startswith("Sparse")]
        return slice(min(starts, default=self.size), self.size)

    @property
    def size(self) -> int:
        """The number of float features D."""
        return len(self.columns)

    @cached_property
    def lm_number_V(self) -> Ints32:
        """The language model's numbers of the target words, shape (V,)."""
        return self.lm.vocabulary.ids(self.target_vocabulary.words)

    def log_scores(self, unit_N: AnyInts) -> Floats:
        """Natural logs of the four scores of units, at least -100, shape (N, 4)."""
        return floored_log(self.table.scores_B4[unit_N])

    def target_phrases(self, unit_N: AnyInts) -> EncodedText:
        """The target phrases of units."""
        return self.table.target_phrases.select(self.table.target_B[unit_N])

    def target_words(self, unit: int) -> tuple[str, ...]:
        """The target phrase of a unit."""
        return self.target_vocabulary.words_of(self.table.target_phrases[int(self.table.target_B[unit])])


AnyUnitModel = UnitModel[Any]


def columns_of(features: Mapping[str, int]) -> tuple[str, ...]:
    """A name for each value of some features.

    >>> columns_of({"LM0": 1, "Backtrack0": 2})
    ('LM0', 'Backtrack0_0', 'Backtrack0_1')
    """
    counts = features.items()
    return tuple(name if count == 1 else f"{name}_{place}" for name, count in counts for place in range(count))


def floored_log(probabilities: Floats) -> Floats:
    """Natural logs, at least -100."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.maximum(np.log(probabilities), LOWEST_LOG)
    return logs


def weighted_sum(features_ND: Floats, weights_D: Floats) -> Floats:
    """The weighted sums of rows, (N,); not a matrix product, whose last bits depend on which rows are together."""
    total_N = np.zeros(len(features_ND))
    for weight, column_N in zip(weights_D.tolist(), features_ND.T, strict=True):
        if weight:
            total_N += weight * column_N
    return total_N


def unit_words(target_words: Callable[[int], Words], words: Sequence[str], unit: int, start: int) -> Words:
    """The target words of a unit, or of a copied word or a term of a sentence, by its first source word."""
    return own_target(words, unit, start) if unit < 0 else target_words(unit)


def units_in(
    target: Sequence[str],
    target_words: Callable[[int], Words],
    words: Sequence[str],
    unit_O: AnyInts,
    start_O: AnyInts,
) -> Ints:
    """The places of those of O units of a sentence whose words occur in a translation."""
    phrases, each = phrases_in(target), zip(unit_O.tolist(), start_O.tolist(), strict=True)
    return np.flatnonzero([unit_words(target_words, words, *unit) in phrases for unit in each])


def numbered_words(
    table: LinkedPairs, vocabulary: Vocabulary, words: Sequence[str], unit_O: AnyInts, start_O: AnyInts
) -> EncodedText:
    """The target words of O units of a sentence as `Numbering` numbers them; see `unit_texts`."""
    ids_T, units = table.target_phrases.ids_T, (words, unit_O, start_O)
    return unit_texts(table, ids_T, lambda own: Numbering(vocabulary, [*words, *own]).ids(own), *units)


def unit_texts(
    table: LinkedPairs,
    ids_T: Ints32,
    own_ids: Callable[[Sequence[str]], Ints32],
    words: Sequence[str],
    unit_O: AnyInts,
    start_O: AnyInts,
) -> EncodedText:
    """The target words of O units of a sentence by number.

    Args:
        table: of the units.
        ids_T: the numbers of the words of its target phrases.
        own_ids: gives the numbers of the words of copies and terms.
        words: of the sentence.
        unit_O: the number of each unit, negative for a copied source word or a term.
        start_O: the first source word of each.
    """
    own_O, length_O = unit_O < 0, np.empty(len(unit_O), np.int64)
    length_O[~own_O] = lengths_of(table.target_phrases.offsets_S1, table.target_B[unit_O[~own_O]])
    offsets_N1, own = joined_targets(words, unit_O[own_O], start_O[own_O])
    length_O[own_O] = np.diff(offsets_N1)
    offsets_O1 = offsets_of(length_O)
    phrases = ids_T, table.target_phrases.offsets_S1, table.target_B
    return EncodedText(option_words(*phrases, own_ids(own), unit_O, offsets_O1), offsets_O1)


class UnitSpace(CompiledSpace):
    """The moves of a compiled search whose labels stand for units of a model, copied words, and terms.

    Attributes:
        model: the blocks, phrase pairs or rules, in a `table`.
    """

    model: Any

    @abstractmethod
    def units(self, labels: AnyInts | int) -> tuple[AnyInts, AnyInts]:
        """The unit and the first source word of each label, or of one; the end of the sentence is not among them."""

    def words_of(self, label: int) -> Words:
        if label not in self._words:
            unit, start = map(int, self.units(label))
            self._words[label] = unit_words(self.model.target_words, self.options.words, unit, start)
        return self._words[label]

    @cached_property
    def _words(self) -> dict[int, Words]:
        return {END_LABEL: ()}

    def texts(self, labels: Ints32) -> EncodedText:
        table, vocabulary = self.model.table, self.model.target_vocabulary
        return numbered_words(table, vocabulary, self.options.words, *self.units(labels))


def own_cells(words: Sequence[str], longest: int, cell_O: Ints) -> tuple[Ints, Ints]:
    """Cell and unit of each term of a sentence, and of each word that is copied because its cell has no other unit.

    Cells ascend; they are numbered as in `span_rows`, and `cell_O` are those of the units of a model.
    """
    found = [
        (start * longest + end - start - 1, unit) for start, end, unit in terms_in(words) if end - start <= longest
    ]
    empty_C = np.ones(len(words) * longest, np.bool_)
    empty_C[cell_O] = empty_C[[cell for cell, _ in found]] = False
    copied = (start for start in np.flatnonzero(empty_C[::longest]).tolist() if not is_hard(words[start]))
    found += [(start * longest, COPIED) for start in copied]
    cell_N, unit_N = np.array(sorted(found), np.int64).reshape(-1, 2).T
    return cell_N, unit_N


def joined_targets(words: Sequence[str], unit_N: AnyInts, start_N: AnyInts) -> tuple[Ints, list[str]]:
    """The target words of copied words and terms of a sentence, by unit and first source word: offsets and words."""
    said = [own_target(words, *place) for place in zip(unit_N.tolist(), start_N.tolist(), strict=True)]
    return offsets_of([len(target) for target in said]), [word for target in said for word in target]


# How many source sides are ranked at a time: temporary memory grows with it.
AT_A_TIME = 1 << 14
# How many units are kept, some 150 bytes each, before ranking starts over; this bounds memory for texts of any length.
MOST = 1 << 20
# The name of the array that says where phrases begin; those of their words end in `_W`.
OFFSETS = "offsets_O1"


@dataclass(frozen=True)
class RankedRows:
    """R units, grouped by source side and best first; a system adds arrays with one row per unit.

    Attributes:
        unit_R: their numbers in the table.
        static_R: the weighted sum of what they score in any position.
        alone_R: that plus the weighted language model score without a history; units are ranked by it.
        offsets_O1, words_W, states_W, rest_W: their `phrases`, the target words in the language model's numbers.
    """

    unit_R: Ints
    static_R: Floats
    alone_R: Floats
    offsets_O1: Ints
    words_W: Ints32
    states_W: Ints32
    rest_W: Floats

    @property
    def phrases(self) -> PhrasesAlone:
        """The target phrases."""
        return PhrasesAlone(self.offsets_O1, self.words_W, self.states_W, self.rest_W)


Rows = TypeVar("Rows", bound=RankedRows)
# Phrases of words in a language model's numbers: offsets and words.
Text = tuple[Ints, Ints32]


class Ranking(ABC, Generic[Rows]):
    """The best `options` units of each requested source side, under some weights.

    Attributes:
        ROWS: the class of the ranked units.
    """

    ROWS: type[Rows]

    def __init__(self, model: AnyUnitModel, weights_D: Floats, options: int) -> None:
        self.model = model
        self.weights_D = weights_D
        self.options = options
        self._forget()

    @abstractmethod
    def ranked(self, rows: Ints) -> tuple[Rows, Ints]:
        """The best units of some source sides, and how many of them each has."""

    def units_of(self, rows: Ints) -> tuple[Ints, Ints]:
        """All units of some source sides, one after the other, and how many each has."""
        first_S, size_S = self.model.table.pairs_of(rows)
        ends_S1 = offsets_of(size_S)
        return np.repeat(first_S - ends_S1[:-1], size_S) + np.arange(ends_S1[-1]), size_S

    def words_of(self, targets: EncodedText) -> Text:
        """Target phrases in the language model's numbers."""
        return targets.offsets_S1, self.model.lm_number_V[targets.ids_T]

    def alone(self, static_N: Floats, text: Text) -> Floats:
        """Scores with the weighted language model score of each of N target phrases without a history."""
        lm = self.model.lm
        logprob_N: Floats = walk_sentences(lm.arrays, lm.empty_state, -1, text[1], text[0])
        return np.asarray(static_N + self.weights_D[self.model.slots["LM0"].start] * logprob_N)

    def phrases(self, text: Text) -> PhrasesAlone:
        """Target phrases with their scores without a history (natural logs)."""
        lm = self.model.lm
        return PhrasesAlone(*text, *walk_alone(lm.arrays, lm.empty_state, *text))

    def _forget(self) -> None:
        # The place of a ranked source side, plus 1; untouched pages of zeros cost no memory.
        self._place_P = np.zeros(len(self.model.table.sides), np.int32)
        self._offsets_S1 = GrowingArray(np.zeros(1, np.int64))
        # Its names are known once something is ranked.
        self._columns: dict[str, GrowingArray] = {}

    def rank(self, rows: AnyInts) -> None:
        """Ranks those of these source sides that are not ranked yet; when too many are kept, the others are dropped."""
        if self._columns and self._place_P[rows].all():
            return
        if self._offsets_S1.array[-1] > MOST:
            self._forget()
        new = np.unique(rows[self._place_P[rows] == 0]).astype(np.int64)
        for at in pieces(len(new) if self._columns else max(len(new), 1), AT_A_TIME):
            self._append(new[at])

    def sizes(self, rows: AnyInts) -> Ints:
        """The number of units of each of S ranked source sides; shape (S,)."""
        return lengths_of(self._offsets_S1.array, self._place_P[rows] - 1)

    def units(self, rows: AnyInts) -> Rows:
        """The units of ranked source sides, one source side after the other."""
        return self.at(self.places(rows))

    def places(self, rows: AnyInts) -> Ints:
        """The places of the units of ranked source sides; valid until more are ranked."""
        return places_of(self._offsets_S1.array, self._place_P[rows] - 1)

    def column(self, name: str, places: Ints) -> AnyArray:
        """One of the arrays of the units at these places."""
        return self._columns[name].array[places]

    def at(self, places: Ints) -> Rows:
        """The units at these places."""
        columns = {name: column.array for name, column in self._columns.items()}
        return rows_at(self.ROWS(**columns), places)

    def _append(self, rows: Ints) -> None:
        found, size_S = self.ranked(rows)
        self._place_P[rows] = len(self._offsets_S1) + np.arange(len(rows), dtype=np.int32)
        self._offsets_S1.append(self._offsets_S1.array[-1] + offsets_of(size_S)[1:])
        if not self._columns:
            self._columns = {name: GrowingArray(array) for name, array in vars(found).items()}
            return
        for name, array in vars(found).items():
            column = self._columns[name]
            column.append(column.array[-1] + array[1:] if name == OFFSETS else array)


class GrowingArray:
    """An array that grows at its end."""

    def __init__(self, array: AnyArray) -> None:
        self._array, self._size = array, len(array)

    @property
    def array(self) -> AnyArray:
        """Its current contents."""
        return self._array[: self._size]

    def append(self, more: AnyArray) -> None:
        """Adds rows at the end."""
        size = self._size + len(more)
        if size > len(self._array):
            grown = np.empty((max(size, 2 * len(self._array)), *self._array.shape[1:]), self._array.dtype)
            grown[: self._size] = self.array
            self._array = grown
        self._array[self._size : size] = more
        self._size = size

    def __len__(self) -> int:
        return self._size


def rows_at(rows: Rows, places: Ints) -> Rows:
    """The units at some places."""
    words, offsets_O1 = gathered(rows.offsets_O1, places)
    columns = vars(rows).items()
    taken = {name: column[words if name.endswith("_W") else places] for name, column in columns if name != OFFSETS}
    return type(rows)(offsets_O1=offsets_O1, **taken)


def joined_rows(one: Rows, other: Rows) -> Rows:
    """Units of two kinds, one after the other."""
    columns: dict[str, Any] = {
        name: (joined_offsets if name == OFFSETS else np.concatenate)([array, vars(other)[name]])
        for name, array in vars(one).items()
    }
    return type(one)(**columns)
