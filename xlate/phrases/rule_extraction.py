"""Extracts hierarchical rules: phrase pairs from which smaller ones were cut out (Chiang 2005, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.links import Links
from xlate.array_types import Bools, Floats, Ints32
from xlate.arrays.ragged import marked_in_rows, offsets_of
from xlate.errors import InputError
from xlate.kernels.counting.rule_extraction import ONE, RuleLimits, RuleStore, count_rules, new_rule_store
from xlate.phrases.extract import LONGEST, check_linked, number_phrases, sentence_links
from xlate.phrases.rule_runs import MergedRules, RuleRuns, sorted_run
from xlate.phrases.rules import GAP, MOST_GAPS
from xlate.phrases.table import select_phrases
from xlate.progress import track
from xlate.text.encoded import EncodedText, sides
from xlate.text.vocabulary import END_ID

# The second non-terminal in target sides while rules are counted; no sentence holds `</s>`.
SECOND = END_ID
# Source words of the parts of a corpus between which memory is looked at.
PART_WORDS = 2000
# How many times the tables of counts must find room while they grow and are sorted.
GROWTH = 2


@dataclass(frozen=True)
class RuleSettings:
    """What rules are extracted and how they are counted.

    Rules come from consistent phrase pairs of at most `source_span` and `target_span` words. They have at most
    `symbols` source words and non-terminals, at most `most_gaps` non-terminals, each in the place of `least_gap` source
    words or more, and at least `least_links` links; non-terminals side by side in the source must be `adjacent`.

    Chiang keeps the smallest of the phrase pairs that hold the same links, so that no phrase begins or ends with an
    unaligned word. With `loose_phrases` others give rules too (decision 24), with `loose_gaps` they are also cut out of
    larger ones.

    With `shared_counts` a phrase pair counts 1, divided equally among all rules that come from it (Chiang 2005, section
    3.2; Moses too); otherwise each of its rules counts 1, so that long phrase pairs, of which many rules come, weigh
    more. Rules with non-terminals are left out when they count less than `least_count`, after all probabilities.

    `unlikely` is the lexical probability below which a word counts as inserted or deleted. Counting takes up to about
    `memory_mb` megabytes, beside the text and the finished table; what exceeds them goes to scratch files.

    Raises:
        InputError: a number out of its range.
    """

    source_span: int = 10
    target_span: int = 10
    symbols: int = 5
    most_gaps: int = MOST_GAPS
    least_gap: int = 1
    least_links: int = 1
    adjacent: bool = False
    loose_phrases: bool = True
    loose_gaps: bool = False
    shared_counts: bool = True
    least_count: float = 0.0
    unlikely: float = 0.1
    memory_mb: int = 1024

    def __post_init__(self) -> None:
        ranges = {
            **dict.fromkeys(("source_span", "target_span", "symbols", "least_gap"), (1, LONGEST)),
            "most_gaps": (0, MOST_GAPS),
            "least_links": (0, LONGEST),
            "least_count": (0, 1e9),
            "unlikely": (0, 1),
            "memory_mb": (1, 1 << 30),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"no usable {name} of rules", seen=value, expected=f"from {low} to {high:g}")

    def identity(self) -> dict[str, Any]:
        """All that makes the rules these and no others."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "memory_mb"}


@dataclass(frozen=True)
class RuleCounts:
    """B rules as in `RuleTable`, with the counts of all rules of the same source side and of the same target side.

    A target side is b̄ β: rules with other non-terminals, or with the same in the other order, have another one.
    """

    source_sides: EncodedText
    target_phrases: EncodedText
    source_B: Ints32
    target_B: Ints32
    swapped_B: Bools
    count_B: Floats
    source_count_B: Floats
    target_count_B: Floats
    shapes: EncodedText
    shape_B: Ints32

    def __len__(self) -> int:
        """The number of rules B."""
        return len(self.source_B)


