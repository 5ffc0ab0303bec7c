"""Extracts and scores hierarchical rules: phrase pairs with smaller ones cut out of them (Chiang 2005, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.align.lexical import LexicalTable
from xlate.align.links import Links
from xlate.array_types import Bools, Floats, Ints32
from xlate.arrays.ragged import marked_in_rows, offsets_of, places_of
from xlate.kernels.counting.alignment import InnerLinks, unlikely_words
from xlate.kernels.counting.rule_extraction import (
    ONE,
    RuleLimits,
    RuleStore,
    count_rules,
    new_rule_store,
)
from xlate.kernels.pairs import PhrasePairs
from xlate.phrases.extract import PART_WORDS, linked_parts, number_phrases
from xlate.phrases.runs import Merged, Run, Runs, sorted_run
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import (
    GAP,
    RuleTable,
    four_scores,
    gaps_of,
    select_phrases,
    word_probabilities,
)
from xlate.progress import track
from xlate.text.vocabulary import END_ID, EncodedText

# The second non-terminal in target sides while rules are counted; no sentence holds `</s>`.
SECOND = END_ID


@dataclass(frozen=True)
class RuleCounts:
    """B rules as in `RuleTable`, with the counts of all rules of the same source side and of the same target side.

    A target side is b̄ β, so rules with other non-terminals, or the same ones in another order, differ in it.
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
    parts: Sequence[Path] = (),
) -> RuleCounts:
    """Counts the rules in target normal form of a corpus (Watanabe et al. 2007, section 2.1).

    Args:
        settings: which rules; those of Chiang by default.
        scratch: a folder for files that are removed at the end, by default where temporary files go.
        parts: folders with the saved runs of all parts of the corpus, if the rules of these have been counted.

    Raises:
        InputError: the three differ in number of sentences, or a link is outside its sentence pair.
    """
    settings = settings or RuleSettings()
    with Runs(settings.memory_mb, scratch) as runs:
        for part in parts:
            runs.read(part)
        last = None if parts else rule_run(source, target, links, settings, runs)
        return _counted(runs.merge(last), round(settings.least_count * ONE))


def _counted(merged: Merged, least: int) -> RuleCounts:
    """Merged rules in the order of `RuleTable`; those with gaps that weigh less than `least` are left out."""
    sources, targets, shapes = merged.sequences
    kept_B = (merged.weight_B >= least) | (gaps_of(sources) == 0)[merged.source_B]
    columns = merged.source_B, merged.target_B, merged.shape_B, merged.weight_B
    source_B, target_B, shape_B, weight_B = (np.asarray(column_B[kept_B]) for column_B in columns)
    is_gap_T, ends_Q1 = np.isin(targets.ids_T, (GAP, SECOND)), targets.offsets_S1
    lengths_Q = np.diff(ends_Q1) - marked_in_rows(is_gap_T, ends_Q1)
    phrases, phrase_Q = number_phrases(EncodedText(targets.ids_T[~is_gap_T], offsets_of(lengths_Q)))
    # Sides in normal form whose second non-terminal comes before the first.
    swapped_Q = (np.diff(ends_Q1) > 2) & (targets.ids_T[ends_Q1[1:] - 2] == SECOND)
    phrase_B, swapped_B = phrase_Q[target_B], swapped_Q[target_B]
    order = np.argsort((source_B.astype(np.int64) << 32) | (phrase_B.astype(np.int64) << 1) | swapped_B)
    source_rows, source_of_B = np.unique(source_B[order], return_inverse=True)
    target_rows, target_of_B = np.unique(phrase_B[order], return_inverse=True)
    return RuleCounts(
        select_phrases(sources, source_rows),
        select_phrases(phrases, target_rows),
        source_of_B.astype(np.int32),
        target_of_B.astype(np.int32),
        swapped_B[order],
        weight_B[order] / ONE,
        merged.source_weight_P[source_B[order]] / ONE,
        merged.target_weight_Q[target_B[order]] / ONE,
        EncodedText(np.array(shapes.ids_T), np.array(shapes.offsets_S1)),
        shape_B[order],
    )


def rule_run(
    source: EncodedText,
    target: EncodedText,
    links: Links,
    settings: RuleSettings,
    runs: Runs,
    *,
    anywhere: bool = False,
) -> Run:
    """Counts the rules of a corpus into runs; returns the last, which is not written; `anywhere` lifts the normal form.

    Target sides are words and the numbers `GAP` and `SECOND`; weights are in units of `ONE`.

    Raises:
        InputError: see `extract_rules`.
    """
    extracted = {name: value for name, value in vars(settings).items() if name in RuleLimits._fields}
    limits = RuleLimits(**extracted, anywhere=anywhere, first=GAP, second=SECOND)
    store = new_rule_store()
    for part in track(linked_parts(source, target, links), "rules", total=1 + len(source.ids_T) // PART_WORDS):
        store = count_rules(*part, limits, store)
        if runs.are_full([*(array for table in store[:-1] for array in table), store.weight_N]):
            runs.write(_run(store))
            store = new_rule_store()
    return _run(store)


def _run(store: RuleStore) -> Run:
    return sorted_run(store[:3], store.rules, store.shaped, store.weight_N)


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
    shapes = counts.shapes
    column_K, source_K = np.divmod(shapes.ids_T[places_of(shapes.offsets_S1, counts.shape_B)], settings.symbols)
    links = InnerLinks(
        np.arange(len(counts), dtype=np.int32),
        offsets_of(np.diff(shapes.offsets_S1)[counts.shape_B]),
        source_K.astype(np.int16),
        (settings.target_span - 1 - column_K).astype(np.int16),
    )
    pairs = PhrasePairs(
        counts.source_B,
        counts.target_B,
        counts.source_sides.ids_T,
        counts.source_sides.offsets_S1,
        counts.target_phrases.ids_T,
        counts.target_phrases.offsets_S1,
    )
    inverse_links = links._replace(source_K=links.target_K, target_K=links.source_K)
    shares = counts.count_B / counts.source_count_B, counts.count_B / counts.target_count_B
    forward, backward = word_probabilities(lexical), word_probabilities(lexical, inverse=True)
    return RuleTable(
        source_sides=counts.source_sides,
        target_phrases=counts.target_phrases,
        source_B=counts.source_B,
        target_B=counts.target_B,
        swapped_B=counts.swapped_B,
        count_B=counts.count_B,
        scores_B4=four_scores(pairs, (links, inverse_links), shares, (forward, backward), GAP),
        link_offsets_B1=links.offsets_X1,
        link_source_K=links.source_K,
        link_target_K=links.target_K,
        insertion_B=unlikely_words(pairs, *forward, settings.unlikely, GAP),
        deletion_B=unlikely_words(pairs.inverse(), *backward, settings.unlikely, GAP),
    )
