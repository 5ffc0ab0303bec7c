"""Word alignment links of a parallel corpus, the Pharaoh files that hold them, and their error rate on gold links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from xlate.array_types import AnyInts, Ints, Ints32
from xlate.arrays.ragged import gathered, offsets_of, row_numbers
from xlate.arrays.scratch import Scratch, joined_rows
from xlate.errors import InputError
from xlate.text.lines import FileLines, check_length, count_lines, write_lines

_LINK = re.compile(r"([0-9]{1,9})(-)([0-9]{1,9})", re.ASCII)
Lengths = Sequence[int] | AnyInts
# Sentence pairs whose links are read at a time.
BATCH = 1 << 14
REMEDY = "align the same two files again, or check which side is the source"


@dataclass(frozen=True)
class Links:
    """L links of S sentence pairs; those of pair s lie between `offsets_S1[s]` and `offsets_S1[s + 1]`.

    Links of one pair are distinct and sorted by (source, target). Positions count from 0.

    Example: the pairs `0-0 1-2`, no link, and `0-1`::

        source_L    0 1 0
        target_L    0 2 1
        offsets_S1  0 2 2 3
    """

    source_L: Ints32
    target_L: Ints32
    offsets_S1: Ints

    @classmethod
    def from_pairs(cls, sentences: Iterable[Iterable[tuple[int, int]]]) -> Links:
        """Collects the (source, target) links of each sentence pair, in any order; repeated ones count once."""
        rows = [sorted(set(links)) for links in sentences]
        flat_L2 = np.array([link for row in rows for link in row], np.int32).reshape(-1, 2)
        source_L, target_L = np.ascontiguousarray(flat_L2.T)
        return cls(source_L, target_L, offsets_of(list(map(len, rows))))

    def __len__(self) -> int:
        """The number of sentence pairs S."""
        return len(self.offsets_S1) - 1

    def sentence(self, s: int) -> tuple[Ints32, Ints32]:
        """Source and target positions of the links of sentence pair s."""
        start, end = self.offsets_S1[s], self.offsets_S1[s + 1]
        return self.source_L[start:end], self.target_L[start:end]

    def pairs(self, s: int) -> list[tuple[int, int]]:
        """The links of sentence pair s as a list of (source, target)."""
        source_l, target_l = self.sentence(s)
        return list(zip(source_l.tolist(), target_l.tolist(), strict=True))

    def part(self, first: int, last: int) -> Links:
        """The links of the sentence pairs from `first` to before `last`."""
        places = slice(*self.offsets_S1[[first, last]])
        offsets_S1 = self.offsets_S1[first : last + 1] - self.offsets_S1[first]
        return Links(self.source_L[places], self.target_L[places], offsets_S1)

    def select(self, rows_R: AnyInts) -> Links:
        """The links of the given sentence pairs, in that order."""
        places, offsets_R1 = gathered(self.offsets_S1, rows_R)
        return Links(self.source_L[places], self.target_L[places], offsets_R1)

    def transposed(self) -> Links:
        """The same links with source and target exchanged, and sorted again."""
        sentence_L = row_numbers(self.offsets_S1)
        order_L = np.lexsort((self.source_L, self.target_L, sentence_L))
        return Links(self.target_L[order_L], self.source_L[order_L], self.offsets_S1)


def read_links(
    path: str | Path,
    source_lengths_S: Lengths,
    target_lengths_S: Lengths,
    *,
    scratch: Scratch | None = None,
) -> Links:
    """Reads a Pharaoh file: one sentence pair per line, `i-j` links of positions counted from 0, source first.

    Example: with source `das Haus ist klein` and target `the house is small`, the line `0-0 1-1 2-2 3-3`.

    Args:
        path: plain or gzip; a repeated link counts once, an empty line means no links.
        source_lengths_S: words of each source sentence.
        target_lengths_S: words of each target sentence.
        scratch: holds the links; by default they are in memory.

    Raises:
        InputError: a malformed link, a link outside its sentence (both with the line), or a wrong number of lines.
    """
    expected = matched_lengths(source_lengths_S, target_lengths_S)

    def checked() -> Iterator[list[tuple[int, int]]]:
        for number, marked in enumerate(islice(marked_links(path), expected), 1):
            source, target = int(source_lengths_S[number - 1]), int(target_lengths_S[number - 1])
            for i, _, j in marked:
                if i >= source or j >= target:
                    raise InputError(
                        "link outside its sentence pair",
                        f"source position {i}, target position {j} (counted from 0)",
                        f"source position below {source}, target position below {target}",
                        REMEDY,
                        file=path,
                        line=number,
                    )
            yield [(i, j) for i, _, j in marked]

    sentences = checked()
    batches = iter(lambda: list(islice(sentences, BATCH)), [])
    links = joined_links(map(Links.from_pairs, batches), scratch or Scratch())
    # A longer file is counted to its end.
    check_length(path, count_lines(path), expected, "a file of links")
    return links


def joined_links(parts: Iterable[Links], scratch: Scratch) -> Links:
    """The links of the consecutive parts of a text."""
    columns = ((part.source_L, part.target_L, part.offsets_S1) for part in parts)
    return Links(*scratch.stored(joined_rows(columns, 2)))


def write_links(path: str | Path, links: Links) -> None:
    """Writes a Pharaoh file, `i-j` with the source first, one sentence pair per line; see `read_links`."""
    write_lines(path, (" ".join(f"{i}-{j}" for i, j in links.pairs(s)) for s in range(len(links))))


def marked_links(
    path: str | Path, form: re.Pattern[str] = _LINK, *, reverse: bool = False
) -> Iterator[list[tuple[int, str, int]]]:
    """Yields the links of each line: source position, mark and target position, which are the groups of the form.

    With `reverse`, the file has the target position first.

    Raises:
        InputError: a link is not of the given form, with file and line.
    """
    lines = FileLines(path, "check that this is a complete alignment file")
    for line in lines:
        links = []
        for text in filter(None, line.split(" ")):
            match = form.fullmatch(text)
            if match is None:
                raise lines.error("malformed link", text, "links like 3-4, counted from 0, separated by spaces")
            first, second = int(match[1]), int(match[3])
            links.append((second, match[2], first) if reverse else (first, match[2], second))
        yield links


def matched_lengths(source: Sized, target: Sized, remedy: str | None = None) -> int:
    """The number of sentence pairs of two texts, or of the lists of their lengths.

    Raises:
        InputError: they differ.
    """
    if len(source) != len(target):
        raise InputError(
            "source and target differ in number of sentences",
            f"{len(source)} source and {len(target)} target sentences",
            "the same number of each",
            remedy,
        )
    return len(source)


def check_counts(source: Sized, target: Sized, links: Links) -> None:
    """Refuses links whose number of sentence pairs is not that of two texts.

    Raises:
        InputError: the three differ in number of sentences.
    """
    if not len(source) == len(target) == len(links):
        raise InputError(
            "source, target and links differ in number of sentences",
            f"{len(source)} source sentences, {len(target)} target sentences, {len(links)} lines of links",
            "three equal numbers",
            "align the same two files again",
        )


def check_positions(
    links: Links, source_lengths_S: Lengths, target_lengths_S: Lengths, remedy: str = REMEDY, before: int = 0
) -> None:
    """Refuses links that lead out of their sentence pairs, which follow `before` others.

    Raises:
        InputError: the first such link of the source, else of the target.
    """
    sentence_L = row_numbers(links.offsets_S1)
    sides = (links.source_L, source_lengths_S, "source"), (links.target_L, target_lengths_S, "target")
    for position_L, lengths_S, side in sides:
        length_L = np.asarray(lengths_S)[sentence_L]
        bad = np.flatnonzero((position_L < 0) | (position_L >= length_L))
        if len(bad):
            number = before + int(sentence_L[bad[0]]) + 1
            raise InputError(
                f"link outside its {side} sentence",
                f"sentence pair {number}, {side} position {position_L[bad[0]]}",
                f"positions below {length_L[bad[0]]}",
                remedy,
                line=number,
            )


_GOLD = re.compile(r"([0-9]{1,9})([-p?])([0-9]{1,9})", re.ASCII)

Pairs = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class GoldLinks:
    """Sure and possible links of each sentence pair as (source, target) from 0; the sure ones are possible, too."""

    sure: list[Pairs]
    possible: list[Pairs]

    def __len__(self) -> int:
        return len(self.sure)


@dataclass(frozen=True)
class AlignmentScore:
    """Rates between 0 and 1: `aer` (lower is better), `precision` of possible and `recall` of sure links, and F1."""

    aer: float
    precision: float
    recall: float
    f1: float
    links: int
    sure: int
    possible: int
    sentences: int

    def __str__(self) -> str:
        """One line with percentages to one digit."""
        return (
            f"AER = {100 * self.aer:.1f} precision = {100 * self.precision:.1f} recall = {100 * self.recall:.1f} "
            f"F1 = {100 * self.f1:.1f} (links = {self.links}, sure = {self.sure}, possible = {self.possible}, "
            f"sentences = {self.sentences})"
        )


def read_gold(path: str | Path) -> GoldLinks:
    """Reads gold links, one sentence pair per line: `i-j` is sure, `ipj` or `i?j` possible.

    The first word has the number 0 if the file names a position 0, otherwise 1.

    Raises:
        InputError: a malformed link, with the line.
    """
    marked = list(marked_links(path, _GOLD))
    first = 0 if any(0 in (i, j) for links in marked for i, _, j in links) else 1
    shifted = [[(i - first, mark, j - first) for i, mark, j in links] for links in marked]
    possible = [frozenset((i, j) for i, _, j in links) for links in shifted]
    return GoldLinks([frozenset((i, j) for i, mark, j in links if mark == "-") for links in shifted], possible)


def read_hypothesis_links(path: str | Path, *, swapped: bool = False) -> Links:
    """Reads a Pharaoh file without its text, links from 0; `swapped` says that the target position comes first.

    Raises:
        InputError: a malformed link, with the line.
    """
    return Links.from_pairs([(i, j) for i, _, j in links] for links in marked_links(path, reverse=swapped))


def alignment_error_rate(links: Links, gold: GoldLinks) -> AlignmentScore:
    """AER = `1 - (|A∩S| + |A∩P|) / (|A| + |S|)`, precision `|A∩P| / |A|`, recall `|A∩S| / |S|`, over all pairs.

    Without any links and any sure gold links AER is 0; a precision or recall of nothing is 1.

    Example:
        >>> gold = GoldLinks([frozenset({(0, 0)})], [frozenset({(0, 0), (1, 1)})])
        >>> print(alignment_error_rate(Links.from_pairs([[(0, 0), (1, 1), (1, 2)]]), gold).aer)
        0.25

    Raises:
        InputError: the two differ in number of sentence pairs.
    """
    if len(links) != len(gold):
        raise InputError(
            "links and gold links differ in number of sentence pairs",
            f"{len(links)} lines of links, {len(gold)} lines of gold links",
            "the same number of each",
            "give the links of the gold sentences only, in their order",
        )
    proposed = [frozenset(links.pairs(s)) for s in range(len(links))]
    total, sure, possible = (sum(map(len, each)) for each in (proposed, gold.sure, gold.possible))
    hit_sure = sum(len(a & s) for a, s in zip(proposed, gold.sure, strict=True))
    hit_possible = sum(len(a & p) for a, p in zip(proposed, gold.possible, strict=True))
    precision = hit_possible / total if total else 1.0
    recall = hit_sure / sure if sure else 1.0
    aer = 1.0 - (hit_sure + hit_possible) / (total + sure) if total + sure else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return AlignmentScore(aer, precision, recall, f1, total, sure, possible, len(links))
