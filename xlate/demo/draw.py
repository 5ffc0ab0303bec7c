"""Random choices that come out the same under every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
USUAL = 0.75


class Draw:
    """A stream of choices fixed by a name.

    Only `random()` of the standard generator is used: the sequence it gives is promised not to change between
    versions, which is not so for `choice` or `shuffle`.

    Example:
        >>> Draw("a name").chance(0.0)
        False
    """

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def pick(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One of the items, with probability in proportion to its weight."""
        place = self._random.random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            place -= weight
            if place < 0:
                return item
        return items[-1]

    def zipf(self, items: Sequence[T]) -> T:
        """One of the items, the first the most likely: item r with a weight of 1 / (r + 2), counted from 0."""
        return self.pick(items, [1 / (rank + 2) for rank in range(len(items))])

    def form(self, forms: Sequence[str]) -> str:
        """One of several forms that mean the same: mostly the first."""
        return forms[0] if len(forms) == 1 or self.chance(USUAL) else forms[1]