def extract_rules(
    source: EncodedText,
    target: EncodedText,
    links: Links,
    settings: RuleSettings | None = None,
    scratch: Path | None = None,
) -> RuleCounts:
    """Counts the rules in target normal form of a corpus (Watanabe et al. 2007, section 2.1).

    Args:
        settings: what rules; those of Chiang by default.
        scratch: a folder for files that are removed at the end, by default where temporary files go.

    Raises:
        InputError: the three differ in number of sentences, or a link is outside its sentence pair.
    """
    settings = settings or RuleSettings()
    merged = merged_rules(source, target, links, settings, scratch)
    phrases, phrase_Q = number_phrases(_without_gaps(merged.targets))
    phrase_B, swapped_B = phrase_Q[merged.target_B], _swapped(merged.targets)[merged.target_B]
    order = np.argsort((merged.source_B.astype(np.int64) << 32) | (phrase_B.astype(np.int64) << 1) | swapped_B)
    source_rows, source_B = np.unique(merged.source_B[order], return_inverse=True)
    target_rows, target_B = np.unique(phrase_B[order], return_inverse=True)
    return RuleCounts(
        select_phrases(merged.sources, source_rows),
        select_phrases(phrases, target_rows),
        source_B.astype(np.int32),
        target_B.astype(np.int32),
        swapped_B[order],
        merged.weight_B[order] / ONE,
        merged.totals.source_P[merged.source_B[order]] / ONE,
        merged.totals.target_Q[merged.target_B[order]] / ONE,
        merged.shapes,
        merged.shape_B[order],
    )


def merged_rules(
    source: EncodedText,
    target: EncodedText,
    links: Links,
    settings: RuleSettings,
    scratch: Path | None = None,
    *,
    anywhere: bool = False,
) -> MergedRules:
    """The rules of a corpus with target sides of words and the numbers `GAP` and `SECOND`; `anywhere` lifts the normal
    form.

    Raises:
        InputError: see `extract_rules`.
    """
    check_linked(source, target, links)
    limits = _limits(settings, anywhere)
    pairs, by_target = sides(source, target), sentence_links(links)
    store = new_rule_store()
    with RuleRuns(scratch) as runs:
        for first, last in track(list(_parts(source)), "rules"):
            store = count_rules(pairs, by_target, first, last, limits, store)
            if GROWTH * _bytes(store) > settings.memory_mb << 20:
                runs.write(sorted_run(store))
                store = new_rule_store()
        run = sorted_run(store)
        del store
        return runs.merge(run, round(settings.least_count * ONE))


def _limits(settings: RuleSettings, anywhere: bool) -> RuleLimits:
    return RuleLimits(
        source_span=settings.source_span,
        target_span=settings.target_span,
        symbols=settings.symbols,
        gaps=settings.most_gaps,
        least_gap=settings.least_gap,
        least_links=settings.least_links,
        adjacent=settings.adjacent,
        loose_phrases=settings.loose_phrases,
        loose_gaps=settings.loose_gaps,
        shared=settings.shared_counts,
        anywhere=anywhere,
        first=GAP,
        second=SECOND,
    )


def _parts(source: EncodedText) -> Iterator[tuple[int, int]]:
    """First and last sentence of parts of about `PART_WORDS` words."""
    part_S = source.offsets_S1[:-1] // PART_WORDS
    firsts = np.flatnonzero(np.diff(part_S, prepend=-1)).tolist()
    return pairwise([*firsts, len(source)])


def _bytes(store: RuleStore) -> int:
    return sum(array.nbytes for part in store[:-1] for array in part) + store.weight_N.nbytes


def is_gap(text: EncodedText) -> Bools:
    """Which words of some sides are non-terminals, (T,)."""
    is_gap_T: Bools = (text.ids_T == GAP) | (text.ids_T == SECOND)
    return is_gap_T


def _without_gaps(targets: EncodedText) -> EncodedText:
    is_gap_T = is_gap(targets)
    gaps_Q = marked_in_rows(is_gap_T, targets.offsets_S1)
    return EncodedText(targets.ids_T[~is_gap_T], offsets_of(np.diff(targets.offsets_S1) - gaps_Q))


def _swapped(targets: EncodedText) -> Bools:
    """Which target sides in normal form end with the second non-terminal before the first."""
    before_last_Q = targets.ids_T[targets.offsets_S1[1:] - 2] if len(targets) else targets.ids_T[:0]
    lengths_Q = np.diff(targets.offsets_S1)
    swapped_Q: Bools = (lengths_Q > 2) & (before_last_Q == SECOND)
    return swapped_Q
