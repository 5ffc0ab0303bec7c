"""What the phrase decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.search.settings import check_counts, check_shares, log_share
from xlate.text.cutting import MAX_WORDS

ALGORITHMS = ("stack", "cube")


@dataclass(frozen=True)
class PhraseSearch:
    """Settings of the phrase decoder (C1); the defaults are those of Moses.

    Attributes:
        algorithm: `stack` scores every move of every kept hypothesis; `cube` takes the moves to one number of covered
            words from the best downwards until `pop_limit` of them were taken (cube pruning, Huang & Chiang 2007).
        beam: the most hypotheses kept for one number of covered source words; None keeps all.
        threshold: a hypothesis whose estimate is below this share of the best one's is dropped (scores are logs, so
            ln(threshold) is added); 0 keeps all.
        early_threshold: stack search drops a move before the language model is asked when its estimate without a
            history is below this share of what the beam already asks for; 0 asks always.
        pop_limit: the moves that cube pruning takes for one number of covered words.
        options: the most translations of one source span, best first by weighted score without a history.
        max_phrase: the longest source phrase, in words.
        distortion_limit: the longest jump, `|start - end of the phrase before|`, in words; None for no limit. A phrase
            that leaves a gap must end near enough to the first gap for the jump back, as in Moses.
        future_cost: whether pruning compares score plus an estimate of what is left to translate.
        distortion_future: whether that estimate holds the distortion of translating the rest from left to right.
        max_words: a sentence of more words is translated in pieces (`decode.pieces`).
        nbest: how many derivations are returned, at most.
        distinct: whether the derivations must differ in their target words.
    """

    algorithm: str = "stack"
    beam: int | None = 200
    threshold: float = 1e-5
    early_threshold: float = 0.0
    pop_limit: int = 1000
    options: int = 20
    max_phrase: int = 7
    distortion_limit: int | None = 6
    future_cost: bool = True
    distortion_future: bool = False
    max_words: int = MAX_WORDS
    nbest: int = 1
    distinct: bool = True

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        if self.algorithm not in ALGORITHMS:
            raise InputError("decoder setting algorithm", seen=self.algorithm, expected=" or ".join(ALGORITHMS))
        check_counts(self, "beam", "pop_limit", "options", "max_phrase", "nbest", "max_words")
        if self.distortion_limit is not None and self.distortion_limit < 0:
            raise InputError(
                "decoder setting distortion_limit", seen=self.distortion_limit, expected="0 or more, or none"
            )
        check_shares(self, "threshold", "early_threshold")

    @property
    def log_threshold(self) -> float:
        """The natural log of the threshold, minus infinity when it is off."""
        return log_share(self.threshold)

    @property
    def log_early_threshold(self) -> float:
        """The natural log of the early threshold, minus infinity when it is off."""
        return log_share(self.early_threshold)
