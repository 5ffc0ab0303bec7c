"""Vocabularies: words and their numbers; sentences as flat arrays of word numbers."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import overload

import numpy as np

from xlate.array_types import AnyInts, Ints, Ints32
from xlate.errors import InputError
from xlate.kernels.pairs import Sides
from xlate.text.lines import count_lines, read_lines, write_lines
from xlate.text.opening import plain_file

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
UNKNOWN_ID, BEGIN_ID, END_ID = 0, 1, 2
RESERVED = {UNKNOWN: UNKNOWN_ID, BEGIN: BEGIN_ID, END: END_ID}


class Vocabulary:
    """A frozen list of distinct words; a word that is not in it has the number of `<unk>`.

    The first three are always `<unk>` 0, `<s>` 1, `</s>` 2. They are not words of a text: if a text holds them, they
    are unknown words.
    """

    def __init__(self, words: Iterable[str]) -> None:
        """Numbers the words in the order given, after the three special ones.

        Raises:
            InputError: a word is given twice.
        """
        self.words: list[str] = [UNKNOWN, BEGIN, END, *(w for w in words if w not in RESERVED)]
        self._ids = {word: number for number, word in enumerate(self.words[3:], start=3)}
        if len(self._ids) + 3 != len(self.words):
            twice = next(w for w, n in Counter(self.words).items() if n > 1)
            raise InputError("a word appears twice in a vocabulary", twice)

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]]) -> Vocabulary:
        """Collects the words of tokenised sentences, the most frequent first."""
        return cls.counted(Counter(chain.from_iterable(sentences)))

    @classmethod
    def counted(cls, counts: Mapping[str, int]) -> Vocabulary:
        """The words that were counted at least once, the most frequent first."""
        return cls(sorted((word for word in counts if counts[word]), key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def id(self, symbol: str) -> int:
        """The number of a word, of `<s>` or of `</s>`; 0 (`<unk>`) if it is unknown."""
        return self._ids.get(symbol, RESERVED.get(symbol, UNKNOWN_ID))

    def ids(self, words: Sequence[str]) -> Ints32:
        """The numbers of a sentence's words, shape (len(words),); 0 for unknown ones, including `<s>` and `</s>`."""
        get = self._ids.get
        return np.fromiter((get(w, UNKNOWN_ID) for w in words), np.int32, count=len(words))

    def word(self, number: int) -> str:
        """The word with a number."""
        return self.words[number]

    def words_of(self, ids: AnyInts) -> tuple[str, ...]:
        """The words with some numbers."""
        return tuple(self.words[number] for number in ids.tolist())

    def save(self, path: str | Path) -> None:
        """Writes one word per line, including the special ones."""
        write_lines(path, self.words)

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Reads what `save` wrote.

        Raises:
            InputError: the first three lines are not the special words, or a word occurs twice.
        """
        lines = read_lines(plain_file(path))
        if lines[:3] != [UNKNOWN, BEGIN, END]:
            raise InputError("not a vocabulary file", lines[:3], f"{UNKNOWN}, {BEGIN}, {END}", file=path, line=1)
        numbers: dict[str, int] = {}
        for number, word in enumerate(lines, 1):
            if numbers.setdefault(word, number) != number:
                raise InputError("a word appears twice in a vocabulary", word, file=path, line=number)
        return cls(lines[3:])


def check_reserved(
    sentences: Iterable[Sequence[str]], files: Sequence[str | Path], lines: Sequence[int] | None = None
) -> None:
    """Checks that a text has no reserved words: models estimated from it would mistake them for their own symbols.

    Args:
        sentences: the words of each sentence.
        files: the files they are from; these are read again for the message.
        lines: the line of each sentence, counted from 0 over all files; None if each line is a sentence.

    Raises:
        InputError: a sentence holds `<unk>`, `<s>` or `</s>`; the first line with one is named.
    """
    for number, words in enumerate(sentences):
        if RESERVED.keys().isdisjoint(words):
            continue
        file, line = files[-1], number if lines is None else lines[number]
        for before in files[:-1]:
            if line < (length := count_lines(before)):
                file = before
                break
            line -= length
        raise reserved(next(word for word in words if word in RESERVED), file, line + 1)


def reserved(word: str, file: str | Path, line: int) -> InputError:
    """The error for a line with one of a vocabulary's reserved words."""
    return InputError(
        "a reserved word in a text",
        word,
        "words other than <unk>, <s> and </s>, which stand for unknown words and the ends of sentences",
        "remove it, or spell it differently, for example [unk]",
        file=file,
        line=line,
    )


