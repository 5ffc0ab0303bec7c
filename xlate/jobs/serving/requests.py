"""What a client asks for: who may ask, the JSON of a request, and refusals with a status."""

from __future__ import annotations

import ipaddress
import json
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

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
        self.body: Json = {"error": message, **{name: str(value) for name, value in more.items() if value is not None}}


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


def host_of(address: str) -> str:
    """The host of a header such as `localhost:8000` or `[::1]:8000`, in lower case and without its port."""
    return re.sub(r":[0-9]*$", "", address).lower()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_sender(environ: Mapping[str, Any], bound: str, allow: Collection[str]) -> None:
    """Refuses a page from elsewhere that uses a visitor's browser to ask, also one whose name leads to this machine.

    Args:
        environ: the WSGI environment of the request.
        bound: the host that the server is bound to.
        allow: other hosts that clients may write in the address.

    Raises:
        Refused: another `Host`, or an `Origin` that is neither the server's own nor allowed.
    """
    address, origin = environ.get("HTTP_HOST", ""), environ.get("HTTP_ORIGIN")
    host, remedy = host_of(address), "if this is meant to work, start the server with allow=[HOST]"
    if host not in (bound.lower(), *allow) and not is_loopback(host):
        raise Refused(HTTPStatus.FORBIDDEN, "not a host of this server", seen=host[:200], remedy=remedy)
    if origin is not None:
        sender = origin.partition("://")[2].lower()
        if sender != address.lower() and host_of(sender) not in allow:
            message = "pages from elsewhere may not ask this server"
            raise Refused(HTTPStatus.FORBIDDEN, message, seen=origin[:200], remedy=remedy)


def read_request(body: bytes, limits: Limits) -> Request:
    """The request that a body of JSON holds: `{"text": …, "nbest": …, "explain": …}`, of which only text must be there.

    Raises:
        Refused: it is no such JSON, or asks for too much.
    """
    if len(body) > limits.bytes:
        status, expected = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {limits.bytes} bytes"
        raise Refused(status, "the request is too large", seen=f"{len(body)} bytes", expected=expected)
    try:
        held = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad("the request is no JSON in UTF-8", seen=error) from error
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
    line = text.strip(" \t\r\n")
    if "\n" in line:
        raise _bad("text must be one line", seen=f"{line.count(chr(10)) + 1} lines", expected="one sentence")
    for place, character in enumerate(line, start=1):
        # Control characters would split words; half a surrogate pair is not Unicode.
        if unicodedata.category(character) in ("Cc", "Cs") and character != "\t":
            seen = f"U+{ord(character):04X} as character {place}"
            raise _bad("text holds a control character or half a character", seen=seen, expected="plain text")
    return line


def _bad(message: str, **more: object) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, message, **more)
