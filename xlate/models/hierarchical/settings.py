"""What the hierarchical decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.search.settings import check_counts, check_shares, log_share
from xlate.text.cutting import MAX_WORDS

CKY = "cky"
ALGORITHMS = ("stack", "cube", CKY)


@dataclass(frozen=True)
class RuleSearch:
    """Settings of the hierarchical decoder (B2).

    Attributes:
        algorithm: `stack` scores every move of every kept hypothesis; `cube` takes the moves to one number of covered
            words from the best downwards until `pop_limit` of them were taken; `cky` goes bottom-up, readably, without
            `beam` and `threshold`.
        beam: the most hypotheses kept for one number of covered source words; None keeps all.
        threshold: a hypothesis whose estimate is below this share of the best one's is dropped; 0 keeps all.
        pop_limit: the moves that cube pruning takes for one number of covered words; with `cky` the hypotheses that are
            made over one span.
        options: the most rules of one source side, best first by weighted score without a history.
        max_span: the longest span that a rule translates, in words; longer ones are glued together.
        future_cost: whether pruning compares score plus an estimate of the spans that are open.
        max_words: a sentence of more words is translated in pieces (`models.pieces`).
        nbest: how many derivations are returned, at most.
        distinct: whether the derivations must differ in their target words.
    """

    algorithm: str = "cube"
    beam: int | None = 200
    threshold: float = 1e-5
    pop_limit: int = 500
    options: int = 20
    max_span: int = 10
    future_cost: bool = True
    max_words: int = MAX_WORDS
    nbest: int = 1
    distinct: bool = True

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        if self.algorithm not in ALGORITHMS:
            raise InputError("decoder setting algorithm", seen=self.algorithm, expected=", ".join(ALGORITHMS))
        check_counts(self, "beam", "pop_limit", "options", "max_span", "nbest", "max_words")
        check_shares(self, "threshold")

    @property
    def log_threshold(self) -> float:
        """The natural log of the threshold, minus infinity when it is off."""
        return log_share(self.threshold)
