"""The settings that every search has, and what settings are checked for."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from xlate.errors import InputError
from xlate.text.tokens import MAX_WORDS


@dataclass(frozen=True)
class SearchSettings:
    """What every search is told; each decoder adds its own.

    Attributes:
        beam: the most hypotheses kept for one number of covered source words; None keeps all.
        threshold: a hypothesis whose estimate is below this share of the best one's is dropped (scores are logs, so
            ln(threshold) is added); 0 keeps all.
        options: the most translations of one source span.
        future_cost: whether pruning compares score plus an estimate of what is left to translate.
        max_words: a sentence of more words is translated in pieces (`models/derivation.py`).
        nbest: how many derivations are returned, at most.
        distinct: whether the derivations must differ in their target words.
    """

    beam: int | None = 100
    threshold: float = 1e-5
    options: int = 20
    future_cost: bool = True
    max_words: int = MAX_WORDS
    nbest: int = 1
    distinct: bool = True

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        check_counts(self, "beam", "options", "max_words", "nbest")
        check_shares(self, "threshold")

    @property
    def log_threshold(self) -> float:
        """The natural log of the threshold, minus infinity when it is off."""
        return log_share(self.threshold)


@dataclass(frozen=True)
class StackSettings(SearchSettings):
    """What a search is told that keeps a stack of hypotheses for each number of covered source words.

    Attributes:
        algorithm: `stack` scores every move of every kept hypothesis; `cube` takes the moves to one number of covered
            words from the best downwards until `pop_limit` of them were taken (cube pruning, Huang & Chiang 2007);
            some decoders have more.
        pop_limit: the moves that cube pruning takes for one number of covered words.
    """

    ALGORITHMS: ClassVar[tuple[str, ...]] = ("stack", "cube")

    algorithm: str = "stack"
    beam: int | None = 200
    pop_limit: int = 1000

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        super().__post_init__()
        check_choice(self, "algorithm", self.ALGORITHMS)
        check_counts(self, "pop_limit")


def check_choice(settings: object, name: str, allowed: Collection[str]) -> None:
    """Looks whether a setting is one of some words.

    Raises:
        InputError: it is not.
    """
    if getattr(settings, name) not in allowed:
        raise InputError(f"decoder setting {name}", seen=getattr(settings, name), expected=", ".join(allowed))


def check_counts(settings: object, *names: str) -> None:
    """Looks whether each of these settings is 1 or more, or None for no limit.

    Raises:
        InputError: naming the first that is not.
    """
    for name in names:
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise InputError(f"decoder setting {name} is too small", seen=value, expected="1 or more")


def check_shares(settings: object, *names: str) -> None:
    """Looks whether each of these settings is a share of the best score, 0 when it is off.

    Raises:
        InputError: naming the first that is not.
    """
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise InputError(f"decoder setting {name}", seen=value, expected="0 (off) up to below 1")


def log_share(share: float) -> float:
    """The natural log of a share or a probability, minus infinity of 0."""
    return math.log(share) if share > 0 else -math.inf
