"""Features of a source phrase in its sentence, and of what may translate it (Kolachina et al. 2010, section 3.1).

A feature of the context is a value of a token near the phrase: the word itself, its class, its part of speech, its
first letters. What may translate the phrase has features of its own: the pair, the target phrase, its words. A
classifier has a weight for every pair of one of each (`kernels/learning/crossing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Bools, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.errors import InputError
from xlate.features.index import Numbers
from xlate.features.word_values import WordValues
from xlate.kernels.features.contexts import ContextPlaces, PhraseSpans, TargetArrays, context_bags, target_bags
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary

Bags = tuple[Ints, Ints32]
TARGET_KINDS = ("pair", "phrase", "words")
MARKS = ("distance", "bag")
# Before the first and behind the last word of a sentence; they follow the values of a layer.
OUTSIDE = ("<begin>", "<end>")


@dataclass(frozen=True)
class Layer:
    """What tokens are looked at as: one of the values of each token, or none.

    Attributes:
        name: such as `all`, `class50` or the name of a factor.
        labels: what each value is called.
        words: the values of words; None where tokens have values of their own, as factors have.
    """

    name: str
    labels: tuple[str, ...]
    words: WordValues | None = None

    @classmethod
    def of_words(cls, kind: str, words: WordValues) -> Layer:
        """Words looked at as one kind of value."""
        return cls(kind, words.labels, words)

    @property
    def size(self) -> int:
        """How many values there are, with the two outside of a sentence."""
        return len(self.labels) + len(OUTSIDE)

    def label(self, value: int, members: int = 0) -> str:
        """What a value is called, a word class with so many of its words."""
        if self.words is not None and value < len(self.labels):
            return self.words.spelled(value, members)
        return (*self.labels, *OUTSIDE)[value]


@dataclass(frozen=True)
class Spans:
    """I source phrases in their sentences: half-open spans, and the row of each phrase in the table."""

    sentence_I: AnyInts
    start_I: AnyInts
    end_I: AnyInts
    phrase_I: AnyInts

    def __len__(self) -> int:
        """The number of phrases I."""
        return len(self.start_I)

    def select(self, kept_I: Bools) -> Spans:
        """Some of them."""
        return Spans(*(column[kept_I] for column in self.columns))

    @property
    def columns(self) -> tuple[AnyInts, ...]:
        """The sentences, starts, ends and phrases."""
        return self.sentence_I, self.start_I, self.end_I, self.phrase_I


@dataclass(frozen=True)
class ContextFeatures:
    """The features of source phrases in their sentences.

    Ids: 0 for what is always there, then every phrase of the table, then the values of each layer at each place. Places
    are the words of the phrase (its first and its last), and those up to `window` before and behind it: each by itself
    with marks=distance, all on one side alike with marks=bag.

    Raises:
        InputError: an unknown kind of marks.
    """

    layers: tuple[Layer, ...]
    window: int
    marks: str
    phrases: int

    def __post_init__(self) -> None:
        """Checks the marks."""
        if self.marks not in MARKS:
            raise InputError("unknown value of model.marks", seen=self.marks, expected=", ".join(MARKS))

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Names of the places, and how far each is from its end of the phrase: 0 for the phrase's own words."""
        away = range(1, self.window + 1)
        left, right = (
            [("-" if self._bag else f"-{d}", -d) for d in away],
            [("+" if self._bag else f"+{d}", d) for d in away],
        )
        return (*left, ("first", 0), ("last", 0), *right)

    @property
    def _bag(self) -> bool:
        return self.marks == "bag"

    @cached_property
    def _starts(self) -> dict[tuple[str, str], int]:
        """The first id of each layer at each named place."""
        starts, at = {}, 1 + self.phrases
        for layer in self.layers:
            for name in dict.fromkeys(name for name, _ in self.places):
                starts[layer.name, name] = at
                at += layer.size
        return starts

    def __len__(self) -> int:
        """The number of features."""
        sizes = {layer.name: layer.size for layer in self.layers}
        return 1 + self.phrases + sum(sizes[layer] for layer, _ in self._starts)

    def of(self, text: EncodedText, factors: Sequence[Ints32], spans: Spans) -> Bags:
        """The features of I phrases: offsets, (I + 1,), and ids.

        Args:
            text: the sentences, by word number.
            factors: for each layer without values of words those of the T tokens, in the order of the layers.
            spans: the phrases.
        """
        asked = PhraseSpans(*(np.asarray(column, np.int64) for column in spans.columns))
        return context_bags(self.values(text.ids_T, factors), text.offsets_S1, self.arrays, asked)

    def values(self, ids_T: Ints32, factors: Sequence[Ints32]) -> Ints32:
        """The values of T tokens in the L layers, (L, T), -1 for none; `factors` as for `of`."""
        given = iter(factors)
        value_LT = np.empty((len(self.layers), len(ids_T)), np.int32)
        for number, layer in enumerate(self.layers):
            value_LT[number] = next(given) if layer.words is None else layer.words.value_V[ids_T]
        return value_LT

    @cached_property
    def arrays(self) -> ContextPlaces:
        """The places as compiled loops take them."""
        first_LP = np.array([[self._starts[layer.name, name] for name, _ in self.places] for layer in self.layers])
        return ContextPlaces(
            first_LP.reshape(len(self.layers), len(self.places)).astype(np.int64),
            np.array([distance for _, distance in self.places], np.int64),
            np.array([distance > 0 or name == "last" for name, distance in self.places]),
            np.array([len(layer.labels) for layer in self.layers], np.int64),
        )

    @staticmethod
    def phrases_of(offsets_I1: Ints, ids: AnyInts) -> Ints:
        """The source phrase of each of I instances, by its features as `of` gives them: the second is the phrase."""
        return np.asarray(ids[offsets_I1[:-1] + 1], dtype=np.int64) - 1

    def names(self, ids: Numbers, phrases: EncodedText, words: Vocabulary, members: int = 0) -> Iterator[str]:
        """The names of some features: `always`, `phrase=a house`, `all[-1]=the`, `class50[-1]=7{the this …}`.

        Args:
            ids: the features.
            phrases, words: the source phrases of the table, and their words.
            members: so many words stand behind the number of a word class.
        """
        starts = sorted((at, layer, place) for (layer, place), at in self._starts.items())
        layers = {layer.name: layer for layer in self.layers}
        firsts = [at for at, _, _ in starts]
        for feature in ids.tolist():
            if feature == 0:
                yield "always"
            elif feature <= self.phrases:
                yield "phrase=" + " ".join(words.word(w) for w in phrases[feature - 1].tolist())
            else:
                at, layer, place = starts[int(np.searchsorted(firsts, feature, side="right")) - 1]
                yield f"{layer}[{place}]={layers[layer].label(feature - at, members)}"


