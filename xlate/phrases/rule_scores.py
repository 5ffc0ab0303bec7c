"""Scores of counted rules: relative frequencies, lexical weights, inserted and deleted words."""

from __future__ import annotations

import numpy as np

from xlate.align.lexical import LexicalTable
from xlate.arrays.ragged import offsets_of, places_of
from xlate.kernels.counting.lexical import InnerLinks, lexical_weights, unlikely_words
from xlate.kernels.counting.sides import PhrasePairs
from xlate.kernels.memory.hashing import build_table
from xlate.phrases.rule_extraction import RuleCounts, RuleSettings
from xlate.phrases.rules import GAP, RuleTable
from xlate.phrases.table import (
    DIRECT_LEXICAL,
    DIRECT_PHRASE,
    INVERSE_LEXICAL,
    INVERSE_PHRASE,
    check_lexical,
    lexical_keys,
)


def score_rules(counts: RuleCounts, lexical: LexicalTable, settings: RuleSettings | None = None) -> RuleTable:
    """Relative frequencies and lexical weights of counted rules, both ways.

    p(γ|b̄β) is the count of the rule over that of its target side, b̄ with its non-terminals in their order, p(b̄β|γ)
    that over the count of the source side. Lexical weights are those of phrase pairs (Koehn et al. 2003, section 4.4),
    of the words of the rule alone. A target word is inserted when its probability is below `settings.unlikely` given
    each source word of the rule and given NULL; a source word is deleted likewise (Bender et al. 2004).

    Raises:
        InputError: the lexical table lacks a word pair that is linked inside a rule.
    """
    settings = settings or RuleSettings()
    links = _links(counts, settings)
    pairs = PhrasePairs(
        counts.source_B,
        counts.target_B,
        counts.source_sides.ids_T,
        counts.source_sides.offsets_S1,
        counts.target_phrases.ids_T,
        counts.target_phrases.offsets_S1,
    )
    inverse_links = links._replace(source_K=links.target_K, target_K=links.source_K)
    forward = build_table(lexical_keys(lexical.source_K, lexical.target_K)), lexical.target_given_source_K
    backward = build_table(lexical_keys(lexical.target_K, lexical.source_K)), lexical.source_given_target_K
    scores_B4 = np.empty((len(counts), 4))
    scores_B4[:, INVERSE_PHRASE] = counts.count_B / counts.target_count_B
    scores_B4[:, INVERSE_LEXICAL] = lexical_weights(pairs.inverse(), inverse_links, *backward, GAP)
    scores_B4[:, DIRECT_PHRASE] = counts.count_B / counts.source_count_B
    scores_B4[:, DIRECT_LEXICAL] = lexical_weights(pairs, links, *forward, GAP)
    check_lexical(scores_B4, pairs)
    return RuleTable(
        source_sides=counts.source_sides,
        target_phrases=counts.target_phrases,
        source_B=counts.source_B,
        target_B=counts.target_B,
        swapped_B=counts.swapped_B,
        count_B=counts.count_B,
        scores_B4=scores_B4,
        link_offsets_B1=links.offsets_X1,
        link_source_K=links.source_K,
        link_target_K=links.target_K,
        insertion_B=unlikely_words(pairs, *forward, settings.unlikely, GAP),
        deletion_B=unlikely_words(pairs.inverse(), *backward, settings.unlikely, GAP),
    )


def _links(counts: RuleCounts, settings: RuleSettings) -> InnerLinks:
    """The internal links of each rule."""
    column_K, source_K = np.divmod(
        counts.shapes.ids_T[places_of(counts.shapes.offsets_S1, counts.shape_B)], settings.symbols
    )
    offsets_B1 = offsets_of(np.diff(counts.shapes.offsets_S1)[counts.shape_B])
    rows_B = np.arange(len(counts), dtype=np.int32)
    target_K = (settings.target_span - 1 - column_K).astype(np.int16)
    return InnerLinks(rows_B, offsets_B1, source_K.astype(np.int16), target_K)
