"""Phrase tables in the text format of Moses.

Each line is a phrase pair, `source ||| target ||| p(f|e) lex(f|e) p(e|f) lex(e|f) ||| links ||| N(e) N(f) N(f,e) |||
|||`, with probabilities (no logarithms) and links `i-j`, counted from 0 with the source first, in the order of the
target. Lines are sorted by byte. The bar `|` inside a word is written `&#124;`; see `write_phrase_table`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, places_of
from xlate.arrays.ranges import pieces
from xlate.errors import InputError
from xlate.phrases.runs import number_phrases
from xlate.phrases.table import PhraseTable
from xlate.progress import track
from xlate.text.lines import FileLines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_int, parse_row
from xlate.text.vocabulary import RESERVED, EncodedText, Vocabulary, WordNumbers, reserved

_LITERAL = re.compile(r"&((?:amp;)*)#124;")


def escape_bars(word: str) -> str:
    """Writes `|` as `&#124;`. A text that would be read back as a bar gets one more `amp;`, so that `unescape_bars`
    restores every word.

    Example:
        >>> escape_bars("|||"), escape_bars("&#124;"), escape_bars("a&b")
        ('&#124;&#124;&#124;', '&amp;#124;', 'a&b')
    """
    return _LITERAL.sub(r"&amp;\1#124;", word).replace("|", "&#124;")


def unescape_bars(word: str) -> str:
    """Reads what `escape_bars` wrote; words without `#124;` stay as they are."""
    if "#124;" not in word:
        return word
    return _LITERAL.sub(lambda match: f"&{match[1][4:]}#124;" if match[1] else "|", word)


def needs_escape(words: Iterable[str]) -> bool:
    """Whether any of the words contains a bar."""
    return any("|" in word for word in words)


def parse_links(text: str) -> list[tuple[int, int]]:
    """The links `0-1 2-0`, source first, in the given order.

    Raises:
        ValueError: the text is something else.
    """
    pairs = (link.partition("-") for link in text.split())
    return [(parse_int(source), parse_int(target)) for source, _, target in pairs]


BAR = " ||| "
LINKS = "links like 0-1, source first, counted from 0"
OLD_PENALTY = 2.718
LAST = np.iinfo(np.int16).max
FORM = "source ||| target ||| p(f|e) lex(f|e) p(e|f) lex(e|f) ||| links ||| N(e) N(f) N(f,e) ||| |||"

# The left side of a rule, which Joshua and cdec write first.
_LABEL = re.compile(r"\[[^\[\] ]+\]")


class Phrases:
    """The distinct phrases of one side, and their words, numbered in the order of reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, int] = {}
        self.words, self.ids, self.lengths = WordNumbers(), array("i"), array("q")

    def row(self, phrase: str, line: int) -> int:
        """The row of a phrase; -1 if it is empty, or contains an empty word or `|||`.

        Raises:
            InputError: a word is reserved.
        """
        if phrase in self.rows:
            return self.rows[phrase]
        words = phrase.split(" ")
        if "" in words or "|||" in phrase:
            return -1
        if own := [word for word in words if word in RESERVED]:
            raise reserved(own[0], self.path, line)
        self.rows[phrase] = row = len(self.rows)
        self.lengths.append(self.words.append_to(self.ids, words))
        return row

    def numbered(self, unescape: bool) -> tuple[Vocabulary, EncodedText, Ints32]:
        """The words, those in most phrases first; the distinct phrases, sorted and numbered as in a phrase table; and
        the new row of each old row.
        """
        ids = np.asarray(self.ids)
        counts = dict(zip(self.words, np.bincount(ids).tolist(), strict=True))
        spelled = {word: unescape_bars(word) if unescape else word for word in self.words}
        sorted_words = sorted(spelled, key=lambda word: (-counts[word], word))
        vocabulary = Vocabulary(dict.fromkeys(spelled[word] for word in sorted_words))
        text = EncodedText(vocabulary.ids(list(spelled.values()))[ids], offsets_of(np.asarray(self.lengths)))
        return vocabulary, *number_phrases(text)


class MosesTable(NamedTuple):
    """A phrase table as it was read, with the vocabularies of its two sides."""

    table: PhraseTable
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary


