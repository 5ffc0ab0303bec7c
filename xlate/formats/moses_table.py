"""Phrase tables in the text format of Moses.

Each line is a phrase pair, `source ||| target ||| p(f|e) lex(f|e) p(e|f) lex(e|f) ||| links ||| N(e) N(f) N(f,e) |||
|||`, with probabilities (no logarithms) and links `i-j`, counted from 0 with the source first, in the order of the
target. Lines are sorted by their bytes. The bar `|` inside a word is written `&#124;`; see `write_phrase_table`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.errors import InputError
from xlate.formats.bars import escape_bars, needs_escape
from xlate.formats.moses_columns import BAR, Columns
from xlate.phrases.table import PhraseTable
from xlate.progress import track
from xlate.text.encoded import EncodedText
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.vocabulary import Vocabulary

CHUNK = 10_000
_LINK = "%d-%d".__mod__


class MosesTable(NamedTuple):
    """A phrase table as it was read, with the vocabularies of its two sides."""

    table: PhraseTable
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary


def write_phrase_table(
    path: str | Path,
    table: PhraseTable,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    *,
    escape: bool | None = None,
    exact: bool = False,
) -> None:
    """Writes a phrase table as Moses does, sorted by bytes; compressed with gzip when the name ends in .gz.

    Args:
        exact: whether numbers are written with all their digits, so that they are read back the same; Moses writes six.
        escape: whether to write `|` inside words as `&#124;` (and a literal `&#124;` as `&amp;#124;`). With None they
            are escaped when any word holds a bar, so that text that Moses's tokenizer has escaped is written as it is.

    Raises:
        InputError: a word is empty, holds a blank or a line end, or holds `|||` while `escape` is False (which is meant
            for factored words such as `house|NN`).
    """
    sources = spell_phrases(path, table.source_phrases, source_vocabulary, escape)
    targets = spell_phrases(path, table.target_phrases, target_vocabulary, escape)
    order_B = moses_order(table, sources, targets)
    write_lines(path, track(_format(table, sources, targets, order_B, exact), "writing phrase table", len(table)))


def read_phrase_table(
    path: str | Path,
    source_vocabulary: Vocabulary | None = None,
    target_vocabulary: Vocabulary | None = None,
    *,
    unescape: bool = True,
    only: Container[str] | None = None,
) -> MosesTable:
    """Reads a Moses phrase table, plain or gzip, with lines in any order; a table of Moses is written again byte by
    byte.

    Links and counts may be missing; then a pair has no links and the count 1. Where lines give different counts for a
    phrase, the largest is taken. Scores must be four numbers of 0 or more; a fifth one is dropped if it is the constant
    2.718 of old tables. Fields behind the counts are dropped.

    Args:
        source_vocabulary: the numbers of source words; None makes a vocabulary of the words in the file.
        target_vocabulary: the same for the target.
        unescape: whether `&#124;` is read as `|`; False for text that Moses's tokenizer has escaped.
        only: the source phrases to read, as they are written in the file; None reads all. See `phrases_in`.

    Raises:
        InputError: a line is ill-formed, has something else where a number must be, a link outside its phrases, a
            phrase pair that came before, or a word that a given vocabulary lacks; the line is named.
    """
    columns = Columns(Path(path))
    for number, line in enumerate(track(iterate_lines(path), "reading phrase table"), start=1):
        if only is None or line.partition(BAR)[0] in only:
            columns.add(line, number)
    source_vocabulary = source_vocabulary or columns.sources.vocabulary(unescape)
    target_vocabulary = target_vocabulary or columns.targets.vocabulary(unescape)
    table = columns.table(source_vocabulary, target_vocabulary, unescape)
    return MosesTable(table, source_vocabulary, target_vocabulary)


def phrases_in(sentences: Iterable[Sequence[str]], longest: int) -> set[str]:
    """All phrases of up to `longest` words in some sentences, their words joined by blanks."""
    return {
        " ".join(words[start:end])
        for words in sentences
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + longest) + 1)
    }


def moses_order(table: PhraseTable, sources: list[str], targets: list[str]) -> Ints:
    """The pairs in the order of Moses's tables, which is that of `LC_ALL=C sort`, shape (B,)."""
    source_rank, target_rank = _byte_ranks(sources), _byte_ranks(targets)
    order_B: Ints = np.lexsort((target_rank[table.target_B], source_rank[table.source_B]))
    return order_B


