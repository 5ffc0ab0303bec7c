"""Factors are split and joined without loss."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.factors import BAR, join_factors, split_factors

FACTORS = st.lists(st.text(min_size=1).filter(lambda factor: BAR not in factor), min_size=1, max_size=4)


@settings(deadline=None)
@given(FACTORS)
def test_joined_is_split(factors: list[str]) -> None:
    token = join_factors(factors)
    assert split_factors(token, len(factors)) == tuple(factors)
    assert token.count("|") == len(factors) - 1


@settings(deadline=None)
@given(st.lists(st.text("ab&#124;x", min_size=1), min_size=1, max_size=4).map("|".join))
def test_split_is_joined(token: str) -> None:
    assert join_factors(split_factors(token, token.count("|") + 1)) == token


def test_another_separator() -> None:
    assert split_factors("house￨NOUN", 2, "￨") == ("house", "NOUN")
    assert join_factors(["a|b", "X"], "￨") == "a|b￨X"
    assert split_factors("&#124;|SYM", 2) == ("|", "SYM")


@pytest.mark.parametrize("token", ["house", "a|b|c", "|NOUN", "house|", ""])
def test_wrong_number_of_factors(token: str) -> None:
    with pytest.raises(InputError, match="wrong number of factors") as caught:
        split_factors(token, 2)
    assert caught.value.seen == token
