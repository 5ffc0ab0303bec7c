"""Alignment error rate against gold links (Och and Ney 2003, section 5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xlate.align.links import Links, check_inside, check_line_count, marked_links, matched_lengths
from xlate.errors import InputError

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


def read_gold(
    path: str | Path,
    source_lengths_S: Sequence[int] | None = None,
    target_lengths_S: Sequence[int] | None = None,
    *,
    first: int | None = None,
    reverse: bool = False,
) -> GoldLinks:
    """Reads gold links, one line a sentence pair: `i-j` is sure, `ipj` or `i?j` possible.

    Args:
        source_lengths_S: words of each source sentence, when links shall be checked to lie inside.
        target_lengths_S: the same for the target.
        first: the number of the first word, 0 or 1. None: 0 when the file names a position 0, else 1.
        reverse: the file writes the target position first.

    Raises:
        InputError: a malformed link, or a link outside its sentence (with the line), or a wrong number of lines.
    """
    marked = list(marked_links(path, _GOLD, reverse=reverse))
    if first is None:
        first = 0 if any(0 in (i, j) for links in marked for i, _, j in links) else 1
    shifted = [[(i - first, mark, j - first) for i, mark, j in links] for links in marked]
    possible = [frozenset((i, j) for i, _, j in links) for links in shifted]
    sure = [frozenset((i, j) for i, mark, j in links if mark == "-") for links in shifted]
    # Positions must not lie below the first and, when the lengths are known, must lie inside.
    known = source_lengths_S is not None and target_lengths_S is not None
    lengths = [(1 << 31, 1 << 31)] * len(possible)
    if source_lengths_S is not None and target_lengths_S is not None:
        check_line_count(path, len(possible), matched_lengths(source_lengths_S, target_lengths_S))
        lengths = list(zip(source_lengths_S, target_lengths_S, strict=True))
    for number, (links, (source, target)) in enumerate(zip(possible, lengths, strict=True), 1):
        if known or any(min(link) < 0 for link in links):
            check_inside(sorted(links), source, target, path, number)
    return GoldLinks(sure, possible)


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
            "as many of one as of the other",
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