@dataclass(frozen=True)
class EncodedText:
    """S sentences with T words in total; sentence s is `ids_T[offsets_S1[s]:offsets_S1[s + 1]]`.

    Example: sentences "a b", "" and "c" with a=3, b=4, c=5::

        ids_T       3 4 5
        offsets_S1  0 2 2 3
    """

    ids_T: Ints32
    offsets_S1: Ints

    @classmethod
    def encode(cls, sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> EncodedText:
        """Numbers the words of tokenised sentences; a word unknown to the vocabulary becomes 0."""
        return cls.from_ids(vocabulary.ids(sentence) for sentence in sentences)

    @classmethod
    def from_ids(cls, sentences: Iterable[Ints32]) -> EncodedText:
        """The text with these sentences, each an array of word numbers."""
        rows = list(sentences)
        ids_T = np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32)
        return cls(ids_T, np.cumsum([0, *map(len, rows)], dtype=np.int64))

    @property
    def arrays(self) -> tuple[Ints32, Ints]:
        """Both arrays, as compiled loops take them."""
        return self.ids_T, self.offsets_S1

    def __len__(self) -> int:
        return len(self.offsets_S1) - 1

    def __getitem__(self, sentence: int) -> Ints32:
        return self.ids_T[self.offsets_S1[sentence] : self.offsets_S1[sentence + 1]]

    def part(self, first: int, last: int) -> EncodedText:
        """The sentences from `first` to before `last`."""
        ids_T = self.ids_T[slice(*self.offsets_S1[[first, last]])]
        return EncodedText(ids_T, self.offsets_S1[first : last + 1] - self.offsets_S1[first])

    def select(self, rows_R: AnyInts) -> EncodedText:
        """The sentences of the given rows, in that order.

        Raises:
            IndexError: there is no such row.
        """
        # Most commands that read a text compile nothing.
        from xlate.kernels.memory import take_rows

        rows = np.asarray(rows_R, np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"rows from {rows.min()} to {rows.max()} of {len(self)}")
        return EncodedText(*take_rows(np.asarray(self.ids_T), np.asarray(self.offsets_S1), rows))


class WordNumbers:
    """Numbers words from 0 in the order they come, after `known` ones, which are distinct; unlike a vocabulary it never
    meets an unknown word.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.update((word, number) for number, word in enumerate(known))
        self._numbers.default_factory = self._numbers.__len__

    def __iter__(self) -> Iterator[str]:
        """The words in the order of their numbers."""
        return iter(self._numbers)

    def append_to(self, ids: array[int], words: Sequence[str]) -> int:
        """Appends the numbers of the words; returns how many there are."""
        ids.extend(map(self._numbers.__getitem__, words))
        return len(words)

    def encode(self, sentences: Iterable[Sequence[str]]) -> EncodedText:
        """Tokenised sentences as numbers."""
        ids_T, offsets_S1 = array("i"), array("q", [0])
        for words in sentences:
            self.append_to(ids_T, words)
            offsets_S1.append(len(ids_T))
        return EncodedText(np.array(ids_T, np.int32), np.array(offsets_S1, np.int64))


@dataclass(frozen=True)
class TokenText(Sequence[list[str]]):
    """S tokenised sentences, whose T tokens take four bytes each; `words` are numbered from 0."""

    words: Sequence[str]
    text: EncodedText

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], known: Iterable[str] = ()) -> TokenText:
        """Keeps each distinct word once; the `known` ones, which are distinct, come first."""
        numbers = WordNumbers(known)
        text = numbers.encode(sentences)
        return cls(list(numbers), text)

    def __len__(self) -> int:
        return len(self.text)

    @overload
    def __getitem__(self, sentence: int) -> list[str]: ...

    @overload
    def __getitem__(self, sentence: slice) -> list[list[str]]: ...

    def __getitem__(self, sentence: int | slice) -> list[str] | list[list[str]]:
        if isinstance(sentence, slice):
            return [self[s] for s in range(len(self))[sentence]]
        if sentence >= len(self):
            raise IndexError(sentence)
        return [self.words[word] for word in self.text[sentence].tolist()]

    def part(self, first: int, last: int) -> TokenText:
        """The sentences from `first` to before `last`, with the same words."""
        return TokenText(self.words, self.text.part(first, last))


@dataclass(frozen=True)
class Numbering:
    """Numbers the target words of a sentence: first the vocabulary, then the distinct words of its source.

    All other words share the next number.

    Example: with the three special words and `house`, `Haus` of the source `das Haus` is number 5, `Auto` number 6.
    """

    vocabulary: Vocabulary
    source: Sequence[str]

    def ids(self, words: Sequence[str]) -> Ints32:
        """The numbers of target words, shape (len(words),)."""
        ids = self.vocabulary.ids(words)
        first = len(self.vocabulary)
        for place in np.flatnonzero(ids == UNKNOWN_ID).tolist():
            word = words[place]
            if word != UNKNOWN or word in self.source:
                ids[place] = first + (self.source.index(word) if word in self.source else len(self.source))
        return ids

    def words(self, ids: AnyInts) -> list[str]:
        """The words with these numbers; `<unk>` if in neither the vocabulary nor the source."""
        known, own = self.vocabulary.words, [*self.source, UNKNOWN]
        return [known[i] if i < len(known) else own[i - len(known)] for i in ids.tolist()]


def sides(source: EncodedText, target: EncodedText) -> Sides:
    """Sentence pairs; the two texts must have the same number of sentences."""
    return Sides(*map(np.ascontiguousarray, (*source.arrays, *target.arrays)))
