"""Which hierarchical rules are extracted, and how they are counted."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from xlate.settings import COUNT, NOT_NEGATIVE, PHRASE_LENGTH, PROBABILITY, Range, Settings, asked, key

# The most non-terminals of a rule.
MOST_GAPS = 2


@dataclass(frozen=True)
class RuleSettings(Settings):
    """The rules of a hierarchical model (Chiang 2005, section 3, in target normal form).

    Rules come from consistent phrase pairs of at most `source_span` and `target_span` words. They have at most
    `symbols` source words and non-terminals, at most `most_gaps` non-terminals, each replacing at least `least_gap`
    source words, and at least `least_links` links; non-terminals may touch in the source only if `adjacent`.

    Chiang keeps the smallest of the phrase pairs that hold the same links, so that no phrase begins or ends with an
    unaligned word. With `loose_phrases` the others give rules too (decision 24), with `loose_gaps` they are also cut
    out of larger ones.

    With `shared_counts` a phrase pair counts 1, divided equally among all rules that come from it (Chiang 2005,
    section 3.2; Moses too); otherwise each of its rules counts 1, so that long phrase pairs, which give many rules,
    weigh more. Rules with non-terminals that count less than `least_count` are left out, after all
    probabilities are computed.

    `unlikely` is the lexical probability below which a word counts as inserted or deleted. Counting takes up to about
    `memory_mb` megabytes, in addition to the text and the finished table; what exceeds them goes to scratch files.
    """

    source_span: int = key(
        "the longest source span of the phrase pairs that rules are extracted from, in words", 10, PHRASE_LENGTH
    )
    target_span: int = key("the longest target span of such a pair", 10, PHRASE_LENGTH)
    symbols: int = key("the most words and gaps on a source side", 5, PHRASE_LENGTH)
    most_gaps: int = key("the most gaps in a rule", MOST_GAPS, Range(0, MOST_GAPS))
    least_gap: int = asked(1, PHRASE_LENGTH)
    least_links: int = asked(1, Range(0))
    adjacent: bool = asked(False)
    loose_phrases: bool = key("also extract rules from pairs that begin or end with unaligned words", True)
    loose_gaps: bool = key("also replace such pairs in larger ones by gaps", False)
    shared_counts: bool = key("a phrase pair counts 1, divided among its rules; false: 1 for each rule", True)
    least_count: float = key("the least count of a rule with gaps", 0.0, NOT_NEGATIVE)
    unlikely: float = key(
        "words whose lexical probability is below this count as inserted or deleted", 0.1, PROBABILITY
    )
    memory_mb: int = asked(1024, COUNT)

    def identity(self) -> dict[str, Any]:
        """Everything that determines the rules."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "memory_mb"}
