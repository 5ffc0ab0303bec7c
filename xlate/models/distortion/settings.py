"""What the phrase-distortion decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.kernels.search.distortion_decoder import WIDEST_WINDOW
from xlate.search.settings import check_counts, check_shares, log_share
from xlate.text.cutting import MAX_WORDS


@dataclass(frozen=True)
class DistortionSearch:
    """Settings of the phrase-distortion decoder (A10; TZ07 section 5.3).

    Attributes:
        max_skips: the most source intervals that may be left out, for later, on the way from left to right.
        window: how many words, counted from the first one left out, may be looked at before it is translated: no
            covered word lies `window` or more positions behind the first uncovered one.
        beam: the most hypotheses kept for one number of covered words (cardinality pruning); None keeps all.
        coverage_beam: the most kept for one set of covered words (coverage pruning); None keeps all.
        threshold: a hypothesis whose score is below this share of the best one's with as many covered words is
            dropped; 0 keeps all.
        options: the most blocks of one source span; option_order: the most frequent (`count`) or the best by direct,
            Model 1, length, language model and optional costs (`score`).
        max_phrase: the longest source phrase of a block, in words.
        end_of_sentence: whether the cost of `</s>` is added under the weight of `lm_first`.
        future_cost: whether pruning compares score plus an estimate of what is left to translate.
        max_words: a sentence of more words is translated in pieces (`decode.pieces`).
        nbest: how many derivations are returned, at most; distinct: whether their target words must differ.
        unknown_direct, unknown_model1: costs (a) and (b) of copying a word that no block of one word translates.
    """

    max_skips: int = 2
    window: int = 6
    beam: int | None = 100
    coverage_beam: int | None = 50
    threshold: float = 1e-5
    options: int = 20
    option_order: str = "score"
    max_phrase: int = 7
    end_of_sentence: bool = True
    future_cost: bool = True
    max_words: int = MAX_WORDS
    nbest: int = 1
    distinct: bool = True
    unknown_direct: float = 20.0
    unknown_model1: float = 20.0

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        if self.option_order not in ("count", "score"):
            raise InputError("decoder setting option_order", seen=self.option_order, expected="count, score")
        check_counts(self, "beam", "coverage_beam", "options", "max_phrase", "nbest", "window", "max_words")
        if self.max_skips < 0:
            raise InputError("decoder setting max_skips is too small", seen=self.max_skips, expected="0 or more")
        if self.window > WIDEST_WINDOW:
            raise InputError("decoder setting window", seen=self.window, expected=f"at most {WIDEST_WINDOW}")
        check_shares(self, "threshold")

    @property
    def log_threshold(self) -> float:
        """The natural log of the threshold, minus infinity when it is off."""
        return log_share(self.threshold)