class Columns(FileLines):
    """The lines of one phrase table, and their content, column by column.

    Row b was read from line `lines[b]`. `more` says how many scores may follow the four; they are not kept (see
    `split_scores`), and all lines must have as many as the first. `order_B` are the rows in the order of the table,
    once it is made.
    """

    order_B: Ints

    def __init__(self, path: Path, more: tuple[int, ...] = (0,)) -> None:
        super().__init__(path, "check that this is a Moses phrase table with all its fields")
        self.more = more
        self.sources, self.targets = Phrases(path), Phrases(path)
        self.lines, self.source, self.target, self.shape = (array("q") for _ in range(4))
        self.scores, self.counts = array("d"), array("d")
        # For some link fields, the number of links and the last places that they reach.
        self.shapes: dict[str, tuple[int, int, int]] = {}
        self.links: list[list[tuple[int, int]]] = []

    def add(self, line: str) -> None:
        """Parses and adds one line.

        Raises:
            InputError: the line does not have the form of a phrase pair.
        """
        parts = line.rstrip(" ").removesuffix(" |||").removesuffix(" |||").split(BAR)
        if not 3 <= len(parts) <= 7:
            raise self.error("wrong number of fields", line, FORM)
        if self.number == 1 and _LABEL.fullmatch(parts[0]) and len(parts) > 3:
            raise self.error("rules of a grammar, not phrase pairs", line, "a table without nonterminals")
        phrase, translation, scores, links, counts, *_ = [*parts, "", ""]
        source, target = self.sources.row(phrase, self.number), self.targets.row(translation, self.number)
        if source < 0 or target < 0:
            raise self.error("an empty phrase, or one with two spaces in a row", line, FORM)
        self.lines.append(self.number)
        self.source.append(source)
        self.target.append(target)
        self.scores.extend(self.split_scores(scores)[0])
        shape, *last = self.shapes.get(links) or self.add_shape(links)
        lengths = [self.sources.lengths[source], self.targets.lengths[target]]
        if last[0] >= lengths[0] or last[1] >= lengths[1]:
            expected = f"links within {lengths[0]} source and {lengths[1]} target words"
            raise self.error("a link outside its phrases", self.links[shape], expected)
        self.shape.append(shape)
        values = self.numbers(counts)
        if len(values) not in (0, 2, 3):
            raise self.error("wrong number of counts", counts, "none, or N(e) N(f), or N(e) N(f) N(f,e)")
        # Missing counts become NaN.
        self.counts.extend(values + [np.nan] * (3 - len(values)))

    def numbers(self, text: str) -> list[float]:
        values = parse_row(text, LARGEST_FLOAT32)
        if values is None:
            raise self.error("not numbers", text, "finite numbers separated by spaces")
        if min(values, default=0.0) < 0:
            raise self.error("a score or count out of range", text, "finite numbers, 0 or more")
        return values

    def split_scores(self, text: str) -> tuple[list[float], list[float]]:
        """The four scores of a line, and those after them; a fifth of 2.718, which old tables have, is dropped.

        Raises:
            InputError: the scores are not numbers, or there are too many or too few.
        """
        values = self.numbers(text)
        if self.more == (0,) and len(values) == 5 and values[4] == OLD_PENALTY:
            values.pop()
        if len(values) - 4 not in self.more:
            expected = "four: p(f|e) lex(f|e) p(e|f) lex(e|f)"
            if self.more != (0,):
                expected = f"{expected}, and {' or '.join(map(str, self.more))} after them"
            raise self.error("wrong number of scores", text, expected)
        self.more = (len(values) - 4,)
        return values[:4], values[4:]

    def add_shape(self, text: str) -> tuple[int, int, int]:
        try:
            links = [(min(source, LAST), min(target, LAST)) for source, target in parse_links(text)]
        except ValueError:
            raise self.error("malformed link", text, LINKS) from None
        first, second = (max((link[side] for link in links), default=-1) for side in (0, 1))
        self.shapes[text] = shape = len(self.links), first, second
        self.links.append(links)
        return shape

    def table(self, unescape: bool) -> MosesTable:
        """The table of all lines.

        Raises:
            InputError: see `read_phrase_table`.
        """
        scores_B4, counts_B3 = np.asarray(self.scores).reshape(-1, 4), np.asarray(self.counts).reshape(-1, 3)
        source_vocabulary, sources, row_P = self.sources.numbered(unescape)
        target_vocabulary, targets, row_Q = self.targets.numbered(unescape)
        source_B, target_B = row_P[np.asarray(self.source)], row_Q[np.asarray(self.target)]
        order = self.order_B = np.lexsort((target_B, source_B))
        counts_B3 = _filled(counts_B3, scores_B4, source_B, target_B)[order]
        source_B, target_B = source_B[order], target_B[order]
        twice = np.flatnonzero((source_B[1:] == source_B[:-1]) & (target_B[1:] == target_B[:-1]))
        if len(twice):
            earlier, later = (self.lines[int(order[place])] for place in (twice[0], twice[0] + 1))
            seen, expected = f"the pair of line {earlier}", "each phrase pair once"
            raise self.error("a phrase pair appears twice", seen, expected, line=later)
        offsets_X1 = offsets_of(list(map(len, self.links)))
        links_K2 = np.array([link for links in self.links for link in links], np.int16).reshape(-1, 2)
        shape_B = np.asarray(self.shape)[order]
        places_K = places_of(offsets_X1, shape_B)
        source_count_P, target_count_Q = np.zeros(len(sources)), np.zeros(len(targets))
        np.maximum.at(source_count_P, source_B, counts_B3[:, 1])
        np.maximum.at(target_count_Q, target_B, counts_B3[:, 0])
        table = PhraseTable(
            source_phrases=sources,
            target_phrases=targets,
            source_B=source_B,
            target_B=target_B,
            count_B=np.ascontiguousarray(counts_B3[:, 2]),
            scores_B4=scores_B4[order],
            link_offsets_B1=offsets_of(np.diff(offsets_X1)[shape_B]),
            link_source_K=links_K2[places_K, 0],
            link_target_K=links_K2[places_K, 1],
            source_count_P=source_count_P,
            target_count_Q=target_count_Q,
        )
        return MosesTable(table, source_vocabulary, target_vocabulary)


