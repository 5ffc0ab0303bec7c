"""Factored tokens such as `house|NOUN`."""

from __future__ import annotations

from collections.abc import Sequence

from xlate.errors import InputError

BAR = "&#124;"


def split_factors(token: str, count: int, separator: str = "|") -> tuple[str, ...]:
    """The factors of one token; a separator that belongs to a word is written `&#124;`.

    Raises:
        InputError: the token has more or fewer than `count` factors, or an empty one.
    """
    parts = token.split(separator)
    if len(parts) != count or "" in parts:
        raise InputError(
            "wrong number of factors",
            seen=token,
            expected=f"{count} factors joined with {separator!r}",
            remedy=f"write a {separator!r} inside a word as {BAR}",
        )
    return tuple(part.replace(BAR, separator) for part in parts)


def join_factors(factors: Sequence[str], separator: str = "|") -> str:
    """One token of factors, the inverse of `split_factors`."""
    return separator.join(factor.replace(separator, BAR) for factor in factors)
