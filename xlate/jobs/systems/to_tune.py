"""What a configuration asks to tune, and weights as they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from xlate.array_types import AnyArray
from xlate.features.index import FeatureIndex
from xlate.models.tuned import TunedSystem
from xlate.scoring.weights import Weights


class Saved(NamedTuple):
    """Weights as they are written: the sets, what their sparse weights are of, and other arrays."""

    sets: Mapping[str, Weights]
    features: Mapping[str, FeatureIndex]
    extra: Mapping[str, AnyArray]


@dataclass(frozen=True)
class ToTune:
    """What is tuned, where it starts, how its weights are written, and what is said of them."""

    system: TunedSystem
    start: Weights
    saved: Callable[[Weights], Saved]
    metadata: Mapping[str, Any]
