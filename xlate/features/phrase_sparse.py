"""Sparse features of the phrase model: templates, ids computed by arithmetic, scores and names.

Templates of *reordering* are crossed with the orientation of a phrase with respect to what is before it (Cherry
2013; Auli, Galley & Gao 2014, section 6); *plain* ones are not. Both are local to a phrase application, or depend on
the group of phrases on top of the shift-reduce stack, the source words in between, or the previous target word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from xlate.array_types import NO_INTS, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, places_of, row_numbers
from xlate.errors import InputError, refuse_if
from xlate.features.index import Numbers, Sizes
from xlate.features.word_values import NO_WORDS, WordValues, class_files
from xlate.phrases.table import PhraseTable
from xlate.text.classes import read_classes
from xlate.text.vocabulary import Vocabulary

LOCAL_SOURCE, LOCAL_TARGET = ("source_first", "source_last"), ("target_first", "target_last")
PHRASES = ("source_phrase", "target_phrase", "pair")
GROUP_SOURCE, GROUP_TARGET = ("top_source_first", "top_source_last", "between"), ("top_target_first", "top_target_last")
REORDERING = (*LOCAL_SOURCE, *LOCAL_TARGET, *GROUP_SOURCE, *GROUP_TARGET, *PHRASES)
WORD_PAIR, BIGRAM, LENGTHS = "word_pair", "target_bigram", "lengths"
PLAIN = (*LOCAL_SOURCE, *LOCAL_TARGET, *PHRASES, WORD_PAIR, BIGRAM, LENGTHS)
GROUP = (*GROUP_SOURCE, *GROUP_TARGET)
LONGEST = 7
ORIENTATIONS = {3: ("M", "S", "D"), 5: ("M", "S", "DL", "DR", "MG")}
# Word pairs are made only of word values with at most this many kinds: all pairs of all words would be too many.
MOST_PAIRED = 2000


@dataclass(frozen=True)
class Family:
    """The features of one template over one kind of word values: ids from `first`, value · crossed + orientation.

    Attributes:
        position: one of `REORDERING` or `PLAIN`.
        crossed: K orientations, or 1 for a plain template.
        first: the first id.
        size: the number of values.
        left, right: word values; for pairs of words, value = left · right.size + right.
    """

    position: str
    crossed: int
    first: int
    size: int
    left: WordValues = NO_WORDS
    right: WordValues = NO_WORDS

    @property
    def end(self) -> int:
        """One past the last id."""
        return self.first + self.size * self.crossed

    @property
    def name(self) -> str:
        """Kind, position and, if any, words, separated by colons."""
        kind = "plain" if self.crossed == 1 else "reordering"
        words = f":{self.left.name}" if self.left.name else ""
        return f"{kind}:{self.position}{words}"

    def weights(self, sparse_F: Floats) -> Floats:
        """Its part of all weights, shape (size, crossed)."""
        return sparse_F[self.first : self.end].reshape(self.size, self.crossed)


def make_families(
    reordering: Sequence[str],
    plain: Sequence[str],
    source_values: Sequence[WordValues],
    target_values: Sequence[WordValues],
    table: PhraseTable,
    orientations: int,
) -> tuple[Family, ...]:
    """The families of templates, each position with every kind of word values, one after the other.

    Word pairs are made only of word values with at most `MOST_PAIRED` kinds.

    Raises:
        InputError: an unknown position, one given twice, or more features than can be numbered.
    """
    check_templates(reordering, plain)
    families: list[Family] = []
    for given, crossed in ((reordering, orientations), (plain, 1)):
        for position in given:
            for left, right, size in _sizes(position, source_values, target_values, table):
                first = families[-1].end if families else 0
                families.append(Family(position, crossed, first, size, left, right))
    if families and families[-1].end > np.iinfo(np.int32).max:
        raise InputError("too many sparse features", families[-1].end, "fewer word values or templates")
    return tuple(families)


def check_templates(reordering: Sequence[str], plain: Sequence[str]) -> None:
    """Checks the positions of templates with and without orientation.

    Raises:
        InputError: a position is unknown or given twice.
    """
    for given, known in ((reordering, REORDERING), (plain, PLAIN)):
        for position in given:
            refuse_if(
                position not in known or list(given).count(position) > 1,
                "an unknown or repeated template",
                position,
                ", ".join(known),
            )


def _sizes(
    position: str, source_values: Sequence[WordValues], target_values: Sequence[WordValues], table: PhraseTable
) -> list[tuple[WordValues, WordValues, int]]:
    """Word values of both sides, and the number of values, of each family of a position."""
    sources, targets = len(table.source_phrases), len(table.target_phrases)
    whole = {"source_phrase": sources, "target_phrase": targets, "pair": len(table), LENGTHS: LONGEST * LONGEST}
    if position in whole:
        return [(NO_WORDS, NO_WORDS, whole[position])]
    if position in (WORD_PAIR, BIGRAM):
        lefts = source_values if position == WORD_PAIR else target_values
        pairs = zip(lefts, target_values, strict=True)
        return [(a, b, a.size * b.size) for a, b in pairs if max(a.size, b.size) <= MOST_PAIRED]
    values = source_values if position in (*LOCAL_SOURCE, *GROUP_SOURCE) else target_values
    return [(v, NO_WORDS, v.size) for v in values]


Rows = tuple[Ints, Ints]


# What features see of a phrase in any context: its pair (-1 for a copied word), and numbers of words.
OWN = ("pair", *LOCAL_SOURCE, *LOCAL_TARGET, "source_length", "target_length")
# The same for a step, with what is before it, and where it begins in the sentence. First and last words of the group on
# top of the shift-reduce stack are word numbers, `<s>` if there is none; the last target word of the group is the
# target word before the phrase.
STEP = (*OWN, "orientation", *GROUP_SOURCE[:2], *GROUP_TARGET, "start")
# These by name, (N,) each. `between` are the source words between a phrase and the group before it; those of step n
# start at `between_offsets[n]`.
Steps = Mapping[str, Numbers]


@dataclass(frozen=True)
class SparseFeatures:
    """F sparse features over the pairs of a table, K orientations; ids are those of the families.

    Another table of the same vocabularies can take its place in a decoder: `rows` then says which source phrase, target
    phrase and pair of the features' own table each of its `PHRASES` is. Names need the own table.

    Example: with templates `source_first` and `pair` over `top80` an application has up to two ids.
    """

    families: tuple[Family, ...]
    orientations: int
    table: PhraseTable
    source: Vocabulary
    target: Vocabulary
    rows: Mapping[str, Ints] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of features F."""
        return self.families[-1].end if self.families else 0

    @property
    def sizes(self) -> Sizes:
        """The families and how many features each has."""
        return [(family.name, family.size * family.crossed) for family in self.families]

    @property
    def has_groups(self) -> bool:
        """Whether any feature considers the group before a phrase."""
        return any(family.position in GROUP for family in self.families)

    @property
    def has_bigrams(self) -> bool:
        """Whether any feature considers the target word before a phrase but not its group."""
        return any(family.position == BIGRAM for family in self.families)

    @property
    def has_orientations(self) -> bool:
        """Whether any feature depends on the orientation."""
        return any(family.crossed > 1 for family in self.families)

    @cached_property
    def kind_V(self) -> Ints32:
        """Numbers of target words, from 1; words that no feature of a later phrase tells apart share one; (V,)."""
        columns = [
            words.value_V
            for family in self.families
            if family.position in (*GROUP_TARGET, BIGRAM)
            for words in ((family.left, family.right) if family.position == BIGRAM else (family.left,))
        ]
        if not columns:
            return np.ones(len(self.target.words), np.int32)
        return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32) + 1

    def of_pairs(self, pair_N: Numbers) -> Steps:
        """What features see of pairs of the table in any context."""
        table = self.table
        sources, targets = table.source_phrases, table.target_phrases
        source_N, target_N = table.source_B[pair_N], table.target_B[pair_N]
        begin_s, end_s = sources.offsets_S1[source_N], sources.offsets_S1[source_N + 1]
        begin_t, end_t = targets.offsets_S1[target_N], targets.offsets_S1[target_N + 1]
        words = sources.ids_T[begin_s], sources.ids_T[end_s - 1], targets.ids_T[begin_t], targets.ids_T[end_t - 1]
        return dict(zip(OWN, (pair_N, *words, end_s - begin_s, end_t - begin_t), strict=True))

    def ids(self, steps: Steps) -> tuple[Ints, Ints32]:
        """The ids of each of N steps, ascending: offsets (N+1) and ids."""
        row, found, _ = self._rows_and_ids(steps)
        order = np.lexsort((found, row))
        return offsets_of(np.bincount(row, minlength=len(steps["pair"]))), found[order].astype(np.int32)

    def sums(self, sparse_F: Floats, steps: Steps) -> Floats:
        """The summed weights of each step: by orientation and, last, of plain templates; (N, K + 1)."""
        row, found, column = self._rows_and_ids(steps)
        width = self.orientations + 1
        cells = row * width + column
        sums = np.bincount(cells, sparse_F[found], minlength=len(steps["pair"]) * width)
        return np.asarray(sums, np.float64).reshape(-1, width)

    def _rows_and_ids(self, steps: Steps) -> tuple[Ints, Ints, Ints]:
        """The step, the id, and the orientation or K, of every feature, family by family."""
        rows, ids, columns = ([NO_INTS] for _ in range(3))
        for family in self.families:
            row, value = self._values(family, steps)
            plain = family.crossed == 1
            column = np.full(len(row), self.orientations) if plain else steps["orientation"][row].astype(np.int64)
            rows.append(row)
            ids.append(family.first + value * family.crossed + (0 if plain else column))
            columns.append(column)
        return np.concatenate(rows), np.concatenate(ids), np.concatenate(columns)

    def local_scores(self, sparse_F: Floats, phrases: Steps) -> tuple[Floats, Floats]:
        """The summed weights of features that see `OWN` of N phrases: by orientation, (N, K), and plain, (N,)."""
        crossed_NK = np.zeros((len(phrases["pair"]), self.orientations))
        plain_N = np.zeros(len(crossed_NK))
        for family in self.families:
            if family.position in GROUP or family.position == BIGRAM:
                continue
            weights = family.weights(sparse_F)
            # Checking for nonzero weights pays only where there are more phrases than values.
            if len(plain_N) > len(weights) and not weights.any():
                continue
            row, value = self._values(family, phrases)
            if family.crossed > 1:
                crossed_NK[row] += weights[value]
            else:
                plain_N += np.bincount(row, weights[value, 0], minlength=len(plain_N))
        return crossed_NK, plain_N

    def word_scores(self, sparse_F: Floats, position: str) -> Floats:
        """The summed weights of each of V words at a position of the group before, by orientation; shape (V, K)."""
        side = self.target if position in GROUP_TARGET else self.source
        scores_VK = np.zeros((len(side.words), self.orientations))
        for family in self.families:
            if family.position == position:
                known = family.left.value_V >= 0
                scores_VK[known] += family.weights(sparse_F)[family.left.value_V[known]]
        return scores_VK

    def bigram_scores(self, sparse_F: Floats, before_R: Numbers, first_Q: Numbers) -> Floats:
        """The summed weights of target words after others, shape (R, Q)."""
        scores_RQ = np.zeros((len(before_R), len(first_Q)))
        for family in self.families:
            if family.position == BIGRAM:
                left, right = family.left.value_V[before_R], family.right.value_V[first_Q]
                known = (left[:, None] >= 0) & (right >= 0)
                values = (left[:, None] * family.right.size + right)[known]
                scores_RQ[known] += family.weights(sparse_F)[values, 0]
        return scores_RQ

    def names(self, ids: Numbers, members: int = 0) -> Iterator[str]:
        """Features in words: `reordering:source_first:top80=das,D`, `plain:pair=das haus|the house`.

        With `members` words of a class: `plain:source_first:class20=7{haus mann hund …}`.
        """
        ends = [family.end for family in self.families]
        for feature in ids.tolist():
            family = self.families[bisect_right(ends, feature)]
            value, o = divmod(feature - family.first, family.crossed)
            text = f"{family.name}={self._label(family, value, members)}"
            yield text if family.crossed == 1 else f"{text},{ORIENTATIONS[self.orientations][o]}"

    def _label(self, family: Family, value: int, members: int) -> str:
        if family.position == LENGTHS:
            return f"{value // LONGEST + 1}-{value % LONGEST + 1}"
        if family.position in (WORD_PAIR, BIGRAM):
            left, right = divmod(value, family.right.size)
            return f"{family.left.spelled(left, members)}|{family.right.spelled(right, members)}"
        if family.position not in PHRASES:
            return family.left.spelled(value, members)
        table, texts = self.table, list[str]()
        for other, rows_B, phrases, words in (
            ("target_phrase", table.source_B, table.source_phrases, self.source),
            ("source_phrase", table.target_B, table.target_phrases, self.target),
        ):
            if family.position != other:
                row = int(rows_B[value]) if family.position == "pair" else value
                texts.append(" ".join(words.words_of(phrases[row])))
        return "|".join(texts)

    def _values(self, family: Family, steps: Steps) -> Rows:
        """The steps that have a feature of a family, and which of its values."""
        position, table, left, right = family.position, self.table, family.left.value_V, family.right.value_V
        every = np.arange(len(steps["pair"]))
        if position in PHRASES:
            row = np.flatnonzero(steps["pair"] >= 0)
            pairs = steps["pair"][row]
            side = {"source_phrase": table.source_B, "target_phrase": table.target_B}.get(position)
            values = np.asarray(pairs if side is None else side[pairs], np.int64)
            return row, self.rows[position][values] if self.rows else values
        if position == LENGTHS:
            lengths = [np.minimum(steps[name], LONGEST) - 1 for name in ("source_length", "target_length")]
            return every, lengths[0].astype(np.int64) * LONGEST + lengths[1]
        if position == WORD_PAIR:
            row, sources, targets = self._linked(steps)
            row, value = _both_known(row, left[sources], right[targets], family.right.size)
            # Each value of a step counts once.
            return np.divmod(np.unique(row * family.size + value), max(family.size, 1))
        if position == BIGRAM:
            before, first = left[steps["top_target_last"]], right[steps["target_first"]]
            return _both_known(every, before, first, family.right.size)
        row = row_numbers(steps["between_offsets"]) if position == "between" else every
        return _both_known(row, left[steps[position]], np.zeros(1, np.int32), 1)

    def _linked(self, steps: Steps) -> tuple[Ints, Ints32, Ints32]:
        """Step, source word and target word of each link inside a pair; a copied word is linked to itself."""
        table, row = self.table, np.flatnonzero(steps["pair"] >= 0)
        pairs = steps["pair"][row].astype(np.int64)
        places = places_of(table.link_offsets_B1, pairs)
        count = np.diff(table.link_offsets_B1)[pairs]
        source_begin = table.source_phrases.offsets_S1[table.source_B[pairs]]
        target_begin = table.target_phrases.offsets_S1[table.target_B[pairs]]
        sources = table.source_phrases.ids_T[np.repeat(source_begin, count) + table.link_source_K[places]]
        targets = table.target_phrases.ids_T[np.repeat(target_begin, count) + table.link_target_K[places]]
        copied = np.flatnonzero(steps["pair"] < 0)
        return (
            np.concatenate([np.repeat(row, count), copied]),
            np.concatenate([sources, steps["source_first"][copied]]),
            np.concatenate([targets, steps["target_first"][copied]]),
        )


def _both_known(row: Ints, left: Numbers, right: Numbers, size: int) -> Rows:
    """The rows in which both words have values, and the two as one value."""
    kept = (left >= 0) & (right >= 0)
    values = left.astype(np.int64) * size + right
    return row[kept], values[kept]


def check_sparse(words: Sequence[str], reordering: Sequence[str], plain: Sequence[str]) -> None:
    """Checks kinds of words and templates before there is a table.

    Raises:
        InputError: an unknown kind of words or template, or a file of classes that cannot be read.
    """
    for kind in words:
        for file in class_files(kind) or ():
            read_classes(file)
    check_templates(reordering, plain)
