"""What the lattice decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.search.settings import SearchSettings, check_counts, log_share


@dataclass(frozen=True)
class LcsSearch(SearchSettings):
    """Settings of lattice construction and scoring (Kolachina et al. 2010, section 4.1).

    Options are the most probable blocks of a word; `beam=None` makes the search exact.

    Attributes:
        window: how many words, counted from the first one that is not translated yet, may come next.
        least_probability: blocks that are less probable are not in the lattice, but for the best of a word.
        deletions: whether a word may be left out.
        deletion_cost: what the feature of deletions counts for each.
    """

    window: int = 3
    least_probability: float = 0.17
    deletions: bool = False
    deletion_cost: float = 5.0

    def __post_init__(self) -> None:
        """Checks every value."""
        super().__post_init__()
        check_counts(self, "window")
        if not 0 <= self.least_probability <= 1:
            raise InputError("decoder setting least_probability", seen=self.least_probability, expected="from 0 to 1")

    @property
    def least_log(self) -> float:
        """The natural log of the least probability of a block, minus infinity when any may be there."""
        return log_share(self.least_probability)
