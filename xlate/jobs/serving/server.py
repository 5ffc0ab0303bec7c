"""xlate serve: the JSON and the page of a run over HTTP. waitress does the HTTP, under limits that are set here."""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import socket
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources
from pathlib import Path
from typing import Any

import waitress
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError

from xlate import __version__
from xlate.config.schema import ServeConfig
from xlate.errors import InputError
from xlate.jobs.serving.answers import (
    Json,
    Limits,
    Refused,
    ServedRun,
    check_sender,
    host_of,
    is_loopback,
    read_request,
)

log = logging.getLogger(__name__)
# Paths and their methods.
PATHS = {"/": ("GET", "HEAD"), "/health": ("GET", "HEAD"), "/translate": ("POST",)}
# What stands in the page where each answer has another word, which scripts and styles must name to count.
NONCE = "{{nonce}}"
# The most connections at a time, and the threads that answer them; more connections wait.
CONNECTIONS, THREADS = 500, 8
# A client has so many seconds to send a request whole, and to begin the next one; clients are checked this often.
CLIENT_SECONDS, CHECK_SECONDS = 30, 5
# The most bytes before the body. A body that is only this much too large is still read: many clients send all of it
# before they read why it is refused.
HEADER_BYTES, EXCESS_BYTES = 1 << 14, 1 << 18


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses lengths that a proxy in front may read otherwise, so that a body would hide a second request."""

    def parse_header(self, header_plus: bytes) -> None:
        names = [line.partition(b":")[0].lower() for line in header_plus.split(b"\r\n")]
        if names.count(b"content-length") + names.count(b"transfer-encoding") > 1:
            raise ParsingError("more than one Content-Length or Transfer-Encoding")
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("Content-Length is invalid") from error


class _Channel(HTTPChannel):  # type: ignore[misc]
    """Counts the time of a client from the first bytes of its request; waitress counts it from the latest ones.

    It also does not ask for an answer to be sent while the thread that wrote the answer is sending it: waitress asks
    without a pause, which takes the interpreter from that thread and costs two thirds of the answers at 100 clients.
    """

    parser_class = _Parser
    last_activity: float

    def writable(self) -> bool:
        if self.requests and self.total_outbufs_len:
            # The thread wakes the loop where it could not send everything.
            if not self.outbuf_lock.acquire(False):
                return False
            self.outbuf_lock.release()
        return bool(super().writable())

    def handle_read(self) -> None:
        begun, request = self.last_activity, self.request
        super().handle_read()
        if request is not None and self.request is request:
            self.last_activity = begun


@dataclass(frozen=True)
class Application:
    """The WSGI application: JSON under /translate and /health, a page under /.

    Attributes:
        runs: the run, and maybe another one for comparison.
        limits: what a request may ask for.
        bound: the host that the server is bound to; allow: other hosts that it answers as.
    """

    runs: Sequence[ServedRun]
    limits: Limits
    bound: str
    allow: Collection[str] = ()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        begun = time.perf_counter()
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        status, headers = HTTPStatus.OK, {"Content-Type": "application/json"}
        try:
            check_sender(environ, self.bound, self.allow)
            answer = self._answer(path, method, environ)
        except Refused as refused:
            status, answer = refused.status, refused.body
            if status is HTTPStatus.METHOD_NOT_ALLOWED:
                headers["Allow"] = ", ".join(PATHS[path])
        except Exception as error:
            log.error("%s %s: %s", method, path, error, exc_info=not isinstance(error, InputError))
            status, answer = HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the server failed; its log says how"}
        if answer is None:
            # The page may load nothing, and runs only its own script.
            nonce = secrets.token_urlsafe(16)
            text = (resources.files(__package__) / "page.html").read_text(encoding="utf-8").replace(NONCE, nonce)
            body, own = text.encode("utf-8"), f"'nonce-{nonce}'"
            policy = f"default-src 'none'; script-src {own}; style-src {own}; connect-src 'self'; img-src data:"
            policy += "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            headers |= {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
        else:
            body = json.dumps(answer, allow_nan=False).encode("ascii") + b"\n"
        headers |= {"Content-Length": str(len(body)), "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        log.debug("%s %s %d %.3f s", method, path, status, time.perf_counter() - begun)
        start_response(f"{status.value} {status.phrase}", list(headers.items()))
        return [] if method == "HEAD" else [body]

    def _answer(self, path: str, method: str, environ: dict[str, Any]) -> Json | None:
        """The JSON of an answer; None for the page."""
        if path not in PATHS:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such path", seen=path[:200], expected=", ".join(PATHS))
        if method not in PATHS[path]:
            expected = ", ".join(PATHS[path])
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "not by this method", seen=method[:200], expected=expected)
        if path == "/translate":
            request = read_request(environ["wsgi.input"].read(), self.limits)
            answer = self.runs[0].answer(request)
            if request.explain and self.runs[1:]:
                answer["other"] = self.runs[1].answer(request)
            return answer
        if path == "/health":
            runs = [{"run": run.name, "model": run.kind} for run in self.runs]
            return {"status": "ok", "version": __version__, "runs": runs, "limits": vars(self.limits)}
        return None


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        InputError: there is no such address, or somebody else has it.
    """
    try:
        if not host.strip():
            raise OSError("an empty host would be every address of this machine")
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        raise InputError(
            "this address cannot be served",
            seen=f"host={host} port={port}: {getattr(error, 'strerror', None) or error}",
            expected="an address of this machine and a port that is free",
            remedy="choose another host= or port=; port=0 takes any that is free",
        ) from error


