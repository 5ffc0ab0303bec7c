"""The matches of rules in a source sentence, and the translations of their source sides, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, places_of
from xlate.kernels.search.hierarchical.matches import NO_GAP, Matches, match_rules
from xlate.models.derivation import COPIED, Span
from xlate.models.hierarchical.model import LM, HierarchicalModel
from xlate.models.ranking import RankedRows, Ranking, best_of_groups, joined_rows, logprobs_alone, phrases_alone
from xlate.models.unit_model import weighted_sum
from xlate.phrases.table import GAP, select_phrases

STRAIGHT, SWAPPED = 0, 1


@dataclass(frozen=True)
class RankedTranslations(RankedRows):
    """R rules, those of each source side together and best first.

    Attributes:
        swapped_R: whether the gaps of a rule come in reverse in the target.
    """

    swapped_R: Bools


class RankedRules(Ranking[RankedTranslations]):
    """The best `options` rules of each source side asked for, under some weights."""

    def __init__(self, model: HierarchicalModel, weights_D: Floats, options: int) -> None:
        self.model = model
        self.weights_D = weights_D
        self.options = options
        super().__init__(len(model.table.source_sides), RankedTranslations)

    def ranked(self, rows: Ints) -> tuple[RankedTranslations, Ints]:
        """The rules of some source sides, and how many each of them keeps."""
        model, offsets_P1 = self.model, self.model.unit_offsets_P1
        rule_B, size_S = places_of(offsets_P1, rows), offsets_P1[rows + 1] - offsets_P1[rows]
        static_B = weighted_sum(model.rule_features(rule_B), self.weights_D)
        targets = model.target_phrases(rule_B)
        words_T = model.lm_number_V[targets.ids_T]
        alone_B = static_B + self.weights_D[LM] * logprobs_alone(model.lm, targets.offsets_S1, words_T)
        kept = best_of_groups(alone_B, size_S, self.options)
        chosen = select_phrases(targets, kept)
        phrases = phrases_alone(model.lm, chosen.offsets_S1, model.lm_number_V[chosen.ids_T])
        swapped_R = np.asarray(model.table.swapped_B[rule_B[kept]], dtype=np.bool_)
        found = RankedTranslations(rule_B[kept], static_B[kept], alone_B[kept], phrases, swapped_R)
        return found, np.minimum(size_S, self.options)

    def copies(self, words: Sequence[str]) -> RankedTranslations:
        """Words that stand for themselves."""
        model, size = self.model, len(words)
        unit_N = np.full(size, COPIED, dtype=np.int64)
        static_N = weighted_sum(model.rule_features(unit_N), self.weights_D)
        text = np.arange(size + 1), model.lm.vocabulary.ids(words)
        alone_N = static_N + self.weights_D[LM] * logprobs_alone(model.lm, *text)
        return RankedTranslations(
            unit_N, static_N, alone_N, phrases_alone(model.lm, *text), np.zeros(size, dtype=np.bool_)
        )


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

    def place(self, label: int) -> tuple[int, int]:
        """The match and the translation of one label."""
        match, at = self.taken_apart(np.array([label]))
        return int(match[0]), int(at[0])

    def span(self, match: int) -> Span:
        """The source words from the first of a match to behind the last one, gaps among them."""
        begin, end = self.matches.spans_M2[match].tolist()
        return begin, end

    def gaps(self, match: int, swapped: bool) -> tuple[Span, ...]:
        """The gaps of a match in the order of the target."""
        a, b, c, d = self.matches.gaps_M4[match].tolist()
        spans = [span for span in ((a, b), (c, d)) if span[0] != NO_GAP]
        return tuple(reversed(spans) if swapped else spans)


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
