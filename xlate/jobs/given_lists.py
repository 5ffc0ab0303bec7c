"""The n-best list that a configuration names, its words and gaps, and the texts and pairs written from lists.

Sparse features computed from a hypothesis's text alone are here, too: n-grams, classes, word pairs, length. They need
no derivation, so they work for the output of neural systems. A feature is its name: `ngram=a b`, `class=3 7`,
`pair=haus|house`, `length=+1`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays, reference_rows
from xlate.config.schema import GivenListsConfig
from xlate.errors import InputError
from xlate.formats.nbest_file import Columns, NbestFile, nbest_arrays
from xlate.formats.nbest_list import Hypothesis, one_source
from xlate.formats.records import collapsed
from xlate.text.lines import read_lines
from xlate.text.tokens import split_tokens

log = logging.getLogger(__name__)
T = TypeVar("T")


def given_list(config: GivenListsConfig, path: str) -> NbestFile:
    """Reads a list as the configuration says.

    Raises:
        InputError: settings that do not go together.
    """
    added, others, fields = tuple(config.add_scores), tuple(config.merge), tuple(config.fields)
    how = config.nbest_format, config.nbest_size, config.nbest_duplicates
    return NbestFile(path, *how, added, others, fields, config.documents)


@dataclass(frozen=True)
class ListText:
    """The words of lists and, if known, of their sources; `lines` are the sources as given, `documents` the name of
    each list's document, if known.
    """

    hypotheses: list[list[list[str]]]
    sources: list[list[str]] | None
    lines: list[str] | None
    documents: list[str] | None = None

    @classmethod
    def of(
        cls,
        lists: Sequence[list[Hypothesis]],
        file: str | Path,
        sources: SentenceLines | None = None,
        documents: SentenceLines | None = None,
    ) -> ListText:
        """The words of lists of `file`.

        Raises:
            InputError: a sentence has another source in the list.
        """
        words = [[split_tokens(hypothesis.text) for hypothesis in rows] for rows in lists]
        lines = source_lines(lists, file, sources)
        tokens = None if lines is None else [split_tokens(line) for line in lines]
        return cls(words, tokens, lines, document_names(lists, documents))

    def features(
        self, templates: TextTemplates, of: Callable[[str], T], ngrams: Mapping[tuple[str, ...], T] | None = None
    ) -> Iterator[list[list[T]]]:
        """What `of` says of each feature of every hypothesis, list by list; see `TextTemplates.features`."""
        for number, hypotheses in enumerate(self.hypotheses):
            source = None if self.sources is None else self.sources[number]
            yield templates.features(hypotheses, source, of, ngrams)


@dataclass(frozen=True)
class SentenceLines:
    """The lines of a file that belong to the sentences of a list, by their numbers, each with its place from 1."""

    file: str
    lines: Mapping[int, tuple[int, str]]

    @classmethod
    def read(cls, file: str | None, what: str, sentence_I: Ints, first_id: int | None) -> Self | None:
        """Those of a file, if there is one; `what` they are is for the messages.

        Raises:
            InputError: a sentence is not in the file.
        """
        if file is None:
            return None
        lines = read_lines(file)
        rows = reference_rows(sentence_I, len(lines), first_id, what=what, file=file)
        return cls(file, {number: (row + 1, lines[row]) for number, row in zip(sentence_I.tolist(), rows, strict=True)})


def source_lines(lists: Sequence[list[Hypothesis]], file: str | Path, given: SentenceLines | None) -> list[str] | None:
    """The source of each list of `file`: the given lines, else those in the lists; None without either.

    Raises:
        InputError: a sentence has another source in the list.
    """
    if given is None:
        return _known(group[0].source for group in lists)
    lines = []
    for group in lists:
        row, line = given.lines[group[0].sentence]
        one_source(group, line, file, f"{given.file}:{row}")
        lines.append(line)
    return lines


def document_names(lists: Sequence[list[Hypothesis]], given: SentenceLines | None) -> list[str] | None:
    """The document of each list: of the given lines, else of the records; None if neither names one for each.

    Raises:
        InputError: a line is blank.
    """
    if given is None:
        return _known(group[0].origin.record.document if group[0].origin else None for group in lists)
    lines = [given.lines[group[0].sentence] for group in lists]
    blank = next((row for row, line in lines if not line.strip()), None)
    if blank is not None:
        raise InputError("no document is named", "a blank line", "a name on each line", file=given.file, line=blank)
    return [line.strip() for _, line in lines]


def _known(said: Iterable[str | None]) -> list[str] | None:
    found = list(said)
    return None if None in found else cast(list[str], found)


# As many hypotheses are ranked at a time.
BATCH = 1 << 12


def in_batches(
    lists: Iterable[list[Hypothesis]], file: str | Path, most: int = BATCH
) -> Iterator[tuple[list[list[Hypothesis]], NbestArrays]]:
    """Some lists at a time, also as arrays, which know the columns of all lists so far.

    Raises:
        InputError: as `nbest_arrays`.
    """
    columns, batch, size, begun = Columns(), list[list[Hypothesis]](), 0, False
    for group in lists:
        batch.append(group)
        size += len(group)
        if size >= most:
            yield batch, nbest_arrays(batch, file, columns)
            batch, size, begun = [], 0, True
    if batch or not begun:
        yield batch, nbest_arrays(batch, file, columns)


def held_references(hypotheses: Sequence[Hypothesis]) -> list[str]:
    """The references in the record of a list; none in other forms."""
    return [] if hypotheses[0].origin is None else [collapsed(one) for one in hypotheses[0].origin.record.references]


# A feature on at least this share of the lines counts as a score that some lines lack.
MOST_LINES = 0.95
# The number of features that messages name.
NAMED = 5


def gaps(arrays: NbestArrays) -> tuple[dict[str, int], dict[str, int]]:
    """Features that only some lines have, each with the number of those lines, the most frequent first.

    Returns:
        Float features, which few lines lack or which have several values (they count 0 where they are missing); and
        features of some hypotheses.
    """
    lines, count_M = len(arrays.total_C), np.bincount(arrays.columns_V, minlength=len(arrays.names))
    nearly, seldom = dict[str, int](), dict[str, int]()
    for column in np.argsort(-count_M, kind="stable").tolist():
        count = int(count_M[column])
        if count < lines:
            dense = column in arrays.several or count >= MOST_LINES * lines
            (nearly if dense else seldom)[arrays.names[column]] = count
    return nearly, seldom


class Lacking:
    """Lines that lack float features, of lists that come in batches.

    Attributes:
        counts: how many lines lack each feature, those that some lack. lines: how many there are.
    """

    def __init__(self) -> None:
        self.counts, self.lines = Counter[str](), 0
        self._first: dict[str, int] = {}

    def add(self, arrays: NbestArrays, names: Iterable[str]) -> None:
        """Counts the lines of a batch that lack these features."""
        columns = {name: column for column, name in enumerate(arrays.names)}
        candidate_V = row_numbers(arrays.value_offsets_C1)
        for name in names:
            lacks_C = np.ones(len(arrays.line_C), np.bool_)
            lacks_C[candidate_V[arrays.columns_V == columns.get(name, -1)]] = False
            if lacks_C.any():
                self._first.setdefault(name, arrays.line_C[np.argmax(lacks_C)])
                self.counts[name] += int(lacks_C.sum())
        self.lines += len(arrays.line_C)

    def warn(self, names: Sequence[str], file: str | Path) -> None:
        """Warns where the first line is that lacks each of these features."""
        for name in names[:NAMED]:
            log.warning(
                "warning: %s:%d: %s is missing here and on %d other lines of %d; it counts as 0 there: add its "
                "value, unless it is 0",
                file, self._first[name], name, self.counts[name] - 1, self.lines,
            )  # fmt: skip
        if len(names) > NAMED:
            log.warning("warning: %s: %d more features are missing on some lines", file, len(names) - NAMED)


def tell_seldom(seldom: Mapping[str, int], lines: int, file: str, learned: bool) -> None:
    """Logs which features some hypotheses have and whether they are learned from; warns if they are not."""
    if not seldom:
        return
    counted = [f"{name} ({count})" for name, count in seldom.items()]
    named = ", ".join(counted[:NAMED] + ["…"] * (len(counted) > NAMED))
    held = f"{file}: only some of the {lines} lines have {len(seldom)} features: {named}"
    if learned:
        log.info("%s; those that vary in enough lists are learned, with 0 where they are missing", held)
    else:
        remedy = "model.rerank.given_sparse=true learns them"
        log.warning("warning: %s; they are not learned: %s", held, remedy)


def preference_pairs(
    lists: Sequence[Sequence[Hypothesis]], prompts: Sequence[str], gain_C: Floats, most: int = 1, least: float = 0.05
) -> Iterator[dict[str, str | float | int]]:
    """Yields pairs list by list: the best with the worst, the second best with the second worst, and so on.

    Each has `id`, the number of the sentence or its text id, `prompt`, `chosen`, `rejected`, and `margin`, the
    difference of gains. If gains are equal, the earlier hypothesis is the better one. Hypotheses with the same words
    are used once.

    Args:
        lists: the hypotheses of each sentence. prompts: their sources.
        gain_C: the gain of each hypothesis, 0 to 1.
        most: pairs per list. least: the smallest difference of gains; it is above 0 in any case.
    """
    ends = np.cumsum([len(group) for group in lists])
    for group, prompt, end in zip(lists, prompts, ends.tolist(), strict=True):
        gains = gain_C[end - len(group) : end]
        places = list({group[place].text: place for place in reversed(range(len(group)))}.values())
        order = sorted(places, key=lambda place: (-gains[place], place))
        for better, worse in list(zip(order, reversed(order), strict=True))[: min(most, len(order) // 2)]:
            margin = float(gains[better] - gains[worse])
            if margin < least or margin <= 0.0:
                break
            origin = group[better].origin
            yield {
                "id": (origin and origin.record.id) or group[better].sentence,
                "prompt": prompt,
                "chosen": group[better].text,
                "rejected": group[worse].text,
                "margin": round(margin, 6),
            }


# Without references, sentence numbers that leave more empty lines per list than this are not line numbers.
MOST_EMPTY = 1000


def sentence_lines(
    chosen: Mapping[int, str],
    size: int | None = None,
    first_sentence: int | None = None,
    file: str | Path | None = None,
) -> list[str]:
    """The choices from lists, by the numbers of their sentences, as the lines of the text that the lists are of.

    A sentence without a list gets an empty line, and a warning says how many there are.

    Args:
        chosen: a text for each list, in their order.
        size: the number of lines of a file that goes with the lists, such as references. Without one, lines count from
            `first_sentence`, or from 0, or from the smallest number if none is missing.
        first_sentence: see `candidates.nbest.reference_rows`. file: the list, for the messages.

    Raises:
        InputError: the lists do not fit the file that goes with them, or their numbers cannot be line numbers.
    """
    sentence_I, first = np.array([*chosen]), first_sentence
    if size is None:
        size, first = _counted(sentence_I, first, file)
    lines = [""] * size
    rows = reference_rows(sentence_I, size, first)
    for row, text in zip(rows, chosen.values(), strict=True):
        lines[row] = text
    if len(rows) < size:
        lacking = next(row for row, held in enumerate(sorted(rows) + [size]) if row != held)
        log.warning(
            "warning: %s: %d of %d sentences have no list; each gets an empty line, the first is line %d",
            file, size - len(rows), size, lacking + 1,
        )  # fmt: skip
    return lines


def _counted(sentence_I: Ints, first: int | None, file: str | Path | None) -> tuple[int, int]:
    """The number of lines that sentence numbers span, and the number of the first one."""
    least, most = int(sentence_I.min()), int(sentence_I.max())
    if first is None:
        first = least if most - least + 1 == len(sentence_I) else 0
    size = most - first + 1
    if size > (1 + MOST_EMPTY) * len(sentence_I):
        raise InputError(
            "sentence numbers that cannot be line numbers",
            f"{len(sentence_I)} lists, sentences {least} to {most}",
            "numbers that count sentences from 0 on",
            "first_id=N is the number of the first line; source=FILE or ref=[FILE] says how many there are",
            file=file,
        )
    return size, first


# Larger differences in length count as this one.
FURTHEST = 8
# For each target word, the source words it may be linked to and their probabilities.
Lexicon = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class TextTemplates:
    """Which features.

    Attributes:
        ngrams: target n-grams up to this order; 0 for none.
        length: the number of words, less that of the source, or of the list's first hypothesis without a source.
        class_ngrams: the same as `ngrams` of word classes.
        classes: class of each target word; words without one have `?`.
        lexicon: when given, each target word with the most probable word of the source.
    """

    ngrams: int = 2
    length: bool = True
    class_ngrams: int = 0
    classes: Mapping[str, str] = field(default_factory=dict)
    lexicon: Lexicon | None = None

    def features(
        self,
        hypotheses: Sequence[Sequence[str]],
        source: Sequence[str] | None,
        of: Callable[[str], T],
        ngrams: Mapping[tuple[str, ...], T] | None = None,
    ) -> list[list[T]]:
        """What `of` says of each feature of the hypotheses of a list, repeated as often as they occur.

        If `ngrams` says the same of n-grams by their words, `of` need not be asked, and those not there count None.
        """
        of_ngram: Callable[[tuple[str, ...]], Any] = (
            _Asked("ngram=", " ", of).__getitem__ if ngrams is None else ngrams.get
        )
        classes, lengths = _Asked("class=", " ", of), _Asked("length=", " ", of)
        pairs, sources = _Asked("pair=", "|", of), SourcePairs(self.lexicon or {}, source or ())
        expected, rows = len(hypotheses[0] if source is None else source), []
        for words in hypotheses:
            row = [*map(of_ngram, _grams(words, self.ngrams))]
            if self.class_ngrams:
                of_words = [self.classes.get(word, "?") for word in words]
                row += map(classes.__getitem__, _grams(of_words, self.class_ngrams))
            if self.length:
                row.append(lengths[(f"{max(-FURTHEST, min(FURTHEST, len(words) - expected)):+d}",)])
            if self.lexicon:
                row += map(pairs.__getitem__, filter(None, map(sources.__getitem__, words)))
            rows.append(row)
        return rows


class _Asked(dict[tuple[str, ...], T]):
    """What a function says of the features of one kind, by their words; it is asked once for each."""

    def __init__(self, kind: str, between: str, of: Callable[[str], T]) -> None:
        self._kind, self._between, self._of = kind, between, of

    def __missing__(self, words: tuple[str, ...]) -> T:
        self[words] = found = self._of(self._kind + self._between.join(words))
        return found


class SourcePairs(dict[str, tuple[str, ...]]):
    """Each target word with a word of one source before it; empty if there is none.

    Each word is looked up once, as the hypotheses of a list share most of their words.
    """

    def __init__(self, lexicon: Lexicon, source: Sequence[str]) -> None:
        self._lexicon, self._source = lexicon, dict.fromkeys(source)

    def __missing__(self, word: str) -> tuple[str, ...]:
        """Finds the likeliest word of the source, the first of equals."""
        row = self._lexicon.get(word, {})
        linked = [one for one in self._source if row.get(one, 0.0) > 0.0] if row else []
        self[word] = pair = (max(linked, key=row.__getitem__), word) if linked else ()
        return pair


def _grams(words: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    ends = ["<s>", *words, "</s>"]
    # Single words exclude the sentence ends, which every hypothesis has.
    rows = ((words if n == 1 else ends, n) for n in range(1, order + 1))
    return chain.from_iterable(zip(*(row[start:] for start in range(n)), strict=False) for row, n in rows)