def spell_phrases(path: str | Path, phrases: EncodedText, vocabulary: Vocabulary, escape: bool | None) -> list[str]:
    """The text of every phrase; with None for `escape`, bars are escaped only when some word holds one.

    Raises:
        InputError: a word that a Moses table cannot hold.
    """
    used = np.unique(phrases.ids_T)
    words = {number: vocabulary.word(number) for number in used.tolist()}
    for word in words.values():
        if not word or " " in word or "\n" in word or (escape is False and "|||" in word):
            raise InputError(
                "a word that a Moses table cannot hold",
                file=path,
                seen=repr(word),
                expected="no empty word, blank or line end, and no ||| unless escaped",
                remedy="tokenise the corpus, or let bars be escaped",
            )
    if escape or (escape is None and needs_escape(words.values())):
        words = {number: escape_bars(word) for number, word in words.items()}
    flat = [words[number] for number in phrases.ids_T.tolist()]
    offsets = phrases.offsets_S1.tolist()
    return [" ".join(flat[start:end]) for start, end in pairwise(offsets)]


def _byte_ranks(phrases: list[str]) -> Ints:
    """The places of the phrases in the order of `LC_ALL=C sort`, in which the bar behind a phrase counts too."""
    keys = [(phrase + BAR).encode() for phrase in phrases]
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def _format(table: PhraseTable, sources: list[str], targets: list[str], order_B: Ints, exact: bool) -> Iterator[str]:
    for first in range(0, len(order_B), CHUNK):
        rows = order_B[first : first + CHUNK]
        spelled = [(sources[p], targets[q]) for p, q in zip(table.source_B[rows], table.target_B[rows], strict=True)]
        yield from pair_lines(table, rows, spelled, table.scores_B4[rows], exact)


def pair_lines(
    table: PhraseTable, rows_R: Ints, spelled: Iterable[tuple[str, str]], scores_RS: Floats, exact: bool
) -> Iterator[str]:
    """The lines of R pairs of a table.

    Args:
        table, rows_R: the pairs; links and counts are those of the table.
        spelled: the two phrases of each as they are to be written.
        scores_RS: the scores that are written.
        exact: as in `write_phrase_table`.
    """
    source, target = table.source_B[rows_R], table.target_B[rows_R]
    counts = (table.target_count_Q[target], table.source_count_P[source], table.count_B[rows_R])
    columns = (scores_RS, *counts, table.link_offsets_B1[rows_R], table.link_offsets_B1[rows_R + 1])
    listed = zip(spelled, *(c.tolist() for c in columns), strict=True)
    for (f, e), scores, n_e, n_f, n_fe, start, end in listed:
        links = zip(table.link_source_K[start:end].tolist(), table.link_target_K[start:end].tolist(), strict=True)
        counted = " ".join(_count(n, exact) for n in (n_e, n_f, n_fe))
        linked = " ".join(map(_LINK, links))
        yield f"{f} ||| {e} ||| {numbers_text(scores, exact)} ||| {linked} ||| {counted} ||| |||"


def numbers_text(numbers: Iterable[float], exact: bool) -> str:
    """Numbers with blanks between them: with six digits each as Moses writes them, or with all when `exact`.

    Example:
        >>> numbers_text([1.0, 1 / 3], exact=False), numbers_text([1.0, 1 / 3], exact=True)
        ('1 0.333333', '1 0.3333333333333333')
    """
    return " ".join(repr(number).removesuffix(".0") if exact else f"{number:.6g}" for number in numbers)


def _count(number: float, exact: bool) -> str:
    return str(int(number)) if number.is_integer() else numbers_text([number], exact)
