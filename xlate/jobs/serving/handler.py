"""HTTP: what is asked under which path, and every answer as JSON but the page."""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import time
from contextlib import AbstractContextManager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import resources
from typing import Any, ClassVar, Protocol

from xlate import __version__
from xlate.jobs.serving.requests import Json, Limits, Refused, read_request
from xlate.jobs.serving.served import ServedRuns

log = logging.getLogger(__name__)
# Paths and their methods.
PATHS = {"/": ("GET", "HEAD"), "/health": ("GET", "HEAD"), "/translate": ("POST",)}
PAGE = "page.html"
# What stands in the page where each answer has another word, which scripts and styles must name to count.
NONCE = "{{nonce}}"
# A client that is silent for so long is given up.
PATIENCE_SECONDS = 30
# Of a request that is refused so much is read and thrown away, waiting so long for each piece.
MOST_DROPPED, DROPPING_SECONDS = 1 << 26, 1.0


class Serving(Protocol):
    """What a handler needs of its server."""

    runs: ServedRuns
    limits: Limits

    def answering(self) -> AbstractContextManager[None]:
        """What is done in here is waited for when the server is stopped."""


class Handler(BaseHTTPRequestHandler):
    """Answers one client."""

    protocol_version = "HTTP/1.1"
    server_version = f"xlate/{__version__}"
    sys_version = ""
    timeout: ClassVar[float] = PATIENCE_SECONDS

    @property
    def serving(self) -> Serving:
        """The server, for its runs and limits."""
        server: Any = self.server
        return server  # type: ignore[no-any-return]

    def do_GET(self) -> None:
        """Answers, whatever the method is."""
        with self.serving.answering():
            self._answer()

    do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def _answer(self) -> None:
        begun = time.perf_counter()
        try:
            status = self._answered()
        except Refused as refused:
            self.close_connection = True
            self._send_json(refused.status, refused.body)
            self._drop_body()
            status = refused.status
        except (ConnectionError, TimeoutError):
            self.close_connection = True
            return
        except Exception:
            log.exception("%s %s", self.command, self.path)
            self.close_connection = True
            self._send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the server failed; its log says how"})
            return
        log.debug("%s %s %d %.3f s", self.command, self.path, status, time.perf_counter() - begun)

    def _answered(self) -> HTTPStatus:
        path = self.path.split("?", 1)[0]
        methods = PATHS.get(path)
        if methods is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such path", seen=path[:200], expected=", ".join(PATHS))
        if self.command not in methods:
            expected = ", ".join(methods)
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "not by this method", seen=self.command, expected=expected)
        if path == "/translate":
            request = read_request(self._body(), self.serving.limits)
            self._send_json(HTTPStatus.OK, self.serving.runs.answer(request))
        elif path == "/health":
            self._send_json(HTTPStatus.OK, {"status": "ok", "version": __version__, **self._described()})
        else:
            self._send_page()
        return HTTPStatus.OK

    def _described(self) -> Json:
        limits = self.serving.limits
        sizes = {"bytes": limits.bytes, "words": limits.words, "nbest": limits.nbest}
        return {"runs": self.serving.runs.described(), "limits": sizes}

    def _body(self) -> bytes:
        """The bytes of the request, none of which is read before it is known that they are few enough."""
        length = self._length()
        body = self.rfile.read(length)
        if len(body) < length:
            raise Refused(HTTPStatus.BAD_REQUEST, "the request is cut off", seen=f"{len(body)} of {length} bytes")
        return body

    def _length(self) -> int:
        length, most = self.headers.get("Content-Length"), self.serving.limits.bytes
        if length is None:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the request does not say its length", expected="Content-Length")
        if not (length.isascii() and length.isdigit()):
            raise Refused(HTTPStatus.BAD_REQUEST, "the length of the request is no number", seen=length[:50])
        if len(length) > 15 or int(length) > most:
            status, expected = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most} bytes"
            raise Refused(status, "the request is too large", seen=f"{length[:50]} bytes", expected=expected)
        return int(length)

    def _drop_body(self) -> None:
        """Reads what a refused client still sends, up to a limit: many clients read no answer before all is sent."""
        self.connection.settimeout(DROPPING_SECONDS)
        left = MOST_DROPPED
        with contextlib.suppress(OSError):
            while left > 0 and (piece := self.rfile.read1(min(left, 1 << 16))):
                left -= len(piece)

    def handle_expect_100(self) -> bool:
        """Asks a client for its body only where it is not too large."""
        try:
            self._length()
        except Refused as refused:
            self.close_connection = True
            self._send_json(refused.status, refused.body)
            return False
        return super().handle_expect_100()

    def _send_page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        text = (resources.files(__package__) / PAGE).read_text(encoding="utf-8").replace(NONCE, nonce)
        own = f"'nonce-{nonce}'"
        policy = f"default-src 'none'; script-src {own}; style-src {own}; connect-src 'self'; img-src data:"
        more = {"Content-Security-Policy": f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", text.encode("utf-8"), more)

    def _send_json(self, status: HTTPStatus, body: Json) -> None:
        more = {"Allow": ", ".join(PATHS[path])} if (path := self._refused_method(status)) else {}
        self._send(status, "application/json", json.dumps(body, allow_nan=False).encode("ascii") + b"\n", more)

    def _refused_method(self, status: HTTPStatus) -> str | None:
        return self.path.split("?", 1)[0] if status is HTTPStatus.METHOD_NOT_ALLOWED else None

    def _send(self, status: HTTPStatus, kind: str, body: bytes, more: dict[str, str]) -> None:
        self.send_response(status)
        standing = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        for name, value in {**standing, "X-Content-Type-Options": "nosniff", **more}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What Python's server refuses by itself: a request that is no HTTP, or a method there is none of."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self.close_connection = True
        # Of a request that could not be read, none of these are known.
        self.path, self.command = getattr(self, "path", "/"), getattr(self, "command", None) or "GET"
        if self.path.split("?", 1)[0] not in PATHS:
            self.path = "/"
        self._send_json(status, {"error": explain or message or status.phrase})

    def log_message(self, format: str, *args: Any) -> None:
        """Python's own line for each request is said at the level for what nobody needs to see."""
        log.debug(format, *args)
