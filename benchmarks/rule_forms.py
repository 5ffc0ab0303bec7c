"""What the target normal form costs: how many of all hierarchical rules are in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from xlate.align.links import Links
from xlate.array_types import Bools, Ints
from xlate.arrays.ragged import marked_in_rows
from xlate.phrases.extract import extract_pairs
from xlate.phrases.rule_extraction import ONE, SECOND, rule_limits
from xlate.phrases.runs import Runs
from xlate.phrases.settings import MOST_GAPS, RuleSettings
from xlate.phrases.table import GAP
from xlate.text.vocabulary import EncodedText


@dataclass(frozen=True)
class RuleForms:
    """Numbers of rules by how many non-terminals they have: all, and those in target normal form.

    Types are distinct rules, tokens are how often they were extracted. G = 3, for none, one and two non-terminals.
    """

    types_G: Ints
    tokens_G: Ints
    normal_types_G: Ints
    normal_tokens_G: Ints

    @property
    def share_of_types(self) -> float:
        """The share of distinct rules in target normal form; 1 where there are no rules."""
        return float(self.normal_types_G.sum() / max(1, self.types_G.sum())) if self.types_G.any() else 1.0

    @property
    def share_of_tokens(self) -> float:
        """The share of extracted rules in target normal form; 1 where there are no rules."""
        return float(self.normal_tokens_G.sum() / max(1, self.tokens_G.sum())) if self.tokens_G.any() else 1.0


def rule_forms(
    source: EncodedText,
    target: EncodedText,
    links: Links,
    settings: RuleSettings | None = None,
    scratch: Path | None = None,
) -> RuleForms:
    """Counts the rules of a corpus whose target sides may have non-terminals anywhere (Chiang 2005, section 3.1).

    Args:
        settings: as for `extract_rules`; nothing is left out, and each rule of a phrase pair counts 1.
        scratch: a folder for files that are removed at the end, by default where temporary files go.

    Raises:
        InputError: see `extract_rules`.
    """
    counted = replace(settings or RuleSettings(), shared_counts=False, least_count=0.0)
    with Runs(counted.memory_mb, scratch) as runs:
        counts = extract_pairs(source, target, links, rule_limits(counted, anywhere=True), runs)
        gaps_Q, normal_Q = _forms(counts.target_phrases)
        gaps_B, normal_B = gaps_Q[counts.target_B], normal_Q[counts.target_B]
        tokens_B = counts.count_B // ONE

    def by_gaps(kept_B: Bools) -> tuple[Ints, Ints]:
        types_G = np.bincount(gaps_B[kept_B], minlength=MOST_GAPS + 1)
        # Whole numbers, which floats hold exactly.
        return types_G, np.bincount(gaps_B[kept_B], tokens_B[kept_B], MOST_GAPS + 1).astype(np.int64)

    return RuleForms(*by_gaps(np.ones_like(normal_B)), *by_gaps(normal_B))


def _forms(targets: EncodedText) -> tuple[Ints, Bools]:
    """How many non-terminals each target side has, and whether they all stand behind one word or more."""
    gap_T, lengths_Q = np.isin(targets.ids_T, (GAP, SECOND)), np.diff(targets.offsets_S1)
    gaps_Q = marked_in_rows(gap_T, targets.offsets_S1)
    normal_Q = lengths_Q > gaps_Q
    for at in range(1, MOST_GAPS + 1):
        # A side with so many non-terminals has one as its at-th word from the end.
        some = np.flatnonzero(normal_Q & (gaps_Q >= at))
        normal_Q[some] = gap_T[targets.offsets_S1[some + 1] - at]
    return gaps_Q, normal_Q
