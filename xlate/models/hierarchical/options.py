"""The matches of rules in a source sentence, and the translations of their source sides, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.kernels.search.hierarchical.matches import NO_GAP, Matches, match_rules
from xlate.kernels.search.hierarchical.moves import estimate_spans
from xlate.models.derivation import Span
from xlate.models.hierarchical.model import BACKTRACK, GLUE, HierarchicalModel
from xlate.models.hierarchical.ranking import RankedRules, RankedTranslations
from xlate.models.ranking import joined_rows
from xlate.phrases.table import GAP

STRAIGHT, SWAPPED = 0, 1


@dataclass(frozen=True)
class RuleOptions:
    """M matches in a sentence of n words and T translations of their source sides; labels are numbers of both.

    Match m may be translated by translations `begin_M[m]` to `end_M[m]`, which are labels `label_offsets_M1[m]` on.
    `backtrack_M22` is how often a match goes back in the source and by how many words, with its gaps in the order of
    the source, and in reverse.
    """

    words: tuple[str, ...]
    longest: int
    matches: Matches
    begin_M: Ints
    end_M: Ints
    backtrack_M22: Ints32
    found: RankedTranslations

    @cached_property
    def label_offsets_M1(self) -> Ints:
        """The first label of each match, shape (M + 1,)."""
        return offsets_of(self.end_M - self.begin_M)

    def taken_apart(self, labels: AnyInts) -> tuple[Ints, Ints]:
        """The match and the translation of each label."""
        match = np.searchsorted(self.label_offsets_M1, labels, side="right") - 1
        return match, self.begin_M[match] + (labels - self.label_offsets_M1[match])

    def span(self, match: int) -> Span:
        """The source words from the first of a match to behind the last one, gaps among them."""
        begin, end = self.matches.spans_M2[match].tolist()
        return begin, end

    def gaps(self, match: int, swapped: bool) -> tuple[Span, ...]:
        """The gaps of a match in the order of the target."""
        a, b, c, d = self.matches.gaps_M4[match].tolist()
        spans = [span for span in ((a, b), (c, d)) if span[0] != NO_GAP]
        return tuple(reversed(spans) if swapped else spans)

    def backtrack_scores(self, weights_D: Floats) -> Floats:
        """What going back scores, with gaps in order and in reverse, shape (M, 2)."""
        counts_M22 = self.backtrack_M22.astype(np.float64)
        steps, words = weights_D[BACKTRACK].tolist()
        return np.asarray(-(steps * counts_M22[:, :, 0] + words * counts_M22[:, :, 1]), dtype=np.float64)

    def estimates(self, weights_D: Floats, future_cost: bool) -> tuple[Floats, Floats]:
        """The best score without history of each span by rules, and of each suffix glued together; 0 when off."""
        n = len(self.words)
        if not future_cost:
            return np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        best_M2 = self._best_M2() + self.backtrack_scores(weights_D)
        found: tuple[Floats, Floats] = estimate_spans(self.matches, best_M2, n, self.longest, float(weights_D[GLUE]))
        return found

    def with_scores(self, more_T: Floats) -> RuleOptions:
        """The same options whose translations score more wherever they stand."""
        found = self.found
        return replace(self, found=replace(found, static_R=found.static_R + more_T, alone_R=found.alone_R + more_T))

    def _best_M2(self) -> Floats:
        """The best translation of each match alone, with gaps in order and in reverse; minus infinity for none."""
        by_order = [np.where(self.found.swapped_R == swapped, self.found.alone_R, -np.inf) for swapped in (False, True)]
        # A row of its own for each source side: all matches of it have the same translations.
        first, side_M = np.unique(self.begin_M, return_inverse=True)
        best_S2 = np.stack([np.maximum.reduceat(scores, first) for scores in by_order], axis=1)
        return np.asarray(best_S2[side_M], dtype=np.float64)


def collect_rule_options(
    model: HierarchicalModel, ranked: RankedRules, max_span: int, words: Sequence[str]
) -> RuleOptions:
    """The matches of rules in spans of at most `max_span` words.

    A word that no rule translates by itself may stand for itself, at the penalty of unknown words.
    """
    n, sides = len(words), len(model.table.source_sides)
    longest = max(1, min(max_span, n))
    source_n = model.source_vocabulary.ids(words)
    matches: Matches = match_rules(model.source_finder, source_n, GAP, longest, sides)
    rows, place_M = np.unique(matches.row_M, return_inverse=True)
    known = rows[rows < sides]
    ranked.rank(known)
    copied = rows[rows >= sides] - sides
    size_S = np.concatenate([ranked.sizes(known), np.ones(len(copied), dtype=np.int64)])
    found = ranked.units(known)
    if len(copied):
        copies = ranked.copies([words[place] for place in copied.tolist()])
        of_copies = np.arange(int(size_S.sum())) >= len(found.unit_R)
        found = joined_rows(found, copies, of_copies)
    offsets_S1 = offsets_of(size_S)
    return RuleOptions(
        tuple(words),
        longest,
        matches,
        offsets_S1[place_M],
        offsets_S1[place_M + 1],
        backtracks(matches),
        found,
    )


def backtracks(matches: Matches) -> Ints32:
    """How often each match goes back in the source, and by how many words in all; shape (M, 2, 2).

    What is translated first are the match's own words, up to the last of them; then each gap in the order of the
    target. A gap that begins to the left of where the one before it ended is a step back of so many words. The first
    row of a match is for gaps in the order of the source, the second for the reverse.
    """
    a, b, c, d = matches.gaps_M4.T
    end_M = matches.spans_M2[:, 1]
    last_M = np.where(c != NO_GAP, c, a)
    # The own words end where the span does, or where a gap at its end begins.
    ends_with_gap = (last_M != NO_GAP) & (np.where(c != NO_GAP, d, b) == end_M)
    own_M = np.where(ends_with_gap, last_M, end_M)
    found_M22 = np.zeros((len(end_M), 2, 2), dtype=np.int32)
    for order, ((begin, end), (other_begin, _)) in enumerate((((a, b), (c, d)), ((c, d), (a, b)))):
        first = begin if order == STRAIGHT else np.where(c == NO_GAP, a, begin)
        first_end = end if order == STRAIGHT else np.where(c == NO_GAP, b, end)
        second = np.where(c == NO_GAP, NO_GAP, other_begin)
        for start, before in ((first, own_M), (second, first_end)):
            back = np.where(start == NO_GAP, 0, np.maximum(before - start, 0))
            found_M22[:, order, 0] += back > 0
            found_M22[:, order, 1] += back
    return found_M22
