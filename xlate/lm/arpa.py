"""ARPA files: reading and writing back-off n-gram models as text."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints32
from xlate.arrays.ranges import pieces
from xlate.errors import InputError
from xlate.progress import track
from xlate.text.lines import FileLines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_floats, parse_int
from xlate.text.vocabulary import BEGIN, BEGIN_ID, END, UNKNOWN, Vocabulary

log = logging.getLogger(__name__)
HIGHEST_ORDER = 7
MISSING_UNKNOWN_LOG10 = -100.0
# Stands for a probability of 0, which `<s>` has because it is never predicted.
NEVER_LOG10 = -99.0
# Models keep natural logs in 32 bits.
LARGEST_LOG10 = LARGEST_FLOAT32 / float(np.log(10.0))
UNWRITABLE = frozenset(" \t\n")
# This many n-grams are numbers of Python at a time.
WRITTEN = 1 << 15


@dataclass(frozen=True)
class NgramTable:
    """The K n-grams of one order n: word numbers, log10 probability and log10 back-off weight of each."""

    words_Kn: Ints32
    log10_K: Floats
    backoff_K: Floats

    def __len__(self) -> int:
        return len(self.log10_K)


@dataclass(frozen=True)
class ArpaModel:
    """A back-off model: one table per order, from unigrams up; every word of the vocabulary has a unigram.

    The highest order has no back-off weights (all 0).
    """

    vocabulary: Vocabulary
    tables: list[NgramTable]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.tables)

    @property
    def counts(self) -> list[int]:
        """How many n-grams each order has."""
        return [len(table) for table in self.tables]


def write_arpa(path: str | Path, model: ArpaModel) -> None:
    """Writes a model as ARPA text, gzip when the name ends in .gz; log10, eight significant digits.

    Raises:
        InputError: a word is empty or contains a space or a line end, which the format does not allow.
    """
    for word in model.vocabulary.words:
        if not word or not UNWRITABLE.isdisjoint(word):
            raise InputError("a word that ARPA cannot hold", repr(word), "words without spaces", file=path)
    write_lines(path, _arpa_lines(model))


def read_arpa(path: str | Path) -> ArpaModel:
    """Reads an ARPA file, plain or gzip.

    A file without `<unk>` gets one with log10 probability -100, as in KenLM; one without `<s>` gets it with 0.

    Raises:
        InputError: the file is cut off, its counts are wrong, a line is malformed, a log-probability is positive, or
            an n-gram occurs twice or contains a word without a unigram.
    """
    lines = _Lines(path)
    first, *more = _read_header(lines)
    grams, log10, backoff = _read_section(lines, 1, first, last=not more)
    words = [gram[0] for gram in grams]
    vocabulary = Vocabulary(words)
    tables = [_unigrams(words, log10, backoff, vocabulary)]
    known = {word: number for number, word in enumerate(vocabulary.words)}
    for order, count in enumerate(more, 2):
        grams, log10, backoff = _read_section(lines, order, count, last=order == 1 + len(more))
        words_Kn = np.array([known.get(word, -1) for gram in grams for word in gram], np.int32).reshape(-1, order)
        strange = np.flatnonzero((words_Kn < 0).any(axis=1))
        if len(strange):
            seen, line = " ".join(grams[strange[0]]), lines.number - count + 1 + int(strange[0])
            raise lines.error("a word without a unigram", seen, "words listed among the 1-grams", line=line)
        tables.append(NgramTable(words_Kn, np.array(log10), np.array(backoff)))
    lines.expect("\\end\\", "the end of the file")
    return ArpaModel(vocabulary, tables)


def _arpa_lines(model: ArpaModel) -> Iterator[str]:
    yield "\\data\\"
    yield from (f"ngram {order}={count}" for order, count in enumerate(model.counts, 1))
    names = model.vocabulary.words
    for order, table in enumerate(model.tables, 1):
        yield ""
        yield f"\\{order}-grams:"
        for ids, log10, backoff in track(_rows(table), f"writing {order}-grams", total=len(table)):
            text = f"{log10:.8g}\t{' '.join([names[i] for i in ids])}"
            yield text if order == model.order else f"{text}\t{backoff:.8g}"
    yield ""
    yield "\\end\\"


def _rows(table: NgramTable) -> Iterator[tuple[list[int], float, float]]:
    for piece in pieces(len(table), WRITTEN):
        columns = table.words_Kn[piece], table.log10_K[piece], table.backoff_K[piece]
        yield from zip(*(column.tolist() for column in columns), strict=True)


class _Lines(FileLines):
    """The lines of a file as they are taken."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._rest = iter(self)

    def next(self, *, blank: bool = False) -> str | None:
        """The next line, by default the next one that is not blank; None at the end."""
        return next((line for line in self._rest if blank or line.strip()), None)

    def many(self, count: int) -> list[str]:
        return list(islice(self._rest, count))

    def expect(self, text: str, what: str) -> None:
        line = self.next()
        if line is None:
            raise self.cut_off(f"{text!r}, {what}")
        if line.strip() != text:
            raise self.error("wrong n-gram count", line, f"{text!r}, {what}", "count the n-grams again")

    def cut_off(self, expected: str) -> InputError:
        remedy = "copy or make the file again"
        return self.error("the ARPA file is cut off", "end of file", expected, remedy, self.number + 1)


