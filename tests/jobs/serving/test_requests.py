"""Requests are checked before anything is done with them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.jobs.serving.requests import Limits, Refused, Request, read_request

LIMITS = Limits(bytes=1000, words=5, nbest=10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"text": "a b"}, Request("a b")),
        ({"text": " a b \n"}, Request("a b")),
        ({"text": ""}, Request("")),
        ({"text": "a", "nbest": 10, "explain": True}, Request("a", 10, True)),
    ],
)
def test_what_is_asked(body: dict[str, Any], expected: Request) -> None:
    assert read_request(json.dumps(body).encode(), LIMITS) == expected


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 900, "no JSON"),
        (b"[]", "no JSON object"),
        (b'{"text": 3}', "text must be a string"),
        (b"{}", "text must be a string"),
        (b'{"text": "a\\nb"}', "one line"),
        ('{"text": "a\u2028b"}'.encode(), "one line"),
        (b'{"text": "\\ud800"}', "half a character"),
        (b'{"text": "a", "nbest": 0}', "nbest is out of range"),
        (b'{"text": "a", "nbest": 11}', "nbest is out of range"),
        (b'{"text": "a", "nbest": true}', "nbest is out of range"),
        (b'{"text": "a", "nbest": 2.0}', "nbest is out of range"),
        (b'{"text": "a", "explain": 1}', "explain must be"),
        (b'{"text": "a", "nbets": 1}', "unknown field"),
    ],
)
def test_what_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words) as caught:
        read_request(body, LIMITS)
    assert caught.value.status == 400
    assert json.dumps(caught.value.body)


@given(st.dictionaries(st.sampled_from(["text", "nbest", "explain", "x"]), JSON, max_size=4) | JSON)
def test_any_json_is_a_request_or_refused(value: Any) -> None:
    with contextlib.suppress(Refused):
        request = read_request(json.dumps(value).encode(), LIMITS)
        assert 1 <= request.nbest <= LIMITS.nbest
        assert "\n" not in request.text
