"""Features of a source phrase in its sentence, and of its candidate translations (Kolachina et al. 2010, section 3.1).

A feature of the context is a value of a token near the phrase: the word itself, its class, its part of speech, its
first letters. A candidate translation has features too: the pair, the target phrase, its words. A classifier has one
weight per combination of the two (`kernels/learning/candidates.py`).

Distances say how far the translation of a source phrase is from its place, as one of a few classes. A source word
at j of m, whose translation is at i of n, both counted from 0, has the distance (section 3.1.2, Eq. 6)

    r = round(i · m / n - j)

where i · m / n is where the translation would be if the target sentence were as long as the source sentence. For a
phrase, j is its first word, and i the first word linked to it. Distances beyond `reach` are in the last class of their
side; the class after all others is INF of the paper: a word without links.

A decoder that has translated c source words before it places a phrase puts it at r = c - j.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.align.links import Links
from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.features.index import Numbers
from xlate.features.word_values import WordValues
from xlate.kernels.search.predictions import ContextPlaces, PhraseSpans, TargetArrays, context_bags, target_bags
from xlate.phrases.table import PhraseTable
from xlate.text.vocabulary import EncodedText, Vocabulary

Bags = tuple[Ints, Ints32]
TARGET_KINDS = ("pair", "phrase", "words")
# Before the first and after the last word of a sentence; they follow the values of a layer.
OUTSIDE = ("<begin>", "<end>")


@dataclass(frozen=True)
class ContextFeatures:
    """The features of source phrases in their sentences.

    Each layer is one view of tokens: each token has one of its values, or none. A factor's values are those of tokens,
    not of words.

    Ids: 0 for the feature that is always there, then every phrase of the table, then the values of each layer at each
    place. Places are the words of the phrase (its first and its last), and those up to `window` before and after it:
    each on its own with marks=distance, all on one side alike with marks=bag.
    """

    layers: tuple[WordValues, ...]
    window: int
    marks: str
    phrases: int

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Names of the places, and how far each is from its end of the phrase: 0 for the phrase's own words."""
        away = range(1, self.window + 1)
        bag = self.marks == "bag"
        left, right = [("-" if bag else f"-{d}", -d) for d in away], [("+" if bag else f"+{d}", d) for d in away]
        return (*left, ("first", 0), ("last", 0), *right)

    @cached_property
    def _starts(self) -> dict[tuple[str, str], int]:
        """The first id of each layer at each named place."""
        starts, at = {}, 1 + self.phrases
        for layer in self.layers:
            for name in dict.fromkeys(name for name, _ in self.places):
                starts[layer.name, name] = at
                at += layer.size + len(OUTSIDE)
        return starts

    def __len__(self) -> int:
        """The number of features."""
        sizes = {layer.name: layer.size + len(OUTSIDE) for layer in self.layers}
        return 1 + self.phrases + sum(sizes[layer] for layer, _ in self._starts)

    def of(self, text: EncodedText, factors: Sequence[Ints32], spans: PhraseSpans) -> Bags:
        """The features of I phrases: offsets, (I + 1,), and ids.

        Args:
            text: the sentences, by word number.
            factors: those of the T tokens, for each layer that is not of words, in the order of the layers.
            spans: the phrases.
        """
        asked = PhraseSpans._make(np.asarray(column, np.int64) for column in spans)
        return context_bags(self.values(text.ids_T, factors), text.offsets_S1, self.arrays, asked)

    def values(self, ids_T: Ints32, factors: Sequence[Ints32]) -> Ints32:
        """The values of T tokens in the L layers, (L, T), -1 for none; `factors` as for `of`."""
        given = iter(factors)
        value_LT = np.empty((len(self.layers), len(ids_T)), np.int32)
        for number, layer in enumerate(self.layers):
            value_LT[number] = layer.value_V[ids_T] if len(layer.value_V) else next(given)
        return value_LT

    @cached_property
    def arrays(self) -> ContextPlaces:
        """The places as compiled loops take them."""
        first_LP = np.array([[self._starts[layer.name, name] for name, _ in self.places] for layer in self.layers])
        return ContextPlaces(
            first_LP.reshape(len(self.layers), len(self.places)).astype(np.int64),
            np.array([distance for _, distance in self.places], np.int64),
            np.array([distance > 0 or name == "last" for name, distance in self.places]),
            np.array([layer.size for layer in self.layers], np.int64),
        )

    @staticmethod
    def phrases_of(offsets_I1: Ints, ids: AnyInts) -> Ints:
        """The source phrase of each of I instances, by its features as `of` returns them: the second is the phrase."""
        return np.asarray(ids[offsets_I1[:-1] + 1], np.int64) - 1

    def names(self, ids: Numbers, phrases: EncodedText, words: Vocabulary, members: int = 0) -> Iterator[str]:
        """The names of some features: `always`, `phrase=a house`, `all[-1]=the`, `class50[-1]=7{the this …}`.

        Args:
            ids: the features.
            phrases, words: the source phrases of the table, and their words.
            members: how many words to show after the number of a word class.
        """
        starts = sorted((at, name, place) for (name, place), at in self._starts.items())
        layers = {layer.name: layer for layer in self.layers}
        firsts = [at for at, _, _ in starts]
        for feature in ids.tolist():
            if feature == 0:
                yield "always"
            elif feature <= self.phrases:
                yield "phrase=" + " ".join(words.words_of(phrases[feature - 1]))
            else:
                at, name, place = starts[int(np.searchsorted(firsts, feature, side="right")) - 1]
                layer, value = layers[name], feature - at
                outside = value - layer.size
                yield f"{name}[{place}]={layer.spelled(value, members) if outside < 0 else OUTSIDE[outside]}"


