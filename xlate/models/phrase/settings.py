"""What the phrase decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.search.settings import StackSettings, check_counts, check_shares, log_share


@dataclass(frozen=True)
class PhraseSearch(StackSettings):
    """Settings of the phrase decoder (C1); the defaults are those of Moses.

    Options are the best ones by weighted score without a history.

    Attributes:
        early_threshold: stack search drops a move before the language model is asked when its estimate without a
            history is below this share of what the beam already asks for; 0 asks always.
        max_phrase: the longest source phrase, in words.
        distortion_limit: the longest jump, `|start - end of the phrase before|`, in words; None for no limit. A phrase
            that leaves a gap must end near enough to the first gap for the jump back, as in Moses.
        distortion_future: whether the estimate of `future_cost` holds the distortion of translating the rest from left
            to right.
    """

    early_threshold: float = 0.0
    max_phrase: int = 7
    distortion_limit: int | None = 6
    distortion_future: bool = False

    def __post_init__(self) -> None:
        """Checks every value."""
        super().__post_init__()
        check_counts(self, "max_phrase")
        if self.distortion_limit is not None and self.distortion_limit < 0:
            raise InputError(
                "decoder setting distortion_limit", seen=self.distortion_limit, expected="0 or more, or none"
            )
        check_shares(self, "early_threshold")

    @property
    def log_early_threshold(self) -> float:
        """The natural log of the early threshold, minus infinity when it is off."""
        return log_share(self.early_threshold)
