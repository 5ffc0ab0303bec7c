"""The n-best list that a configuration names, its words and gaps, and the texts and pairs written from lists.

Sparse features computed from a hypothesis's text alone are here, too: n-grams, classes, word pairs, length. They need
no derivation, so they work for the output of neural systems. A feature is its name: `ngram=a b`, `class=3 7`,
`pair=haus|house`, `length=+1`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays, reference_rows
from xlate.config.model_schema import RerankConfig
from xlate.config.schema import NbestConfig, TrainConfig
from xlate.errors import InputError, refuse_if
from xlate.formats.nbest_file import Columns, NbestFile, nbest_arrays
from xlate.formats.nbest_list import Hypothesis, one_source
from xlate.formats.records import collapsed
from xlate.text.lines import read_lines
from xlate.text.vocabulary import EncodedText

log = logging.getLogger(__name__)


def given_list(config: NbestConfig | TrainConfig) -> NbestFile:
    """The list that a configuration names, read as it says.

    Raises:
        InputError: settings that do not go together.
    """
    how = str(config.nbest), config.nbest_format, config.nbest_size, config.nbest_duplicates
    more = tuple(config.add_scores), tuple(config.merge), tuple(config.fields), config.documents
    return NbestFile(*how, *more)


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
    rows = [given.lines[group[0].sentence] for group in lists]
    for group, (row, line) in zip(lists, rows, strict=True):
        one_source(group, line, file, f"{given.file}:{row}")
    return [line for _, line in rows]


def document_names(lists: Sequence[list[Hypothesis]], given: SentenceLines | None) -> list[str] | None:
    """The document of each list: of the given lines, else of the records; None if neither names one for each.

    Raises:
        InputError: a line is blank.
    """
    if given is None:
        return _known(group[0].record and group[0].record.document for group in lists)
    lines = [given.lines[group[0].sentence] for group in lists]
    for row, line in lines:
        if not line.strip():
            raise InputError("no document is named", "a blank line", "a name on each line", file=given.file, line=row)
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
    columns, batch, size = Columns(), list[list[Hypothesis]](), 0
    for group in lists:
        if size >= most:
            yield batch, nbest_arrays(batch, file, columns)
            batch, size = [], 0
        batch.append(group)
        size += len(group)
    yield batch, nbest_arrays(batch, file, columns)


def held_references(hypotheses: Sequence[Hypothesis]) -> list[str]:
    """The references in the record of a list; none in other forms."""
    record = hypotheses[0].record
    return [] if record is None else [*map(collapsed, record.references)]


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
        for name in names:
            without = arrays.without(name)
            if len(without):
                self._first.setdefault(name, arrays.line_C[without[0]])
                self.counts[name] += len(without)
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
    gain = iter(gain_C.tolist())
    for group, prompt in zip(lists, prompts, strict=True):
        gains = [next(gain) for _ in group]
        places = list({group[place].text: place for place in reversed(range(len(group)))}.values())
        order = sorted(places, key=lambda place: (-gains[place], place))
        for better, worse in list(zip(order, reversed(order), strict=True))[: min(most, len(order) // 2)]:
            margin = gains[better] - gains[worse]
            if margin < least or margin <= 0.0:
                break
            record = group[better].record
            yield {
                "id": (record and record.id) or group[better].sentence,
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
    sentences, first = sorted(chosen), first_sentence
    if size is None:
        if first is None:
            first = sentences[0] if sentences[-1] - sentences[0] + 1 == len(sentences) else 0
        size = sentences[-1] - first + 1
        refuse_if(
            size > (1 + MOST_EMPTY) * len(sentences),
            "sentence numbers that cannot be line numbers",
            f"{len(sentences)} lists, sentences {sentences[0]} to {sentences[-1]}",
            "numbers that count sentences from 0 on",
            "first_id=N is the number of the first line; source=FILE or ref=[FILE] says how many there are",
            file,
        )
    rows = reference_rows(np.array([*chosen]), size, first)
    lines = [""] * size
    for row, text in zip(rows, chosen.values(), strict=True):
        lines[row] = text
    if len(rows) < size:
        lacking = next(row for row, held in enumerate(sorted(rows) + [size]) if row != held)
        log.warning(
            "warning: %s: %d of %d sentences have no list; each gets an empty line, the first is line %d",
            file, size - len(rows), size, lacking + 1,
        )  # fmt: skip
    return lines


# Larger differences in length count as this one.
FURTHEST = 8
# For each target word, the source words it may be linked to and their probabilities.
Lexicon = Mapping[str, Mapping[str, float]]


def text_features(
    settings: RerankConfig,
    classes: Mapping[str, str],
    lexicon: Lexicon | None,
    arrays: NbestArrays,
    sources: Sequence[Sequence[str]] | None,
    of: Callable[[str], float],
    known: Container[str] | None = None,
) -> Iterator[tuple[Ints, AnyArray]]:
    """Yields, for some features at a time, the hypothesis of each occurrence and what `of` says of the feature.

    What is said of the features of a hypothesis comes in the order of their kinds, and for each kind in that of its
    words.

    Args:
        settings: which n-grams of words and classes, and whether the length: the number of words, less that of the
            source, or of the list's first hypothesis without a source.
        classes: class of each target word, if there are any; words without one have `?`.
        lexicon: when given, each target word with the most probable word of the source.
        arrays: the lists. sources: those of each list, if known.
        of: called with the names of features.
        known: n-grams with other words may be left out.
    """
    words, text = list(arrays.numbers), arrays.text
    if settings.ngrams:
        yield from _grams("ngram=", words, text, settings.ngrams, of, known)
    if settings.class_ngrams and classes:
        class_W = [classes.get(word, "?") for word in words]
        number = {name: number for number, name in enumerate(dict.fromkeys(class_W))}
        ids_T = np.array([number[name] for name in class_W], np.int32)[text.ids_T]
        yield from _grams("class=", [*number], EncodedText(ids_T, text.offsets_S1), settings.class_ngrams, of)
    if settings.length:
        length_C, offsets_I1 = np.diff(text.offsets_S1), arrays.candidate_offsets_I1
        expected_I = length_C[offsets_I1[:-1]] if sources is None else np.array([*map(len, sources)])
        longer_C = np.clip(length_C - np.repeat(expected_I, np.diff(offsets_I1)), -FURTHEST, FURTHEST)
        said = np.array([of(f"length={longer:+d}") for longer in range(-FURTHEST, FURTHEST + 1)])
        yield np.arange(len(length_C)), said[longer_C + FURTHEST]
    if lexicon:
        hypothesis_N, pair_N, pairs = linked(arrays, sources or (), lexicon)
        yield hypothesis_N, np.array([of("pair=" + "|".join(pair)) for pair in pairs])[pair_N]


def _grams(
    kind: str,
    words: Sequence[str],
    text: EncodedText,
    order: int,
    of: Callable[[str], float],
    known: Container[str] | None = None,
) -> Iterator[tuple[Ints, AnyArray]]:
    """What `of` says of n-grams, order by order. Single words exclude the sentence ends, which every hypothesis has."""
    yield row_numbers(text.offsets_S1), np.array([of(kind + word) for word in words])[text.ids_T]
    named, size = [*words, "<s>", "</s>"], len(words) + 2
    ends = np.repeat(text.offsets_S1, 2)[1:-1]
    word_P = np.insert(text.ids_T.astype(np.int64), ends, np.tile([size - 2, size - 1], len(text)))
    hypothesis_P = np.repeat(np.arange(len(text)), np.diff(text.offsets_S1) + 2)
    is_known_P = np.array([known is None or word in known for word in words] + [True, True])[word_P]
    # Where the n-grams begin, their numbers and their words.
    place_N, gram_N, grams = np.flatnonzero(is_known_P), word_P[is_known_P], named
    for more in range(1, order):
        last_N = np.minimum(place_N + more, len(word_P) - 1)
        kept_N = is_known_P[last_N] & (hypothesis_P[last_N] == hypothesis_P[place_N]) & (last_N == place_N + more)
        place_N, key_N = place_N[kept_N], (gram_N * size + word_P[last_N])[kept_N]
        keys, gram_N = np.unique(key_N, return_inverse=True)
        grams = [f"{grams[key // size]} {named[key % size]}" for key in keys.tolist()]
        yield hypothesis_P[place_N], np.array([of(kind + gram) for gram in grams])[gram_N]


def linked(
    arrays: NbestArrays, sources: Sequence[Sequence[str]], lexicon: Lexicon
) -> tuple[Ints, Ints, list[tuple[str, str]]]:
    """Words of hypotheses that are linked to a word of their source: to the likeliest one, the first of equals.

    Returns:
        The hypothesis of each such word, the number of its pair, and the pairs, source first; the same pair has another
        number in another list.
    """
    words, text = list(arrays.numbers), arrays.text
    list_T = row_numbers(text.offsets_S1[arrays.candidate_offsets_I1])
    place_N = np.flatnonzero(np.array([word in lexicon for word in words])[text.ids_T])
    keys, key_N = np.unique(list_T[place_N] * len(words) + text.ids_T[place_N], return_inverse=True)
    # The first places of the words of each source, negative.
    places = [{word: -place for place, word in reversed([*enumerate(source)])} for source in sources]
    numbers, pairs = list[int](), list[tuple[str, str]]()
    for key in keys.tolist():
        word, held = words[key % len(words)], places[key // len(words)]
        found = [(p, held[one], one) for one, p in lexicon[word].items() if p > 0.0 and one in held]
        numbers.append(len(pairs) if found else -1)
        if found:
            pairs.append((max(found)[2], word))
    pair_N = np.array(numbers, np.int64)[key_N]
    return row_numbers(text.offsets_S1)[place_N[pair_N >= 0]], pair_N[pair_N >= 0], pairs
