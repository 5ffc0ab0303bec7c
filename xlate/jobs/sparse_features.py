"""The sparse features to which a run gave weights: what their names mean, tables of them, and which fired."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from math import floor, log10
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.features.index import families_at
from xlate.features.phrase_sparse import ORIENTATIONS
from xlate.jobs.translate import Translation
from xlate.kernels.pairs import LEFT
from xlate.models.derivation import Step
from xlate.models.system import AnyDerivation, AnySystem
from xlate.scoring.weights import Weights, WeightsFile

if TYPE_CHECKING:
    from xlate.report.pictures import Block


class Learned(NamedTuple):
    """A sparse feature with a nonzero weight: its id in the weight set, family, name and weight."""

    set_name: str
    feature: int
    family: str
    name: str
    weight: float


def learned_features(weights: WeightsFile) -> list[Learned]:
    """The sparse features with nonzero weights in all sets."""
    return [Learned(name, *feature) for name in weights.features for feature in weights.learned(name)]


def of_families(features: Sequence[Learned], asked: str | None, known: Sequence[str]) -> list[Learned]:
    """The features of the requested families; all features if `asked` is None.

    A family is named by its full name, such as `reordering:source_first:top80`, or by consecutive parts of it, such as
    `reordering`, `source_first` or `source_first:top80`.

    Raises:
        InputError: the run has no such family; `known` are all its families.
    """
    if asked is None:
        return list(features)
    named = {family for family in known if f":{asked}:" in f":{family}:"}
    if not named:
        parts = list(dict.fromkeys(part for family in known for part in family.split(":")))
        near = difflib.get_close_matches(asked, [*parts, *known], n=1)
        raise InputError(
            "the run has no such family of sparse features",
            f"family={asked}",
            ", ".join(parts) if parts else "no family: the run has no sparse features",
            f"did you mean family={near[0]}?" if near else None,
        )
    return [feature for feature in features if feature.family in named]


def families_of(weights: WeightsFile) -> list[str]:
    """The families of sparse features of all sets, each once, including those without any weight."""
    return list(dict.fromkeys(family for stored in weights.features.values() for family, _ in stored.sizes))


def by_family(features: Sequence[Learned]) -> dict[str, Floats]:
    """The weights of each family; families with the largest sum of absolute weights come first."""
    weights: dict[str, list[float]] = {}
    for feature in features:
        weights.setdefault(feature.family, []).append(feature.weight)
    arrays = [(family, np.array(values)) for family, values in weights.items()]
    return dict(sorted(arrays, key=lambda pair: -float(np.abs(pair[1]).sum())))


# The meaning of each part of a family's name; parts are written without the numbers at their end.
PARTS = {
    "reordering": "together with the orientation of the phrase: M continues forward, S swaps, D jumps (DL forward, "
    "DR back), MG continues after all translated words",
    "plain": "of the phrase, regardless of its orientation",
    "source_first": "the first source word of the phrase",
    "source_last": "the last source word of the phrase",
    "target_first": "the first target word of the phrase",
    "target_last": "the last target word of the phrase",
    "top_source_first": "the first source word of the preceding group of phrases",
    "top_source_last": "the last source word of the preceding group of phrases",
    "top_target_first": "the first target word of the preceding group of phrases",
    "top_target_last": "the target word before the phrase",
    "between": "a source word between the phrase and the preceding group of phrases",
    "source_phrase": "the whole source phrase",
    "target_phrase": "the whole target phrase",
    "pair": "source and target phrase",
    "lengths": "the number of source words, and of target words",
    "word_pair": "a source word and a target word that are aligned",
    "pair_bigram": "two such pairs that follow each other in the target",
    "insertion": "an unaligned target word, with each source word of the sentence",
    "target_bigram": "two target words in a row",
    "parent_child": "an aligned source word of a rule, and one of a rule that fills one of its gaps",
    "all": "a single word",
    "top": "a word among the most frequent ones",
    "class": "the class of a word: its number, and in braces the most frequent words of the class",
    "given": "the class of a word in a file of classes, and in braces the first words of the class",
    "prefix": "the first letters of a word",
    "suffix": "the last letters of a word",
    "digits": "a word with digits, each replaced by @",
    "BB": "a block and the preceding one",
    "TP": "the target phrases of a block and of the preceding one",
    "WB": "the last target word of the preceding block, and the first of the block",
}
# The same for names of one part, which are those of given lists.
ALONE = {
    "ngram": "words of the translation in a row; <s> and </s> are its ends",
    "pair": "a source word and a target word",
    "length": "how many words more than the source, or than the first of the list if the source is unknown",
}


def legend(names: Iterable[str]) -> list[tuple[str, str]]:
    """The parts in the names of some features and their meanings, in the order of `PARTS` and `ALONE`.

    Example: `word_pair:all,class50(haus,17)` has `word_pair`, `all` and `class`.
    """
    # Family names of blocks end at the colon, others where the first value begins.
    heads = {name.partition(":")[0] if name[:2].isupper() else re.split(r"[=(]", name)[0] for name in names}
    found = {part.rstrip("0123456789") for head in heads - ALONE.keys() for part in re.split(r"[:,]", head)}
    explained = [(part, words) for part, words in PARTS.items() if part in found]
    return explained + [(part, words) for part, words in ALONE.items() if part in heads]


# The meanings of float features, those of single orientations aside.
FLOATS = """
Distortion0 minus the source words jumped over
LM0 ln p of the translation under the language model
WordPenalty0 minus the number of target words
PhrasePenalty0 the number of phrases
TranslationModel0_0 ln p(source phrase | target phrase)
TranslationModel0_1 ln p(source words | target words)
TranslationModel0_2 ln p(target phrase | source phrase)
TranslationModel0_3 ln p(target words | source words)
UnknownWordPenalty0 -100 for each word that is copied
SparseReordering0_0 the sparse features of orientations: continues forward
SparseReordering0_1 the sparse features of orientations: swaps
SparseReordering0_2 the sparse features of orientations: jumps (of five: jumps forward)
SparseReordering0_3 the sparse features of orientations: jumps back
SparseReordering0_4 the sparse features of orientations: continues after all translated words
SparsePhrase0 the sparse features of phrases
SparseStructure0 the sparse features of the derivation
Context0 ln p of the phrases in their contexts
Displacement0 ln p of the distances of phrases in their contexts
RulePenalty0 the number of rules
Glue0 the number of spans joined without a rule
Insertion0 minus the target words that no source word of the rule explains
Deletion0 minus the source words that no target word of the rule explains
Backtrack0_0 minus how often rules go back in the source
Backtrack0_1 minus the source words that rules go back
unigram -ln p(block)
orientation -ln p(orientation of the block)
lm_first language model cost of the first target word of each block
lm_rest language model cost of the other target words
lexical -ln p(source words | target words)
direct -ln N(block) / N(target phrase)
model1 -ln p(source words | target words) by IBM Model 1
inbound -ln p(jump | source word landed on)
outbound -ln p(jump | source word left)
length minus the number of target words
forward -ln p(target phrase | source phrase)
forward_lexical -ln p(target words | source words)
block_count the number of blocks
"""
TURNS = {
    "M": "continues forward", "S": "swaps", "D": "jumps", "DL": "jumps forward", "DR": "jumps back",
    "MG": "continues after all translated words",
}  # fmt: skip
MEANINGS = dict(line.split(" ", 1) for line in FLOATS.strip().splitlines()) | {
    f"{name}_{place}": f"ln p of the orientation to the {side} phrase: {TURNS[turn]}"
    for name, count in (("LexicalReordering0", 3), ("FiveWayReordering0", 5))
    for place, (side, turn) in enumerate(product(("previous", "next"), ORIENTATIONS[count]))
}


def meaning(name: str) -> str:
    """A feature of a translation in words, empty if none are known: its place, values and orientation.

    Example:
        >>> meaning("reordering:source_first:class20=7{haus mann …},D")
        'the first source word of the phrase: {haus mann …}; jumps'
    """
    head = re.split(r"[=(]", name)[0]
    kind, place = (*head.split(":"), "")[:2]
    words = MEANINGS.get(name) or PARTS.get(place if kind in ("reordering", "plain") else kind, "")
    if name == head or kind.isupper() or not words:
        return words
    # A class is shown by its words alone.
    values = re.sub(r"\d+(?=\{)", "", name[len(head) + 1 :])
    values = values.removesuffix(")") if name[len(head)] == "(" else values
    if kind == "reordering":
        values, _, turn = values.rpartition(",")
        return f"{words}: {values}; {TURNS.get(turn, turn)}"
    return f"{words}: {values.replace('|', ' → ') if place == 'pair' else values}"


# The most families in a table; a phrase model may have a hundred.
MOST_FAMILIES = 20
# The columns with words; all others hold numbers.
WORDS = ("system", "float", "family", "feature", "phrase", "", "translation", "distance", "features that made it")


def decimals(weights: Iterable[float]) -> int:
    """The number of decimals that shows three significant digits of the largest weight, at least three.

    Example:
        >>> decimals([0.25, -1.5]), decimals([0.0004, -0.00123]), decimals([])
        (3, 5, 3)
    """
    largest = max(map(abs, weights), default=0.0)
    return 3 if largest == 0.0 else max(3, 2 - floor(log10(largest)))


def new_table(title: str, *columns: str) -> Table:
    """An empty table with a title on the left; long words are wrapped."""
    table = Table(title=escape(title), title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in WORDS else "right", overflow="fold")
    return table


def print_table(table: Table, console: Console) -> None:
    """Prints an empty line and a table, with its title on one line however narrow the table is."""
    title, table.title = table.title, None
    console.print()
    console.print(title)
    console.print(table)


def float_table(sets: Mapping[str, Weights], of_costs: bool) -> Table:
    """The float weights of all sets side by side."""
    kind = " of costs, usually below 0" if of_costs else ""
    table = new_table(f"float weights{kind}", "float", *sets)
    for row, name in enumerate(next(iter(sets.values())).dense_names):
        table.add_row(escape(name), *(f"{w.dense_D[row]:.4f}" for w in sets.values()))
    return table


def family_table(families: Mapping[str, Floats]) -> Table:
    """The families of sparse features, one per line; `families` is what `by_family` gives."""
    shown, all_A = list(families.items()), np.concatenate(list(families.values()))
    title = f"{len(all_A):,} weights of sparse features in {len(shown)} families; family=NAME shows one of them"
    table = new_table(title, "family", "weights", "above 0", "sum of |weight|", "largest")
    places = decimals(all_A)
    if rest := shown[MOST_FAMILIES:]:
        shown[MOST_FAMILIES:] = [(f"{len(rest)} more", np.concatenate([weights_A for _, weights_A in rest]))]
    for name, weights_A in shown:
        size_A = np.abs(weights_A)
        counts = f"{len(weights_A):,}", f"{(weights_A > 0).sum():,}"
        table.add_row(escape(name), *counts, f"{size_A.sum():.2f}", f"{size_A.max():.{places}f}")
    return table


def strongest(features: Sequence[Learned], top: int) -> list[Learned]:
    """The `top` largest weights above 0, then the `top` smallest below."""
    ordered = sorted(features, key=lambda feature: feature.weight)
    high = [feature for feature in ordered[::-1][:top] if feature.weight > 0]
    return high + [feature for feature in ordered[:top] if feature.weight < 0]


def strongest_table(title: str, features: Sequence[Learned], names: Sequence[str]) -> Table:
    """The result of `strongest` under the given names, with a line between features for and against."""
    table = new_table(title, "weight", "feature")
    places = decimals(feature.weight for feature in features)
    for place, (feature, name) in enumerate(zip(features, names, strict=True)):
        following = features[place + 1].weight if place + 1 < len(features) else 0.0
        table.add_row(f"{feature.weight:+.{places}f}", escape(name), end_section=feature.weight > 0 > following)
    return table


def print_legend(names: Sequence[str], console: Console) -> None:
    """Prints the meaning of each part of the names, one per line; nothing if none is known."""
    grid = Table.grid(padding=(0, 2))
    for part, words in legend(names):
        grid.add_row(f"  {part}", words)
    if grid.row_count:
        console.print(grid)


# The number of words shown after the number of a class.
MEMBERS = 4


class Fired(NamedTuple):
    """A feature that fired in a step: its family, its name, its weight, and how often it fired."""

    family: str
    name: str
    weight: float
    times: int

    @property
    def score(self) -> float:
        """Its contribution to the score."""
        return self.weight * self.times

    def text(self, places: int) -> str:
        """Its weight, and how often it fired if more than once."""
        return f"{self.weight:+.{places}f}" + (f" ×{self.times}" if self.times > 1 else "")


# The features with a weight that fired in a step, strongest first, and the number of those without one.
StepFeatures = tuple[list[Fired], int]


class FiredFeatures:
    """Finds the features of a system that fire; computes once what is the same for all sentences."""

    def __init__(self, system: AnySystem) -> None:
        self.system = system
        self.index = system.features
        self._weights_F = system.weights.sparse_F
        self._sizes = [] if self.index is None else self.index.sizes

    def of(self, derivation: AnyDerivation) -> list[StepFeatures]:
        """The features of each step of a derivation; empty for all steps if the system has none."""
        offsets_N1, ids_A = self.system.step_features(derivation)
        found = []
        for start, end in pairwise(offsets_N1.tolist()):
            counted = Counter(ids_A[start:end].tolist())
            kept = [feature for feature in counted if self._weights_F[feature]]
            names = [] if self.index is None else self.index.names(np.array(kept, np.int64), MEMBERS)
            families = families_at(self._sizes, np.array(kept, np.int64))
            fired = [*map(Fired, families, names, self._weights_F[kept].tolist(), map(counted.__getitem__, kept))]
            fired.sort(key=lambda one: -abs(one.score))
            found.append((fired, len(counted) - len(kept)))
        return found


# The number of features shown after the trace of a translation.
SHOWN = 5


def full_explanation(translation: Translation, top: int = SHOWN) -> str:
    """The trace of a translation, followed by the strongest sparse features that fired, if any."""
    system, derivation = translation.system, translation.derivations[0]
    trace = system.explain(translation.source, derivation)
    fired = FiredFeatures(system).of(derivation)
    held = [
        (phrase_text(translation.source, step), one)
        for step, (weighted, _) in zip(derivation.steps, fired, strict=True)
        for one in weighted
    ]
    if not held:
        return trace
    shown = sorted(held, key=lambda pair: -abs(pair[1].score))[:top]
    places = decimals(one.weight for _, one in held)
    rows = [(one.text(places), f"{one.name}  in {phrase}") for phrase, one in shown]
    wide = max(len(weight) for weight, _ in rows)
    more = "; the strongest:" if len(held) > len(shown) else ":"
    lines = [f"  {weight:<{wide}}  {words}" for weight, words in rows]
    return "\n".join([trace, fired_title(fired, places) + more, *lines])


def fired_title(fired: Sequence[StepFeatures], places: int) -> str:
    """The number of features that fired in a derivation's steps, and the sum of those with a weight."""
    total = sum(feature.score for weighted, _ in fired for feature in weighted)
    count = sum(len(weighted) for weighted, _ in fired)
    silent = sum(without for _, without in fired)
    return f"sparse features that fired: {count:,} with a weight, {total:+.{places}f} in total; {silent:,} without"


def phrase_text(source: Sequence[str], step: Step) -> str:
    """The source and the target words of a step."""
    if step.is_end:
        return "end of sentence"
    return f"{source_text(source, step)} → {' '.join(step.target_words)}"


def source_text(source: Sequence[str], step: Step) -> str:
    """The source words of a step, with … for gaps."""
    return " … ".join(" ".join(source[a:b]) for a, b in step.source_spans)


def most_reordered(translations: Iterable[Translation]) -> list[tuple[Translation, list[Block]]]:
    """Translations, those with most swapped phrases first, and the blocks of each: its phrases in target order."""
    found = []
    for translation in translations:
        best = translation.derivations[0]
        rows = zip(best.blocks, best.target_spans, translation.system.orientations(best), strict=True)
        # A dropped word has no place among the target words.
        blocks = [(*step.source_span, *target, side) for step, target, side in rows if step.target_words]
        found.append((translation, blocks))
    return sorted(found, key=lambda row: (-sum(block[4] == LEFT for block in row[1]), -len(row[0].source)))
