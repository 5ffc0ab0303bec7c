"""What the hierarchical decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xlate.search.settings import StackSettings, check_counts

CKY = "cky"


@dataclass(frozen=True)
class RuleSearch(StackSettings):
    """Settings of the hierarchical decoder (B2).

    Options are the rules of one source side, the best ones by weighted score without a history.

    Attributes:
        algorithm: `cky` goes bottom-up, readably, without `beam` and `threshold`.
        pop_limit: with `cky` the hypotheses that are made over one span.
        max_span: the longest span that a rule translates, in words; longer ones are glued together.
    """

    ALGORITHMS: ClassVar[tuple[str, ...]] = (*StackSettings.ALGORITHMS, CKY)

    algorithm: str = "cube"
    pop_limit: int = 500
    max_span: int = 10

    def __post_init__(self) -> None:
        """Checks every value."""
        super().__post_init__()
        check_counts(self, "max_span")
