"""What every tuner returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xlate.scoring.weights import Weights


@dataclass(frozen=True)
class Tuned:
    """New weights, their score on the lists they were found on (BLEU, 0 to 100), and what else is worth telling."""

    weights: Weights
    score: float
    figures: Mapping[str, float] = field(default_factory=dict)
