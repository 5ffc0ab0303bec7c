"""The n-best list that a configuration names, its words and gaps, and the texts and pairs written from lists.

Sparse features computed from a hypothesis's text alone are here, too: n-grams, classes, word pairs, length. They need
no derivation, so they work for the output of neural systems. A feature is its name: `ngram=a b`, `class=3 7`,
`pair=haus|house`, `length=+1`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays, nbest_arrays, reference_rows
from xlate.config.schema import GivenListsConfig
from xlate.errors import InputError
from xlate.formats.nbest_file import NbestFile
from xlate.formats.nbest_list import Hypothesis, one_source
from xlate.text.lines import check_reference, read_lines
from xlate.text.tokens import split_tokens

log = logging.getLogger(__name__)


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
    """The words of lists and, if known, of their sources; `lines` are the sources as given, `line_C` the line of each
    hypothesis in the file, `documents` the name of each list's document, if known.
    """

    hypotheses: list[list[list[str]]]
    sources: list[list[str]] | None
    lines: list[str] | None
    line_C: Ints
    documents: list[str] | None = None

    @classmethod
    def read(cls, nbest: NbestFile, source: str | None, first_id: int | None) -> tuple[NbestArrays, ListText]:
        """A list as arrays, and its words with those of its sources, from the file `source` or from the list itself."""
        return cls.of(list(nbest.lists()), nbest.path, source, first_id, nbest.documents)

    @classmethod
    def of(
        cls,
        lists: Sequence[list[Hypothesis]],
        file: str | Path,
        source: str | None = None,
        first_id: int | None = None,
        documents: str | None = None,
    ) -> tuple[NbestArrays, ListText]:
        """The same from hypotheses that were read from `file`."""
        arrays = nbest_arrays(lists, file)
        words = [[split_tokens(hypothesis.text) for hypothesis in rows] for rows in lists]
        lines = source_lines(lists, file, source, first_id)
        tokens = None if lines is None else [split_tokens(line) for line in lines]
        line_C = np.array([hypothesis.line for rows in lists for hypothesis in rows], dtype=np.int64)
        return arrays, cls(words, tokens, lines, line_C, document_names(lists, documents, first_id))

    def features(self, templates: TextTemplates) -> Iterable[list[list[str]]]:
        """The features of every hypothesis, list by list, repeated as often as they occur."""
        for number, hypotheses in enumerate(self.hypotheses):
            source = None if self.sources is None else self.sources[number]
            pairs, length = templates.pairs_of(source), len(hypotheses[0] if source is None else source)
            yield [list(templates.features(words, pairs, length)) for words in hypotheses]


def source_lines(
    lists: Sequence[list[Hypothesis]], file: str | Path, source: str | None, first_id: int | None
) -> list[str] | None:
    """The source of each list of `file`: lines of the file `source`, else those in the lists; None without either.

    Raises:
        InputError: a sentence is not in the file, or has another source in the list.
    """
    if source is None:
        said = [group[0].source for group in lists]
        found = [line for line in said if line is not None]
        return found if len(found) == len(said) else None
    lines, sentence_I = read_lines(source), np.array([group[0].sentence for group in lists], dtype=np.int64)
    rows = reference_rows(sentence_I, [len(lines)], first_id, what="sources", file=source)
    for group, row in zip(lists, rows, strict=True):
        one_source(group, lines[row], file, f"{source}:{row + 1}")
    return [lines[row] for row in rows]


def document_names(lists: Sequence[list[Hypothesis]], documents: str | None, first_id: int | None) -> list[str] | None:
    """The document of each list: of the file `documents`, else of the records; None if neither names one for each.

    Raises:
        InputError: a sentence is not in the file, or its line is blank.
    """
    if documents is None:
        said = [group[0].origin.record.document if group[0].origin else None for group in lists]
        found = [name for name in said if name is not None]
        return found if len(found) == len(said) else None
    lines, sentence_I = read_lines(documents), np.array([group[0].sentence for group in lists], dtype=np.int64)
    rows = reference_rows(sentence_I, [len(lines)], first_id, what="documents", file=documents)
    blank = next((row for row in rows if not lines[row].strip()), None)
    if blank is not None:
        raise InputError("no document is named", "a blank line", "a name on each line", file=documents, line=blank + 1)
    return [lines[row].strip() for row in rows]


def read_references(paths: Sequence[str], sentence_I: Ints, first_id: int | None) -> list[list[str]]:
    """The lines of each reference file of some lists.

    Raises:
        InputError: files of different lengths, or that do not fit the lists.
    """
    streams = [read_lines(path) for path in paths]
    for path, stream in zip(paths, streams, strict=True):
        check_reference(path, len(stream), len(streams[0]))
    if streams:
        reference_rows(sentence_I, [len(streams[0])], first_id, file=paths[0])
    return streams


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


def warn_of_lacking(arrays: NbestArrays, lacking: Sequence[str], file: str | Path, line_C: Ints) -> None:
    """Warns where the first line is that lacks each float feature; `line_C` is the line of each hypothesis."""
    lines = len(arrays.total_C)
    for name in lacking[:NAMED]:
        present_C = np.zeros(lines, dtype=np.bool_)
        present_C[row_numbers(arrays.value_offsets_C1)[arrays.columns_V == arrays.names.index(name)]] = True
        log.warning(
            "warning: %s:%d: %s is missing here and on %d other lines of %d; it counts as 0 there: add its "
            "value, unless it is 0",
            file, line_C[np.argmin(present_C)], name, lines - int(present_C.sum()) - 1, lines,
        )  # fmt: skip
    if len(lacking) > NAMED:
        log.warning("warning: %s: %d more features are missing on some lines", file, len(lacking) - NAMED)


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

    Each has `id`, the number of the sentence, `prompt`, `chosen`, `rejected`, and `margin`, the difference of gains. If
    gains are equal, the earlier hypothesis is the better one. Hypotheses with the same words are used once.

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
            yield {
                "id": group[better].sentence,
                "prompt": prompt,
                "chosen": group[better].text,
                "rejected": group[worse].text,
                "margin": round(margin, 6),
            }


# Without references, sentence numbers that leave more empty lines per list than this are not line numbers.
MOST_EMPTY = 1000


def sentence_lines(
    chosen: Iterable[str],
    sentence_I: Ints,
    lengths: Sequence[int],
    first_sentence: int | None = None,
    file: str | Path | None = None,
) -> list[str]:
    """The choices from I lists, in their order, as the lines of the text that the lists are of.

    A sentence without a list gets an empty line, and a warning says how many there are.

    Args:
        chosen: a text for each list.
        sentence_I: the numbers of the lists' sentences.
        lengths: the number of lines of each file that goes with the lists, such as references. Without any, lines
            count from `first_sentence`, or from 0, or from the smallest number if none is missing.
        first_sentence: see `candidates.nbest.reference_rows`. file: the list, for the messages.

    Raises:
        InputError: the lists do not fit the files that go with them, or their numbers cannot be line numbers.
    """
    size, first = (lengths[0], first_sentence) if lengths else _counted(sentence_I, first_sentence, file)
    lines = [""] * size
    rows = reference_rows(sentence_I, lengths or [size], first)
    for row, text in zip(rows, chosen, strict=True):
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

    def features(self, words: Sequence[str], pairs: SourcePairs | None, length: int) -> Iterator[str]:
        """The features of one hypothesis, repeated as often as they occur.

        Args:
            words: the hypothesis. pairs: `pairs_of` its source. length: the length it is compared with.
        """
        yield from _grams("ngram", words, self.ngrams)
        if self.class_ngrams:
            yield from _grams("class", [self.classes.get(word, "?") for word in words], self.class_ngrams)
        if self.length:
            yield f"length={max(-FURTHEST, min(FURTHEST, len(words) - length)):+d}"
        if pairs is not None:
            yield from filter(None, map(pairs.__getitem__, words))

    def pairs_of(self, source: Sequence[str] | None) -> SourcePairs | None:
        """The word pairs with a source, for all of its hypotheses; None without a lexicon or a source."""
        return None if self.lexicon is None or not source else SourcePairs(self.lexicon, source)


class SourcePairs(dict[str, str]):
    """The pair feature of each target word with a word of one source, empty if there is none.

    Each word is looked up once, as the hypotheses of a list share most of their words.
    """

    def __init__(self, lexicon: Lexicon, source: Sequence[str]) -> None:
        self._lexicon, self._source = lexicon, dict.fromkeys(source)

    def __missing__(self, word: str) -> str:
        """Finds the likeliest word of the source, the first of equals."""
        row = self._lexicon.get(word, {})
        linked = [one for one in self._source if row.get(one, 0.0) > 0.0]
        self[word] = name = f"pair={max(linked, key=row.__getitem__)}|{word}" if linked else ""
        return name


def _grams(kind: str, words: Sequence[str], order: int) -> Iterator[str]:
    ends = ["<s>", *words, "</s>"]
    for n in range(1, order + 1):
        # Single words exclude the sentence ends, which every hypothesis has.
        row = words if n == 1 else ends
        for start in range(len(row) - n + 1):
            yield f"{kind}={' '.join(row[start : start + n])}"