def _read_header(lines: _Lines) -> list[int]:
    line = lines.next()
    if line is None or line.strip() != "\\data\\":
        raise lines.error(
            "not an ARPA file", line, "\\data\\", "a binary model must be converted to ARPA by the tool that made it"
        )
    counts: list[int] = []
    while (line := lines.next(blank=True)) is not None and line.strip():
        expected = f"ngram {len(counts) + 1}"
        name, _, number = line.strip().partition("=")
        try:
            counts.append(parse_int(number.strip()))
        except ValueError:
            name = ""
        if name.split() != expected.split():
            raise lines.error("malformed header line", line, f"{expected}=COUNT")
    if line is None:
        raise lines.cut_off("\\1-grams:")
    if not 1 <= len(counts) <= HIGHEST_ORDER:
        raise lines.error("unusable order", len(counts), f"an order from 1 to {HIGHEST_ORDER}")
    return counts


def _read_section(
    lines: _Lines, order: int, count: int, *, last: bool
) -> tuple[list[list[str]], list[float], list[float]]:
    """The words, log10 probabilities and back-off weights of the n-grams of an order."""
    lines.expect(f"\\{order}-grams:", f"followed by {count} lines")
    first = lines.number + 1
    rows = lines.many(count)
    words, log10, backoff = [], [], []
    known = set()
    for line, row in enumerate(track(rows, f"reading {order}-grams"), first):
        parts = row.split("\t")
        gram = parts[1].split(" ") if len(parts) > 1 else []
        value, weight = _number(parts[0]), _number(parts[2]) if len(parts) > 2 else 0.0
        if value is None and gram == [BEGIN] and parts[0].lower() == "-inf":
            value = NEVER_LOG10
        if value is None or weight is None or len(gram) != order or len(parts) > 3 or "" in gram:
            fault = "malformed n-gram line", row, f"log10 TAB {order} words [TAB back-off]"
            if not row.strip() or row.startswith("\\"):
                fault = "wrong n-gram count", row, f"{count} {order}-grams, as the header says"
            raise lines.error(*fault, line=line)
        if value > 0:
            raise lines.error("a positive log-probability", row, "log10 probabilities at most 0", line=line)
        if parts[1] in known:
            raise lines.error(f"a {order}-gram appears twice", row, f"each {order}-gram once", line=line)
        known.add(parts[1])
        words.append(gram)
        log10.append(value)
        backoff.append(0.0 if last else weight)
    if len(rows) < count:
        raise lines.cut_off(f"{count} {order}-grams, of which {len(rows)} were found")
    return words, log10, backoff


def _number(text: str) -> float | None:
    values = parse_floats([text], LARGEST_LOG10)
    return values[0] if values else None


def _unigrams(words: list[str], log10: list[float], backoff: list[float], vocabulary: Vocabulary) -> NgramTable:
    log10_V = np.full(len(vocabulary), MISSING_UNKNOWN_LOG10)
    backoff_V = np.zeros(len(vocabulary))
    log10_V[BEGIN_ID] = 0.0
    missing = [word for word in (UNKNOWN, END) if word not in words]
    if missing:
        log.warning("the model lacks %s: using log10 probability %g", missing, MISSING_UNKNOWN_LOG10)
    ids = list(map(vocabulary.id, words))
    log10_V[ids], backoff_V[ids] = log10, backoff
    return NgramTable(np.arange(len(vocabulary), dtype=np.int32)[:, None], log10_V, backoff_V)
