"""What the lattice decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.search.settings import check_counts, check_shares, log_share
from xlate.text.cutting import MAX_WORDS


@dataclass(frozen=True)
class LcsSearch:
    """Settings of lattice construction and scoring (Kolachina et al. 2010, section 4.1).

    Attributes:
        window: how many words, counted from the first one that is not translated yet, may come next.
        least_probability: blocks that are less probable are not in the lattice, but for the best of a word.
        options: nor are those behind the so many best of a word.
        deletions: whether a word may be left out.
        deletion_cost: what the feature of deletions counts for each.
        beam: the most hypotheses kept for one number of covered source words; None keeps all, an exact search.
        threshold: a hypothesis whose estimate is below this share of the best one's is dropped; 0 keeps all.
        future_cost: whether pruning compares score plus an estimate of what is left to translate.
        max_words: a sentence of more words is translated in pieces.
        nbest: how many derivations are returned, at most; distinct: whether their target words must differ.
    """

    window: int = 3
    least_probability: float = 0.17
    options: int = 20
    deletions: bool = False
    deletion_cost: float = 5.0
    beam: int | None = 100
    threshold: float = 1e-5
    future_cost: bool = True
    max_words: int = MAX_WORDS
    nbest: int = 1
    distinct: bool = True

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        check_counts(self, "window", "options", "beam", "max_words", "nbest")
        check_shares(self, "threshold")
        if not 0 <= self.least_probability <= 1:
            raise InputError("decoder setting least_probability", seen=self.least_probability, expected="from 0 to 1")

    @property
    def log_threshold(self) -> float:
        """The natural log of the threshold, minus infinity when it is off."""
        return log_share(self.threshold)

    @property
    def least_log(self) -> float:
        """The natural log of the least probability of a block, minus infinity when any may be there."""
        return log_share(self.least_probability)