def joined_bags(bags: Sequence[Bags]) -> Bags:
    """Joins several bags of the same C things: each thing has the ids of the first, then those of the next."""
    size_C = np.sum([np.diff(offsets) for offsets, _ in bags], axis=0)
    of_N = np.concatenate([row_numbers(offsets) for offsets, _ in bags])
    order = np.argsort(of_N, kind="stable")
    return offsets_of(size_C), np.concatenate([ids for _, ids in bags])[order].astype(np.int32)


@dataclass(frozen=True)
class TargetFeatures:
    """The features of candidate translations: ids of pairs, then of target phrases, then of target words.

    Without kinds there are none.
    """

    table: PhraseTable
    kinds: tuple[str, ...]
    words: int

    def __len__(self) -> int:
        """The number of features."""
        return len(self.table) + len(self.table.target_phrases) + self.words

    def of(self, pair_C: AnyInts) -> Bags:
        """The features of C pairs of the table: offsets, (C + 1,), and ids."""
        return target_bags(self.arrays, np.asarray(pair_C, np.int64))

    @cached_property
    def arrays(self) -> TargetArrays:
        """The target phrases as compiled loops take them."""
        phrases, b = self.table.target_phrases, len(self.table)
        firsts = zip(TARGET_KINDS, (0, b, b + len(phrases)), strict=True)
        return TargetArrays(
            np.asarray(self.table.target_B, np.int32),
            np.asarray(phrases.offsets_S1, np.int64),
            np.asarray(phrases.ids_T, np.int32),
            np.array([first if kind in self.kinds else -1 for kind, first in firsts], np.int64),
        )

    def names(self, ids: Numbers, words: Vocabulary) -> Iterator[str]:
        """The names of some features: `phrase=a house`, `word=house`; a pair is its target phrase."""
        phrases, b = self.table.target_phrases, len(self.table)

        def spelled(row: int) -> str:
            return " ".join(words.words_of(phrases[row]))

        for feature in ids.tolist():
            if feature < b:
                yield "pair=" + spelled(int(self.table.target_B[feature]))
            elif feature < b + len(phrases):
                yield "phrase=" + spelled(feature - b)
            else:
                yield "word=" + words.word(feature - b - len(phrases))


# Behind every word.
UNLINKED = np.iinfo(np.int64).max
# How many occurrences the distances of all phrases count for, in addition to those of the phrase itself.
SMOOTHING = 2.0


@dataclass(frozen=True)
class Distances:
    """The R = 2 · reach + 2 classes: -reach, …, 0, …, +reach, nowhere."""

    reach: int

    def __len__(self) -> int:
        """The number of classes R."""
        return 2 * self.reach + 2

    @property
    def nowhere(self) -> int:
        """The class of words without links."""
        return 2 * self.reach + 1

    def classes(self, distance_N: AnyInts) -> Ints:
        """The classes of distances, (N,).

        >>> Distances(2).classes(np.array([-7, -1, 0, 2, 3])).tolist()
        [0, 1, 2, 4, 4]
        """
        return np.clip(np.asarray(distance_N, np.int64), -self.reach, self.reach) + self.reach

    def names(self, classes: Numbers) -> Iterator[str]:
        """The names of classes: `-2`, `0`, `+1`, `nowhere`; the last ones on each side are `-6…`, `+6…`."""
        for number in classes.tolist():
            if number == self.nowhere:
                yield "nowhere"
            else:
                r = number - self.reach
                yield (f"{r:+d}" if r else "0") + ("…" if abs(r) == self.reach else "")

    def log_shares(self, count_PR: AnyInts) -> Floats:
        """ln p(r | source phrase), (P, R): counts of each phrase, smoothed with those of all."""
        total_R = count_PR.sum(axis=0) + 1.0
        share_R = SMOOTHING * total_R / total_R.sum()
        return np.asarray(np.log(count_PR + share_R) - np.log(count_PR.sum(axis=1, keepdims=True) + SMOOTHING))


def first_links(source: EncodedText, links: Links) -> Ints:
    """The first target word that each of T source tokens is linked to, `UNLINKED` for one without links; (T,)."""
    first_T: Ints = np.full(len(source.ids_T), UNLINKED)
    at_L = source.offsets_S1[row_numbers(links.offsets_S1)] + links.source_L
    np.minimum.at(first_T, at_L, links.target_L.astype(np.int64))
    return first_T


def distance_classes(
    distances: Distances,
    first_T: Ints,
    texts: tuple[EncodedText, EncodedText],
    sentence_I: AnyInts,
    start_I: AnyInts,
    end_I: AnyInts,
) -> Ints:
    """The class of each of I source spans of a text, (I,).

    Args:
        distances: the classes.
        first_T: see `first_links`.
        texts: source and target sentences.
        sentence_I, start_I, end_I: the half-open spans; none is empty.
    """
    source, target = texts
    begin_I = source.offsets_S1[sentence_I]
    first_I: Ints = np.full(len(start_I), UNLINKED)
    for word in range(int((end_I - start_I).max(initial=0))):
        first_I = np.minimum(first_I, first_T[np.minimum(begin_I + start_I + word, begin_I + end_I - 1)])
    linked_I = first_I < UNLINKED
    lengths = [np.diff(text.offsets_S1)[sentence_I] for text in (source, target)]
    place_I = np.where(linked_I, first_I, 0) * lengths[0] / np.maximum(lengths[1], 1)
    r_I = np.floor(place_I - start_I + 0.5).astype(np.int64)
    return np.where(linked_I, distances.classes(r_I), distances.nowhere)
