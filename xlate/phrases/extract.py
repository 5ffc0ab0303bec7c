"""Phrase extraction: the phrase pairs that are consistent with the word alignment, and other rules, with counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from xlate.align.links import Links, check_counts, check_positions
from xlate.arrays.ranges import pieces
from xlate.errors import refuse_if
from xlate.kernels.counting import rule_extraction
from xlate.kernels.counting.rule_extraction import RuleLimits
from xlate.kernels.pairs import SentenceLinks, Sides
from xlate.phrases.runs import PairCounts, Run, Runs, sorted_run
from xlate.progress import track
from xlate.text.vocabulary import EncodedText, sides

LONGEST = 255
# Source words per part of a corpus; memory is checked between parts.
PART_WORDS = 2000
# Sentence pairs whose links are sorted at a time.
PART_SENTENCES = 1 << 16
ALIGN_AGAIN = "align the same two files again"


def extract_phrases(source: EncodedText, target: EncodedText, links: Links, max_length: int = 7) -> PairCounts:
    """Counts the consistent phrase pairs of a corpus in memory (Koehn, Och and Marcu 2003, section 3).

    A source span and a target span make a phrase pair when they hold a link between them and no link leads from
    inside one to outside the other. So spans are tried with and without unaligned words at a boundary, as in Moses.

    Args:
        max_length: the most words of a phrase, on each side.

    Raises:
        InputError: the three differ in number of sentences, a link is outside its sentence pair, or `max_length`
            is not between 1 and 255.
    """
    return extract_pairs(source, target, links, phrase_limits(max_length), Runs())


def phrase_limits(max_length: int) -> RuleLimits:
    """The phrase pairs of at most so many words per side, each of which counts 1.

    Raises:
        InputError: see `extract_phrases`.
    """
    refuse_if(not 1 <= max_length <= LONGEST, "unusable phrase length", max_length, f"1 to {LONGEST} words")
    return RuleLimits(max_length, max_length, max_length)


def extract_pairs(
    source: EncodedText,
    target: EncodedText,
    links: Links,
    limits: RuleLimits,
    runs: Runs,
    parts: Sequence[Path] = (),
) -> PairCounts:
    """Counts the phrase pairs or rules of a corpus.

    Args:
        limits: which.
        runs: the memory; what is returned may be mapped from its files.
        parts: folders with the saved runs of all parts of the corpus, if these have been counted.

    Raises:
        InputError: see `count_pairs`; a part is damaged.
    """
    for part in parts:
        runs.read(part)
    return runs.merge(limits, None if parts else count_pairs(source, target, links, limits, runs))


def count_pairs(source: EncodedText, target: EncodedText, links: Links, limits: RuleLimits, runs: Runs) -> Run:
    """Counts the phrase pairs or rules of a corpus into runs; returns the last, which is not written.

    Raises:
        InputError: the three differ in number of sentences, or a link is outside its sentence pair.
    """
    store = rule_extraction.new_pair_store()
    words, total = "rules" if limits.first else "phrases", 1 + len(source.ids_T) // PART_WORDS
    for part in track(linked_parts(source, target, links), words, total=total):
        store = rule_extraction.count_pairs(*part, limits, store)
        if runs.are_full([*(array for table in store[:-1] for array in table), store.weight_N]):
            runs.write(sorted_run(store))
            store = rule_extraction.new_pair_store()
    return sorted_run(store)


def linked_parts(
    source: EncodedText, target: EncodedText, links: Links
) -> Iterator[tuple[Sides, SentenceLinks, tuple[int, int]]]:
    """Ranges of sentence pairs, between which memory is checked, each with a larger part of the corpus that has it.

    Raises:
        InputError: see `linked_sides`.
    """
    check_counts(source, target, links)
    for piece in pieces(len(source), PART_SENTENCES):
        rows = piece.start, piece.stop
        text = linked_sides(source.part(*rows), target.part(*rows), links.part(*rows), before=piece.start)
        offsets_S1 = text[0].source_offsets_S1
        firsts = np.flatnonzero(np.diff(offsets_S1[:-1] // PART_WORDS, prepend=-1)).tolist()
        for part in pairwise([*firsts, len(offsets_S1) - 1]):
            yield *text, part


def linked_sides(
    source: EncodedText, target: EncodedText, links: Links, before: int = 0
) -> tuple[Sides, SentenceLinks]:
    """Sentence pairs, which follow `before` others, and their links in the form that compiled loops take.

    Raises:
        InputError: the three differ in number of sentences, or a link is outside its sentence pair.
    """
    check_counts(source, target, links)
    lengths = np.diff(source.offsets_S1), np.diff(target.offsets_S1)
    check_positions(links, *lengths, ALIGN_AGAIN, before)
    by_target = links.transposed()
    return sides(source, target), SentenceLinks(by_target.target_L, by_target.source_L, by_target.offsets_S1)