def http_server(application: Application, listening: socket.socket) -> Any:
    """waitress for an application, with its limits set; `run` answers until SIGINT or SIGTERM."""
    # It warns whenever a request has to wait for a thread.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = waitress.create_server(
        application, sockets=[listening], ident=f"xlate/{__version__}", threads=THREADS, asyncore_use_poll=True,
        connection_limit=CONNECTIONS, channel_timeout=CLIENT_SECONDS, cleanup_interval=CHECK_SECONDS,
        max_request_header_size=HEADER_BYTES, max_request_body_size=application.limits.bytes + EXCESS_BYTES,
    )  # fmt: skip
    server.channel_class = _Channel
    return server


def open_server(config: ServeConfig) -> Any:
    """The server of a configuration, its runs loaded.

    Raises:
        InputError: as `open_socket` and `ServedRun` do; both runs are the same; allow names no hosts.
    """
    allow = [host_of(name) for name in config.allow]
    for name, host in zip(config.allow, allow, strict=True):
        if not host or host != name.lower() or set(host) & set("/@ "):
            expected = "hosts without scheme and port: mt.example.org, 192.168.0.7, [2001:db8::1]"
            raise InputError("allow names something else than a host", seen=f"allow=[{name}]", expected=expected)
    if config.other is not None and Path(config.run).resolve() == Path(config.other).resolve():
        seen, expected = f"run={config.run} other={config.other}", "another run to compare with"
        raise InputError("both runs are the same", seen=seen, expected=expected, remedy="leave out other=")
    limits = Limits(config.max_bytes, config.max_words, config.max_nbest)
    listening = open_socket(config.host, config.port)
    try:
        runs = [ServedRun(config.run, limits, config.work)]
        if config.other is not None:
            runs.append(ServedRun(config.other, limits, near=config.work))
        return http_server(Application(runs, limits, _bracketed(config.host), allow), listening)
    except BaseException:
        listening.close()
        raise


def serve(config: ServeConfig) -> None:
    """Answers until SIGINT or SIGTERM, then ends what is under way and returns.

    Raises:
        InputError: as `open_server`.
    """
    server = open_server(config)
    if not is_loopback(config.host):
        log.warning("warning: whoever reaches %s can use this server; it asks for no password", config.host)
    log.info("serving %s at http://%s:%s/; Ctrl-C ends", config.run, _bracketed(config.host), server.effective_port)
    with contextlib.closing(server), contextlib.suppress(KeyboardInterrupt):
        server.run()
    log.info("stopped")


def _bracketed(host: str) -> str:
    """A host as it is written in an address."""
    return f"[{host}]" if ":" in host else host
