"""The sparse features that a run gave a weight, what the parts of their names mean, and tables of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from math import floor, log10
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlate.errors import InputError
from xlate.scoring.weights import Weights, WeightsFile


class Learned(NamedTuple):
    """A sparse feature of a weight set: its id there, family, name and weight, which is not 0."""

    set_name: str
    feature: int
    family: str
    name: str
    weight: float


def learned_features(weights: WeightsFile) -> list[Learned]:
    """The sparse features of all sets whose weight is not 0."""
    found: list[Learned] = []
    for name, stored in weights.features.items():
        values_A = weights.sets[name].sparse_F[stored.ids_A]
        ids = stored.ids_A[values_A != 0].tolist()
        found += [Learned(name, i, *feature) for i, feature in zip(ids, weights.learned(name), strict=True)]
    return found


def of_families(features: Sequence[Learned], asked: str | None, known: Sequence[str]) -> list[Learned]:
    """The features of the families that are asked for, all without a question.

    A family is named by its whole name, such as `reordering:source_first:top80`, or by some of its parts in a row, such
    as `reordering`, `source_first` or `source_first:top80`.

    Raises:
        InputError: no family of the run is so named; `known` are all it has.
    """
    if asked is None:
        return list(features)
    named = {family for family in known if f":{asked}:" in f":{family}:"}
    if not named:
        parts = list(dict.fromkeys(part for family in known for part in family.split(":")))
        near = difflib.get_close_matches(asked, [*parts, *known], n=1)
        raise InputError(
            "the run has no such family of sparse features",
            seen=f"family={asked}",
            expected=", ".join(parts) if parts else "no family: the run has no sparse features",
            remedy=f"did you mean family={near[0]}?" if near else None,
        )
    return [feature for feature in features if feature.family in named]


def families_of(weights: WeightsFile) -> list[str]:
    """The families of sparse features of all sets, those without any weight too, each once."""
    return list(dict.fromkeys(family for stored in weights.features.values() for family, _ in stored.sizes))


class FamilySummary(NamedTuple):
    """How the weights of a family are spread."""

    family: str
    weights: int
    above_0: int
    mass: float
    largest: float


def summaries(features: Sequence[Learned]) -> list[FamilySummary]:
    """Of each family, those with the largest sum of absolute weights first."""
    weights: dict[str, list[float]] = {}
    for feature in features:
        weights.setdefault(feature.family, []).append(feature.weight)
    rows = []
    for family, values in weights.items():
        values_A = np.array(values)
        size_A = np.abs(values_A)
        rows.append(
            FamilySummary(family, len(values), int((values_A > 0).sum()), float(size_A.sum()), float(size_A.max()))
        )
    return sorted(rows, key=lambda row: -row.mass)


# Behind the name of each part of a family's name, what it says; numbers at the end of a part are left out.
PARTS = {
    "reordering": "together with the orientation of the phrase: M goes on, S swaps, D jumps (DL on, DR back), MG goes "
    "on behind everything",
    "plain": "of the phrase, whatever its orientation",
    "source_first": "the first source word of the phrase",
    "source_last": "the last source word of the phrase",
    "target_first": "the first target word of the phrase",
    "target_last": "the last target word of the phrase",
    "top_source_first": "the first source word of the group of phrases before",
    "top_source_last": "the last source word of the group of phrases before",
    "top_target_first": "the first target word of the group of phrases before",
    "top_target_last": "the target word before the phrase",
    "between": "a source word between the phrase and the group of phrases before",
    "source_phrase": "the whole source phrase",
    "target_phrase": "the whole target phrase",
    "pair": "source and target phrase",
    "lengths": "how many source words, and how many target words",
    "word_pair": "a source word and a target word that are aligned",
    "pair_bigram": "two such pairs that follow each other in the target",
    "insertion": "a target word that is aligned to none, with each source word of the sentence",
    "target_bigram": "two target words in a row",
    "parent_child": "an aligned source word of a rule, and one of a rule in a gap of it",
    "all": "a word by itself",
    "top": "a word among the most frequent ones",
    "class": "the class of a word: its number, and in braces the most frequent words of the class",
    "given": "the class of a word in a file of classes, and in braces the first words of the class",
    "prefix": "the first letters of a word",
    "suffix": "the last letters of a word",
    "digits": "a word with digits, @ for each of them",
    "BB": "a block and the one before",
    "TP": "the target phrases of a block and of the one before",
    "WB": "the last target word of the block before, and the first of the block",
}
# The same of names that have one part, which are those of given lists.
ALONE = {
    "ngram": "words of the translation in a row; <s> and </s> are its ends",
    "pair": "a source word and a target word",
    "length": "how many words more than the source, or than the first of the list where no source was known",
}


def legend(names: Iterable[str]) -> list[tuple[str, str]]:
    """The parts that stand in the names of some features, with what they mean, in the order of `PARTS` and `ALONE`.

    Example: `word_pair:all,class50(haus,17)` has `word_pair`, `all` and `class`.
    """
    found, alone = set[str](), set[str]()
    for name in names:
        # A family of blocks ends at the colon, others where the first value begins.
        head = name.partition(":")[0] if name[:2].isupper() else re.split(r"[=(]", name, maxsplit=1)[0]
        if head in ALONE:
            alone.add(head)
            continue
        found.update(part.rstrip("0123456789") for part in re.split(r"[:,]", head))
    explained = [(part, words) for part, words in PARTS.items() if part in found]
    return explained + [(part, words) for part, words in ALONE.items() if part in alone]


# A table of families names so many; a model of phrases may have a hundred.
MOST_FAMILIES = 20
# The columns of words; all others are of numbers.
WORDS = ("float", "family", "feature", "phrase", "")


def decimals(weights: Iterable[float]) -> int:
    """So many that the largest of some weights shows three digits that tell it from others, three at least.

    Example:
        >>> decimals([0.25, -1.5]), decimals([0.0004, -0.00123]), decimals([])
        (3, 5, 3)
    """
    largest = max(map(abs, weights), default=0.0)
    return 3 if largest == 0.0 else max(3, 2 - floor(log10(largest)))


def new_table(title: str, *columns: str) -> Table:
    """An empty table with a title on the left; words that are too long go on in the next line."""
    table = Table(title=escape(title), title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in WORDS else "right", overflow="fold")
    return table


def print_table(table: Table, console: Console) -> None:
    """Prints a table behind an empty line, its title on one line, however narrow the table is."""
    title, table.title = table.title, None
    console.print()
    console.print(title)
    console.print(table)


def float_table(sets: Mapping[str, Weights], of_costs: bool) -> Table:
    """The float weights of all sets side by side."""
    kind = " of costs: below 0 is the rule" if of_costs else ""
    table = new_table(f"float weights{kind}", "float", *sets)
    for row, name in enumerate(next(iter(sets.values())).dense_names):
        table.add_row(escape(name), *(f"{w.dense_D[row]:.4f}" for w in sets.values()))
    return table


def family_table(rows: Sequence[FamilySummary]) -> Table:
    """The families of sparse features, one a line."""
    count = sum(row.weights for row in rows)
    title = f"{count:,} weights of sparse features in {len(rows)} families; family=NAME shows one of them"
    table = new_table(title, "family", "weights", "above 0", "sum of |weight|", "largest")
    places = decimals(row.largest for row in rows)
    shown, rest = [(row.family, row) for row in rows[:MOST_FAMILIES]], rows[MOST_FAMILIES:]
    if rest:
        counts, above, masses, most = zip(*(row[1:] for row in rest))
        shown.append((f"{len(rest)} more", FamilySummary("", sum(counts), sum(above), sum(masses), max(most))))
    for name, row in shown:
        largest = f"{row.largest:.{places}f}"
        table.add_row(escape(name), f"{row.weights:,}", f"{row.above_0:,}", f"{row.mass:.2f}", largest)
    return table


def strongest(features: Sequence[Learned], top: int) -> list[Learned]:
    """The `top` largest weights above 0, then the `top` smallest below."""
    ordered = sorted(features, key=lambda feature: feature.weight)
    high = [feature for feature in ordered[::-1][:top] if feature.weight > 0]
    return [*high, *(feature for feature in ordered[:top] if feature.weight < 0)]


def strongest_table(title: str, features: Sequence[Learned], names: Sequence[str]) -> Table:
    """What `strongest` found under the names that are given, with a line between what speaks for and against."""
    table = new_table(title, "weight", "feature")
    places = decimals(feature.weight for feature in features)
    for place, (feature, name) in enumerate(zip(features, names, strict=True)):
        following = features[place + 1].weight if place + 1 < len(features) else 0.0
        table.add_row(f"{feature.weight:+.{places}f}", escape(name), end_section=feature.weight > 0 > following)
    return table


def print_legend(names: Sequence[str], console: Console) -> None:
    """Prints what the parts of the names mean, a line each; nothing where nothing is known of them."""
    grid = Table.grid(padding=(0, 2))
    for part, words in legend(names):
        grid.add_row(f"  {part}", words)
    if grid.row_count:
        console.print(grid)
