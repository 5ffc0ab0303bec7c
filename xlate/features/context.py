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
from numpy.typing import NDArray

from xlate.arrays.ragged import gathered, offsets_of, row_numbers
from xlate.errors import InputError
from xlate.features.index import Numbers
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary

Ints = NDArray[np.int64]
Bags = tuple[Ints, NDArray[np.int32]]
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
        value_V: the value of each word, -1 for none; None where tokens have values of their own, as factors have.
    """

    name: str
    labels: tuple[str, ...]
    value_V: NDArray[np.int32] | None = None

    @property
    def size(self) -> int:
        """How many values there are, with the two outside of a sentence."""
        return len(self.labels) + len(OUTSIDE)

    def label(self, value: int) -> str:
        """What a value is called."""
        return (*self.labels, *OUTSIDE)[value]


@dataclass(frozen=True)
class Spans:
    """I source phrases in their sentences: half-open spans, and the row of each phrase in the table."""

    sentence_I: NDArray[np.integer]
    start_I: NDArray[np.integer]
    end_I: NDArray[np.integer]
    phrase_I: NDArray[np.integer]

    def __len__(self) -> int:
        """The number of phrases I."""
        return len(self.start_I)

    def select(self, kept_I: NDArray[np.bool_]) -> Spans:
        """Some of them."""
        columns = (self.sentence_I, self.start_I, self.end_I, self.phrase_I)
        sentence_I, start_I, end_I, phrase_I = (column[kept_I] for column in columns)
        return Spans(sentence_I, start_I, end_I, phrase_I)


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

    def of(self, text: EncodedText, factors: Sequence[NDArray[np.int32]], spans: Spans) -> Bags:
        """The features of I phrases: offsets, (I + 1,), and ids.

        Args:
            text: the sentences, by word number.
            factors: for each layer without values of words those of the T tokens, in the order of the layers.
            spans: the phrases.
        """
        given, columns = iter(factors), [np.zeros(len(spans), np.int64), 1 + np.asarray(spans.phrase_I, np.int64)]
        begin_I, stop_I = text.offsets_S1[spans.sentence_I], text.offsets_S1[np.asarray(spans.sentence_I) + 1]
        for layer in self.layers:
            value_T = next(given) if layer.value_V is None else layer.value_V[text.ids_T]
            for name, distance in self.places:
                value_I = _values(value_T, begin_I, stop_I, spans, name, distance, len(layer.labels))
                columns.append(np.where(value_I < 0, -1, self._starts[layer.name, name] + value_I))
        ids_IX = np.stack(columns, axis=1)
        there_IX = ids_IX >= 0
        return offsets_of(there_IX.sum(axis=1)), ids_IX[there_IX].astype(np.int32)

    @staticmethod
    def phrases_of(offsets_I1: Ints, ids: NDArray[np.integer]) -> Ints:
        """The source phrase of each of I instances, by its features as `of` gives them: the second is the phrase."""
        return np.asarray(ids[offsets_I1[:-1] + 1], dtype=np.int64) - 1

    def names(self, ids: Numbers, phrases: EncodedText, words: Vocabulary) -> Iterator[str]:
        """The names of some features: `always`, `phrase=a house`, `all[-1]=the`.

        Args:
            ids: the features.
            phrases, words: the source phrases of the table, and their words.
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
                yield f"{layer}[{place}]={layers[layer].label(feature - at)}"


def _values(
    value_T: NDArray[np.int32], begin_I: Ints, stop_I: Ints, spans: Spans, place: str, distance: int, labels: int
) -> Ints:
    """The value of the token at one place of each phrase; `labels` and the number after it outside of the sentence."""
    last = distance > 0 or place == "last"
    at_I = begin_I + (np.asarray(spans.end_I, np.int64) - 1 if last else np.asarray(spans.start_I, np.int64)) + distance
    before_I, behind_I = at_I < begin_I, at_I >= stop_I
    # Outside of a sentence only the place beside it counts: further ones would say the same again.
    near_I = (at_I == begin_I - 1) | (at_I == stop_I)
    inside_I = np.clip(at_I, 0, max(len(value_T) - 1, 0))
    value_I = value_T[inside_I].astype(np.int64) if len(value_T) else np.full(len(spans), -1)
    value_I = np.where(before_I, labels, np.where(behind_I, labels + 1, value_I))
    return np.where((before_I | behind_I) & ~near_I, -1, value_I)


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

    def of(self, pair_C: NDArray[np.integer]) -> Bags:
        """The features of C pairs of the table: offsets, (C + 1,), and ids."""
        target_C = np.asarray(self.table.target_B[pair_C], np.int64)
        rows: list[Bags] = []
        one = np.arange(len(pair_C) + 1)
        if "pair" in self.kinds:
            rows.append((one, np.asarray(pair_C, np.int32)))
        if "phrase" in self.kinds:
            rows.append((one, (len(self.table) + target_C).astype(np.int32)))
        if "words" in self.kinds:
            places, offsets_C1 = gathered(self.table.target_phrases.offsets_S1, target_C)
            first = len(self.table) + len(self.table.target_phrases)
            rows.append((offsets_C1, first + np.asarray(self.table.target_phrases.ids_T[places], np.int32)))
        return joined_bags(rows)

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
