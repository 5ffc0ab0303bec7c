"""What the hierarchical decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.search.settings import SearchSettings, check_choice, check_counts

CKY = "cky"
ALGORITHMS = ("stack", "cube", CKY)


@dataclass(frozen=True)
class RuleSearch(SearchSettings):
    """Settings of the hierarchical decoder (B2).

    Options are the rules of one source side, the best ones by weighted score without a history.

    Attributes:
        algorithm: `stack` scores every move of every kept hypothesis; `cube` takes the moves to one number of covered
            words from the best downwards until `pop_limit` of them were taken; `cky` goes bottom-up, readably, without
            `beam` and `threshold`.
        pop_limit: the moves that cube pruning takes for one number of covered words; with `cky` the hypotheses that are
            made over one span.
        max_span: the longest span that a rule translates, in words; longer ones are glued together.
    """

    algorithm: str = "cube"
    beam: int | None = 200
    pop_limit: int = 500
    max_span: int = 10

    def __post_init__(self) -> None:
        """Checks every value."""
        super().__post_init__()
        check_choice(self, "algorithm", ALGORITHMS)
        check_counts(self, "pop_limit", "max_span")
