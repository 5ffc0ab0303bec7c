"""Sparse features of a phrase table from their settings, and the same features over a table of some of its pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from xlate.array_types import Ints
from xlate.errors import InputError
from xlate.features.phrase_sparse import Family, SparseFeatures, check_templates, make_families
from xlate.features.word_values import WordValues, affixes, digit_shapes, every_word, frequent_words, word_classes
from xlate.phrases.table import PhraseTable
from xlate.text.classes import read_classes
from xlate.text.vocabulary import Vocabulary

_NUMBERED = re.compile(r"(top|class|prefix|suffix)([1-9][0-9]*)")
DIGITS = "digits"
NAMED = ("all", "topN", "classN", "prefixN", "suffixN", DIGITS)
# The classes of a side (`source` or `target`), so many.
ClassesOf = Callable[[str, int], Mapping[str, str]]


class SparseSettings(Protocol):
    """Which sparse features.

    Attributes:
        words: kinds of word values: `all` (every word), `top80` (the 80 most frequent), `class50` (50 computed
            classes), `prefix4` and `suffix4` (letters of longer words), `digits` (words with digits, `@` for each), or
            two files of classes, `SOURCE,TARGET`.
        reordering, plain: templates with and without orientation; see `phrase_templates`.
        class_seed: of the computed classes.
    """

    words: list[str]
    reordering: list[str]
    plain: list[str]
    class_seed: int


@dataclass(frozen=True)
class Side:
    """The words of one language.

    Attributes:
        name: `source` or `target`.
        vocabulary: the words.
        count_V: how often each occurs.
        factors: the value that a factor of the text, such as `pos`, has for words, made when it is asked for.
    """

    name: str
    vocabulary: Vocabulary
    count_V: Ints
    factors: Mapping[str, Callable[[], Mapping[str, str]]] = field(default_factory=dict)


def make_sparse_features(
    settings: SparseSettings,
    table: PhraseTable,
    source: Side,
    target: Side,
    orientations: int,
    classes_of: ClassesOf,
) -> SparseFeatures:
    """The features of some settings.

    Raises:
        InputError: a kind of words or a template there is none of, or a file of classes that cannot be read.
    """
    sides = [[word_values(kind, side, classes_of) for kind in settings.words] for side in (source, target)]
    families = make_families(settings.reordering, settings.plain, sides[0], sides[1], table, orientations)
    return SparseFeatures(families, orientations, table, source.vocabulary, target.vocabulary)


def check_sparse(settings: SparseSettings) -> None:
    """Checks kinds of words and templates before there is a table.

    Raises:
        InputError: as `make_sparse_features`.
    """
    for kind in settings.words:
        for file in _class_files(kind) or ():
            read_classes(file)
    check_templates(settings.reordering, settings.plain)


def word_values(kind: str, side: Side, classes_of: ClassesOf) -> WordValues:
    """What the words of a side are looked at as.

    Raises:
        InputError: there is no such kind, or a file of classes cannot be read.
    """
    words = side.vocabulary.words
    if kind in side.factors:
        return word_classes(kind, words, side.factors[kind]())
    files = _class_files(kind, side.factors)
    if files is not None:
        return word_classes("given", words, read_classes(files[0 if side.name == "source" else 1]))
    if kind == "all":
        return every_word(words)
    if kind == DIGITS:
        return digit_shapes(words)
    numbered = _NUMBERED.fullmatch(kind)
    assert numbered is not None
    if numbered[1] in ("prefix", "suffix"):
        return affixes(words, numbered[1], int(numbered[2]))
    if numbered[1] == "top":
        return frequent_words(words, side.count_V, int(numbered[2]))
    return word_classes(kind, words, classes_of(side.name, int(numbered[2])))


def _class_files(kind: str, factors: Iterable[str] = ()) -> list[str] | None:
    """The two files that a kind of words names, None for one that is made from the text."""
    if kind in ("all", DIGITS) or _NUMBERED.fullmatch(kind):
        return None
    files = kind.split(",")
    if len(files) != 2:
        raise InputError(
            "a kind of words there is none of",
            seen=kind,
            expected=", ".join([*NAMED, *factors, "or two files SOURCE,TARGET"]),
        )
    return files


def features_of_subset(
    sparse: SparseFeatures, table: PhraseTable, source_P: Ints, target_Q: Ints, pair_B: Ints
) -> tuple[SparseFeatures, Ints]:
    """The same features over a table of some of the pairs, and the id that each of its ids has in `sparse`.

    Args:
        sparse: the features over the whole table.
        table: the smaller table, over the same vocabularies.
        source_P, target_Q, pair_B: the rows of its source phrases, target phrases and pairs in the whole table.
    """
    rows = {"source_phrase": source_P, "target_phrase": target_Q, "pair": pair_B}
    families: list[Family] = []
    whole_ids: list[Ints] = [np.zeros(0, dtype=np.int64)]
    for family in sparse.families:
        rows_W = rows.get(family.position)
        values_W = np.arange(family.size) if rows_W is None else np.asarray(rows_W, dtype=np.int64)
        families.append(replace(family, first=families[-1].end if families else 0, size=len(values_W)))
        ids_WK = family.first + values_W[:, None] * family.crossed + np.arange(family.crossed)
        whole_ids.append(ids_WK.reshape(-1))
    return replace(sparse, families=tuple(families), table=table), np.concatenate(whole_ids)