def _filled(counts_B3: Floats, scores_B4: Floats, source_B: Ints32, target_B: Ints32) -> Floats:
    """Fills in missing counts: N(f,e) = N(f) p(e|f); the pair of a line without any counts gets 1."""
    none_B = np.isnan(counts_B3[:, 0]).astype(np.float64)
    alone_B3 = np.stack([np.bincount(target_B, none_B)[target_B], np.bincount(source_B, none_B)[source_B], none_B], 1)
    filled_B3 = np.where(none_B[:, None] > 0, alone_B3, counts_B3)
    joint_B = filled_B3[:, 1] * scores_B4[:, 2]
    filled_B3[:, 2] = np.where(np.isnan(filled_B3[:, 2]), joint_B, filled_B3[:, 2])
    return filled_B3


CHUNK = 10_000
_LINK = "%d-%d".__mod__


def write_phrase_table(
    path: str | Path,
    table: PhraseTable,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    escape: bool | None = None,
    exact: bool = False,
) -> None:
    """Writes a phrase table as Moses does, sorted by byte; compressed with gzip if the name ends in .gz.

    Args:
        exact: whether to write numbers with all digits, so that they are read back the same; Moses writes six.
        escape: whether to write `|` inside words as `&#124;` (and a literal `&#124;` as `&amp;#124;`). With None they
            are escaped if any word contains a bar, so text that Moses's tokenizer has escaped is written as it is.

    Raises:
        InputError: a word is empty, contains a blank or a line end, or contains `|||` with `escape=False` (which is
            meant for factored words such as `house|NN`).
    """
    sources, targets, order_B = spelled_table(path, table, source_vocabulary, target_vocabulary, escape)
    lines = (
        line
        for rows in (order_B[piece] for piece in pieces(len(order_B), CHUNK))
        for line in pair_lines(
            table,
            rows,
            ((sources[p], targets[q]) for p, q in zip(table.source_B[rows], table.target_B[rows], strict=True)),
            table.scores_B4[rows],
            exact,
        )
    )
    write_lines(path, track(lines, "writing phrase table", len(table)))


