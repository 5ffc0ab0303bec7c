"""Numbers of files: what is read, and everything else that Python would read too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.text.numbers import (
    LARGEST_FLOAT32,
    LARGEST_INT,
    parse_float,
    parse_floats,
    parse_int,
    parse_row,
)

NO_FLOATS = {
    "": "not a number",
    "x": "not a number",
    "1e": "not a number",
    "--1": "not a number",
    "0x10": "not a number",
    "1" * 401: "not a number: 1111",
    "1_0": "not a finite number: 1_0",
    " 1": "not a finite number",
    "1\t": "not a finite number",
    "1\u00a0": "not a finite number",
    "\u0661": "not a finite number",
    "nan": "not a finite number: nan",
    "-inf": "not a finite number: -inf",
    "1e999": "not a finite number: 1e999",
}
NO_INTS = {
    "": "not a whole number",
    "-1": "not a whole number: -1",
    "+1": "not a whole number",
    "-1_0": "not a whole number: -1_0",
    "1_0": "not a whole number: 1_0",
    " 1": "not a whole number",
    "1.0": "not a whole number",
    "\u00b2": "not a whole number",
    "\u0661": "not a whole number",
    str(LARGEST_INT + 1): "out of range: 2147483648 is beyond 2147483647",
    "1" + 30 * "0": "out of range",
    "9" * 100_000: r"out of range: 9{40}… \(100000 characters\)",
}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_as_it_is_written(value: float) -> None:
    for text in (repr(value), f"{value:.17e}", f"{value:.20f}"):
        read = parse_float(text)
        assert read == float(text)
        assert math.copysign(1, read) == math.copysign(1, value)
        assert parse_floats([text, "1"]) == parse_row(f"{text} 1") == [read, 1.0]


@given(st.text(st.sampled_from("0123456789+-.eE_ \tnaifx\u0661\u00b2"), max_size=6))
def test_one_and_many_agree(text: str) -> None:
    try:
        expected = [parse_float(text), 1.0]
    except ValueError:
        assert parse_floats([text, "1"]) is None
        if text.split() == [text]:
            assert parse_row(f"{text} 1") is None
    else:
        assert parse_floats([text, "1"]) == expected


@pytest.mark.parametrize("text", NO_FLOATS, ids=lambda text: repr(text[:8]))
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match=NO_FLOATS[text]):
        parse_float(text)
    assert parse_floats(["1", text]) is None


@pytest.mark.parametrize("text", NO_INTS, ids=lambda text: repr(text[:8]))
def test_what_is_no_whole_number(text: str) -> None:
    with pytest.raises(ValueError, match=NO_INTS[text]):
        parse_int(text)


def test_whole_numbers() -> None:
    assert [parse_int(text) for text in ("0", "007", "2147483647")] == [0, 7, LARGEST_INT]


def test_what_32_bits_hold() -> None:
    largest = np.finfo(np.float32).max
    assert np.float32(parse_float(str(largest), LARGEST_FLOAT32)) == largest
    for text in ("3.5e38", "-1e39", "1e300"):
        with pytest.raises(ValueError, match="out of range"):
            parse_float(text, LARGEST_FLOAT32)
        assert parse_floats([text], LARGEST_FLOAT32) is None


def test_no_numbers_at_all() -> None:
    assert parse_floats([]) == parse_row("") == parse_row(" ") == []
    assert parse_row(" 1  2\t3 ") == [1.0, 2.0, 3.0]
    assert parse_row("1\u00a02") is None
