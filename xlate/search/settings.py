"""What the settings of every search are checked for."""

from __future__ import annotations

import math

from xlate.errors import InputError


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
