"""Extracts and scores hierarchical rules: phrase pairs with smaller ones cut out of them (Chiang 2005, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xlate.align.lexical import LexicalTable
from xlate.align.links import Links
from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import marked_in_rows, offsets_of
from xlate.kernels.counting.alignment import unlikely_words
from xlate.kernels.counting.rule_extraction import RuleLimits
from xlate.kernels.pairs import PhrasePairs
from xlate.phrases.extract import extract_pairs
from xlate.phrases.runs import PairCounts, Runs, number_phrases
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import (
    GAP,
    RuleTable,
    gaps_of,
    scored_columns,
    word_probabilities,
)
from xlate.text.vocabulary import END_ID, EncodedText

# The second non-terminal in target sides while rules are counted; no sentence holds `</s>`.
SECOND = END_ID
# The weight of one rule in whole numbers, so that sums do not depend on their order.
ONE = 1 << 32


def extract_rules(
    source: EncodedText,
    target: EncodedText,
    links: Links,
    settings: RuleSettings | None = None,
    runs: Runs | None = None,
    parts: Sequence[Path] = (),
) -> PairCounts:
    """Counts the rules in target normal form of a corpus (Watanabe et al. 2007, section 2.1), in parts of `ONE`.

    Sides are words and the number `GAP`, those of the target also `SECOND`.

    Args:
        settings: which rules; those of Chiang by default.
        runs, parts: see `extract_pairs`.

    Raises:
        InputError: see `extract_pairs`.
    """
    return extract_pairs(source, target, links, rule_limits(settings or RuleSettings()), runs or Runs(), parts)


def rule_limits(settings: RuleSettings, *, anywhere: bool = False) -> RuleLimits:
    """Which rules are extracted, each in parts of `ONE`; `anywhere` lifts the target normal form."""
    extracted = {name: value for name, value in vars(settings).items() if name in RuleLimits._fields}
    return RuleLimits(**extracted, unit=ONE, anywhere=anywhere, first=GAP, second=SECOND)


def score_rules(counts: PairCounts, lexical: LexicalTable, settings: RuleSettings | None = None) -> RuleTable:
    """Relative frequencies and lexical weights of counted rules, both ways; leaves out those that count too little.

    p(γ|b̄β) is the count of the rule over that of its target side, b̄ with its non-terminals in their order, p(b̄β|γ)
    that over the count of the source side. Lexical weights are those of phrase pairs (Koehn et al. 2003, section 4.4),
    of the words of the rule alone. A target word is inserted when its probability is below `settings.unlikely` given
    each source word of the rule and given NULL; a source word is deleted likewise (Bender et al. 2004).

    Raises:
        InputError: the lexical table lacks a word pair that is linked inside a rule.
    """
    settings = settings or RuleSettings()
    phrases, phrase_Q, swapped_Q = _normal_forms(counts.target_phrases)
    rows = _kept_rules(counts, round(settings.least_count * ONE), phrase_Q, swapped_Q)
    source_B, target_B, count_B = counts.source_B[rows], counts.target_B[rows], counts.count_B[rows]
    shares = count_B / counts.source_count_P[source_B], count_B / counts.target_count_Q[target_B]
    source_rows, source_of_B = np.unique(source_B, return_inverse=True)
    target_rows, target_of_B = np.unique(phrase_Q[target_B], return_inverse=True)
    sources, targets = counts.source_phrases.select(source_rows), phrases.select(target_rows)
    numbers = source_of_B.astype(np.int32), target_of_B.astype(np.int32)
    pairs = PhrasePairs(*numbers, *sources.arrays, *targets.arrays)
    links = counts.links[0]._replace(shape_B=counts.shape_B[rows])
    both = links, links._replace(source_K=links.target_K, target_K=links.source_K)
    forward, backward = word_probabilities(lexical), word_probabilities(lexical, inverse=True)

    def shares_of(part: slice) -> tuple[Floats, Floats]:
        return shares[0][part], shares[1][part]

    return RuleTable(
        source_sides=sources,
        target_phrases=targets,
        source_B=pairs.source_B,
        target_B=pairs.target_B,
        swapped_B=swapped_Q[target_B],
        insertion_B=unlikely_words(pairs, *forward, settings.unlikely, GAP),
        deletion_B=unlikely_words(pairs.inverse(), *backward, settings.unlikely, GAP),
        **scored_columns(pairs, both, count_B, shares_of, (forward, backward), gap=GAP, unit=ONE),
    )


def _normal_forms(targets: EncodedText) -> tuple[EncodedText, Ints32, Bools]:
    """The distinct phrases b̄ of target sides b̄ β, the phrase of each side, and whether its β is swapped."""
    is_gap_T, ends_Q1 = np.isin(targets.ids_T, (GAP, SECOND)), targets.offsets_S1
    lengths_Q = np.diff(ends_Q1) - marked_in_rows(is_gap_T, ends_Q1)
    # Sides whose second non-terminal comes before the first.
    swapped_Q = (np.diff(ends_Q1) > 2) & (targets.ids_T[ends_Q1[1:] - 2] == SECOND)
    return *number_phrases(EncodedText(targets.ids_T[~is_gap_T], offsets_of(lengths_Q))), swapped_Q


def _kept_rules(counts: PairCounts, least: int, phrase_Q: Ints32, swapped_Q: Bools) -> Ints:
    """The rules in the order of `RuleTable`; those with gaps that weigh less than `least` are left out."""
    rows = np.flatnonzero((counts.count_B >= least) | (gaps_of(counts.source_phrases) == 0)[counts.source_B])
    source_B, target_B = counts.source_B[rows].astype(np.int64), counts.target_B[rows]
    return rows[np.argsort((source_B << 32) | (phrase_Q[target_B].astype(np.int64) << 1) | swapped_Q[target_B])]