def read_phrase_table(path: str | Path, only: Container[str] | None = None) -> MosesTable:
    """Reads a Moses phrase table, plain or gzip, with lines in any order.

    A table from Moses is written back byte for byte. Words are read as they are: `&#124;`, with which Moses's tokenizer
    replaces a bar, stays. Links and counts may be missing; then a pair has no links and the count 1. If lines give
    different counts for a phrase, the largest is used. Scores must be four numbers of 0 or more; a fifth one is dropped
    if it is the constant 2.718 of old tables. Fields after the counts are dropped.

    Args:
        path: the file.
        only: the source phrases to read, as they are written in the file; None reads all. See `phrases_in`.

    Raises:
        InputError: a line is ill-formed, lacks a number where one must be, has a link outside its phrases, repeats a
            phrase pair, or contains a reserved word; the message names the line.
    """
    columns = Columns(Path(path))
    for line in track(columns, "reading phrase table"):
        if only is None or line.partition(BAR)[0] in only:
            columns.add(line)
    return columns.table(unescape=False)


def phrases_in(sentences: Iterable[Sequence[str]], longest: int) -> set[str]:
    """All phrases of up to `longest` words in some sentences, with words joined by blanks."""
    return {
        " ".join(words[start:end])
        for words in sentences
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + longest) + 1)
    }


def spelled_table(
    path: str | Path, table: PhraseTable, source: Vocabulary, target: Vocabulary, escape: bool | None
) -> tuple[list[str], list[str], Ints]:
    """The text of every source and target phrase (see `spell_phrases`), and the pairs in the order of Moses's tables,
    which is that of `LC_ALL=C sort`, shape (B,).
    """
    sources = spell_phrases(path, table.source_phrases, source, escape)
    targets = spell_phrases(path, table.target_phrases, target, escape)
    return sources, targets, np.lexsort((_byte_ranks(targets)[table.target_B], _byte_ranks(sources)[table.source_B]))


def spell_phrases(path: str | Path, phrases: EncodedText, vocabulary: Vocabulary, escape: bool | None) -> list[str]:
    """The text of every phrase; with None for `escape`, bars are escaped only if some word contains one.

    Raises:
        InputError: a Moses table cannot hold a word.
    """
    words = {number: vocabulary.word(number) for number in np.unique(phrases.ids_T).tolist()}
    for word in words.values():
        if not word or " " in word or "\n" in word or (escape is False and "|||" in word):
            raise InputError(
                "a word that a Moses table cannot hold",
                repr(word),
                "a word without spaces or line ends, and without ||| unless escaped",
                "tokenise the corpus, or allow bars to be escaped",
                file=path,
            )
    if escape or (escape is None and needs_escape(words.values())):
        words = {number: escape_bars(word) for number, word in words.items()}
    flat = [words[number] for number in phrases.ids_T.tolist()]
    return [" ".join(flat[start:end]) for start, end in pairwise(phrases.offsets_S1.tolist())]


def _byte_ranks(phrases: list[str]) -> Ints:
    """The places of the phrases in the order of `LC_ALL=C sort`, where the bar after a phrase counts too."""
    keys = [(phrase + BAR).encode() for phrase in phrases]
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def pair_lines(
    table: PhraseTable, rows_R: Ints, spelled: Iterable[tuple[str, str]], scores_RS: Floats, exact: bool
) -> Iterator[str]:
    """The lines of R pairs of a table.

    Args:
        table, rows_R: the pairs; links and counts are those of the table.
        spelled: the text of the two phrases of each.
        scores_RS: the scores to write.
        exact: as in `write_phrase_table`.
    """
    source, target = table.source_B[rows_R], table.target_B[rows_R]
    counts_R3 = np.stack([table.target_count_Q[target], table.source_count_P[source], table.count_B[rows_R]], 1)
    columns = rows_R.tolist(), scores_RS.tolist(), counts_R3.tolist()
    for (f, e), row, scores, counts in zip(spelled, *columns, strict=True):
        linked = " ".join(map(_LINK, table.links(row)))
        counted = " ".join(str(int(n)) if n.is_integer() else numbers_text([n], exact) for n in counts)
        yield f"{f} ||| {e} ||| {numbers_text(scores, exact)} ||| {linked} ||| {counted} ||| |||"


def numbers_text(numbers: Iterable[float], exact: bool) -> str:
    """Numbers joined by blanks: with six digits each as in Moses, or with all digits if `exact`.

    Example:
        >>> numbers_text([1.0, 1 / 3], exact=False), numbers_text([1.0, 1 / 3], exact=True)
        ('1 0.333333', '1 0.3333333333333333')
    """
    return " ".join(repr(number).removesuffix(".0") if exact else f"{number:.6g}" for number in numbers)
