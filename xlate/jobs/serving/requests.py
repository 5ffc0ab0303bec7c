"""What a client asks for: the JSON of a request, checked, and refusals with a status."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from xlate.errors import InputError

Json = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """The most bytes of a request, source words of a sentence, and translations of one."""

    bytes: int
    words: int
    nbest: int


class Refused(Exception):
    """A request that is not answered: an HTTP status, and what is wrong."""

    def __init__(self, status: HTTPStatus, message: str, **more: object) -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {"error": message, **{name: value for name, value in more.items() if value is not None}}

    @classmethod
    def of(cls, error: InputError) -> Refused:
        """A refusal of what a run cannot translate."""
        seen = None if error.seen is None else str(error.seen)
        expected, remedy = error.expected, error.remedy
        return cls(HTTPStatus.BAD_REQUEST, error.message, seen=seen, expected=expected, remedy=remedy)


@dataclass(frozen=True)
class Request:
    """A sentence to translate.

    Attributes:
        text: one line.
        nbest: how many translations of it.
        explain: whether to say how the best one came about, and what the other run says.
    """

    text: str
    nbest: int = 1
    explain: bool = False


def read_request(body: bytes, limits: Limits) -> Request:
    """The request that a body of JSON holds: `{"text": …, "nbest": …, "explain": …}`, of which only text must be there.

    Raises:
        Refused: it is no such JSON, or asks for too much.
    """
    try:
        held = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad("the request is no JSON in UTF-8", seen=str(error)) from error
    if not isinstance(held, dict):
        raise _bad("the request is no JSON object", expected='{"text": "…"}')
    unknown = [name for name in held if name not in ("text", "nbest", "explain")]
    if unknown:
        raise _bad("the request has an unknown field", seen=unknown[0], expected="text, nbest, explain")
    text, nbest, explain = held.get("text"), held.get("nbest", 1), held.get("explain", False)
    if not isinstance(text, str):
        raise _bad("text must be a string", expected='{"text": "…"}')
    if not isinstance(nbest, int) or isinstance(nbest, bool) or not 1 <= nbest <= limits.nbest:
        raise _bad("nbest is out of range", seen=repr(nbest), expected=f"a whole number from 1 to {limits.nbest}")
    if not isinstance(explain, bool):
        raise _bad("explain must be true or false", seen=repr(explain))
    return Request(_line(text), nbest, explain)


def _line(text: str) -> str:
    if len(text.strip().splitlines()) > 1:
        raise _bad("text must be one line", seen=f"{len(text.strip().splitlines())} lines", expected="one sentence")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _bad("text holds half a character", seen=str(error), expected="Unicode") from error
    return text.strip()


def _bad(message: str, **more: object) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, message, **more)
