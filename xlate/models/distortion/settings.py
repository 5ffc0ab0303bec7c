"""What the phrase-distortion decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.kernels.search.distortion_decoder import WIDEST_WINDOW
from xlate.models.block.settings import BlocksSearch
from xlate.search.settings import check_counts


@dataclass(frozen=True)
class DistortionSearch(BlocksSearch):
    """Settings of the phrase-distortion decoder (A10; TZ07 section 5.3).

    Attributes:
        max_skips: the most source intervals that may be left out, for later, on the way from left to right.
        window: how many words, counted from the first one left out, may be looked at before it is translated: no
            covered word lies `window` or more positions behind the first uncovered one.
        coverage_beam: the most hypotheses kept for one set of covered words (coverage pruning, beside the cardinality
            pruning of `beam`); None keeps all.
        unknown_direct, unknown_model1: costs (a) and (b) of copying a word that no block of one word translates.
    """

    max_skips: int = 2
    window: int = 6
    coverage_beam: int | None = 50
    option_order: str = "score"
    unknown_direct: float = 20.0
    unknown_model1: float = 20.0

    def __post_init__(self) -> None:
        """Checks every value."""
        super().__post_init__()
        check_counts(self, "coverage_beam", "window")
        if self.max_skips < 0:
            raise InputError("decoder setting max_skips is too small", seen=self.max_skips, expected="0 or more")
        if self.window > WIDEST_WINDOW:
            raise InputError("decoder setting window", seen=self.window, expected=f"at most {WIDEST_WINDOW}")