def joined_bags(bags: Sequence[Bags]) -> Bags:
    """What several say of the same C things, as one: of each thing the ids of the first, then those of the next."""
    size_C = np.sum([np.diff(offsets) for offsets, _ in bags], axis=0)
    of_N = np.concatenate([row_numbers(offsets) for offsets, _ in bags])
    order = np.argsort(of_N, kind="stable")
    return offsets_of(size_C), np.concatenate([ids for _, ids in bags])[order].astype(np.int32)


def check_target(kinds: Sequence[str]) -> None:
    """Looks whether there are features of translations of these kinds.

    Raises:
        InputError: an unknown kind, or none at all.
    """
    strange = [kind for kind in kinds if kind not in TARGET_KINDS]
    if strange or not kinds:
        seen = f"model.target=[{','.join(kinds)}]"
        raise InputError("unknown value of model.target", seen=seen, expected=", ".join(TARGET_KINDS))


@dataclass(frozen=True)
class TargetFeatures:
    """The features of what may translate a phrase: ids of pairs, then of target phrases, then of target words.

    Without kinds there are none to ask for.

    Raises:
        InputError: an unknown kind.
    """

    table: PhraseTable
    kinds: tuple[str, ...]
    words: int

    def __post_init__(self) -> None:
        """Checks the kinds."""
        if self.kinds:
            check_target(self.kinds)

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
            return " ".join(words.word(w) for w in phrases[row].tolist())

        for feature in ids.tolist():
            if feature < b:
                yield "pair=" + spelled(int(self.table.target_B[feature]))
            elif feature < b + len(phrases):
                yield "phrase=" + spelled(feature - b)
            else:
                yield "word=" + words.word(feature - b - len(phrases))
