"""xlate serve: a run over HTTP, as JSON and a page. waitress handles HTTP, under limits set here."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import math
import re
import secrets
import socket
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import waitress
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError

from xlate import __version__
from xlate.config.schema import ServeConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.sparse_features import FiredFeatures, legend, meaning, source_text
from xlate.jobs.translate import Translation, Translator
from xlate.kernels.pairs import LEFT, RIGHT
from xlate.models.derivation import COPIED
from xlate.models.pack_format import unpacked
from xlate.models.system import AnyDerivation
from xlate.settings import Json
from xlate.text.terms import HARD, TERM

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """The most bytes per request, source words per sentence, translations per sentence, and texts per request."""

    bytes: int
    words: int
    nbest: int
    texts: int


class Refused(Exception):
    """A refused request: what is wrong with it, and an HTTP status."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST, **more: object) -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {"error": message, **{name: str(value) for name, value in more.items() if value is not None}}


def host_of(address: str) -> str:
    """The host in a header such as `localhost:8000` or `[::1]:8000`, in lower case and without the port."""
    return re.sub(r":[0-9]*$", "", address).lower()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and can be reached only from it."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_sender(environ: Mapping[str, Any], bound: str, allow: Collection[str]) -> None:
    """Refuses requests that a foreign page makes in a visitor's browser, even if its name leads to this machine.

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
        raise Refused("not a host of this server", HTTPStatus.FORBIDDEN, seen=host[:200], remedy=remedy)
    if origin is not None:
        sender = origin.partition("://")[2].lower()
        if sender != address.lower() and host_of(sender) not in allow:
            raise Refused(
                "pages from other hosts may not use this server", HTTPStatus.FORBIDDEN, seen=origin[:200], remedy=remedy
            )


def read_request(body: bytes, limits: Limits) -> tuple[str | list[str], int, bool]:
    """Reads a JSON body: one or more lines, the number of translations per line, and whether to explain the best one.

    It holds `{"text": …, "nbest": …, "explain": …}`; only `text`, a string or a list of strings, is required.

    Raises:
        Refused: it is not such JSON, or requests too much.
    """
    if len(body) > limits.bytes:
        raise Refused(
            "the request is too large",
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            seen=f"{len(body)} bytes",
            expected=f"at most {limits.bytes} bytes",
        )
    try:
        held = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise Refused("the request is not JSON in UTF-8", seen=error) from error
    if not isinstance(held, dict):
        raise Refused("the request is not a JSON object", expected='{"text": "…"}')
    unknown = [name for name in held if name not in ("text", "nbest", "explain")]
    if unknown:
        raise Refused("the request has an unknown field", seen=unknown[0], expected="text, nbest, explain")
    text, nbest, explain = held.get("text"), held.get("nbest", 1), held.get("explain", False)
    if not isinstance(text, str) and not (isinstance(text, list) and all(isinstance(one, str) for one in text)):
        raise Refused("text must be a string or a list of strings", expected='{"text": "…"}')
    if isinstance(text, list) and len(text) > limits.texts:
        raise Refused("there are too many texts", seen=f"{len(text)} texts", expected=f"at most {limits.texts}")
    if not isinstance(nbest, int) or isinstance(nbest, bool) or not 1 <= nbest <= limits.nbest:
        raise Refused("nbest is out of range", seen=repr(nbest), expected=f"a whole number from 1 to {limits.nbest}")
    if not isinstance(explain, bool):
        raise Refused("explain must be true or false", seen=repr(explain))
    return _line(text) if isinstance(text, str) else each(text, _line), nbest, explain


def each(texts: Sequence[str], act: Callable[[str], T]) -> list[T]:
    """What `act` returns for each text; when it refuses one, the answer says which."""
    done = []
    for index, text in enumerate(texts):
        try:
            done.append(act(text))
        except Refused as refused:
            refused.body["index"] = index
            raise
    return done


def _line(text: str) -> str:
    line = text.strip(" \t\r\n")
    if "\n" in line:
        raise Refused("text must be one line", seen=f"{line.count(chr(10)) + 1} lines", expected="one sentence")
    for place, character in enumerate(line, start=1):
        # Control characters would split words; half a surrogate pair is not Unicode.
        if unicodedata.category(character) in ("Cc", "Cs") and character != "\t":
            raise Refused(
                "text contains a control character or half a character",
                seen=f"U+{ord(character):04X} as character {place}",
                expected="plain text",
            )
    return line


ORIENTATIONS = {RIGHT: "continues", LEFT: "swaps"}
JUMPS = "jumps"
# The number of features shown per step; for the others, only their number and sum.
SHOWN = 12


class ServedRun:
    """A run that several threads may use.

    A system caches rankings of earlier sentences, so it decodes one sentence at a time.

    Args:
        folder: the run.
        limits: what clients may request.
        work: its work directory, if the user has named it; near: one that may be it.
        terms: the file of a glossary, if there is one, and how it is used.

    Raises:
        InputError: the run is not finished, or it does not translate; a term cannot be used.
    """

    def __init__(
        self,
        folder: str,
        limits: Limits,
        work: str | None = None,
        near: str | None = None,
        terms: tuple[str | None, str] = (None, HARD),
    ) -> None:
        run = unpacked(Path(folder))
        config = config_of_run(run)
        self.name = run.resolve().name
        self.kind = config.model.name
        self._limits = limits
        self._translator = Translator.of_run(config, run, given=work, near=near)
        self._translator.mark_terms(*terms)
        # Reads now what would otherwise be read with the first sentence, when the files may be gone.
        self._translator.translate_line("")
        self._fired = FiredFeatures(self._translator.system)
        self._asked = threading.Lock()

    def answer(self, text: str, nbest: int = 1, explain: bool = False) -> Json:
        """The translation, its score, the list of `nbest` translations, and on request an explanation of the best one.

        Raises:
            Refused: the sentence is too long, or the run cannot take such text.
            InputError: a file of the run can no longer be read.
        """
        with self._asked:
            translator = self._translator if nbest == 1 else self._listing
            try:
                tokens = self._translator.tokens(text)
            except InputError as error:
                seen, expected, remedy = error.seen, error.expected, error.remedy
                raise Refused(error.message, seen=seen, expected=expected, remedy=remedy) from error
            if len(tokens) > self._limits.words:
                expected = f"at most {self._limits.words} words"
                raise Refused("the sentence is too long", seen=f"{len(tokens)} words", expected=expected)
            translation = translator.translate_tokens(tokens)
            best = translation.derivations[0]
            answer: Json = {"run": self.name, "translation": translation.text, "score": number(best.score)}
            answer["unknown"] = best.copied
            if nbest > 1:
                target_text = self._translator.text.target_text
                answer["nbest"] = [
                    {"translation": target_text(list(derivation.words)), "score": number(derivation.score)}
                    for derivation in translation.derivations[:nbest]
                ]
            if explain:
                answer |= explained(translation, self._fired)
            return answer

    @cached_property
    def _listing(self) -> Translator:
        """The same run with the longest lists that clients may request, so that its rankings can be reused."""
        system = self._translator.system.with_search(nbest=self._limits.nbest, distinct=True)
        return Translator(self._translator.text, system)


def explained(translation: Translation, fired: FiredFeatures) -> Json:
    """Explains a translation: tokens, steps with spans and features, float features, word links, the trace.

    Works for every `System`: `steps` are the derivation's steps that cover source words, in target order.
    """
    system, derivation = fired.system, translation.derivations[0]
    links = system.word_links(derivation)
    steps = _steps(translation.source, derivation, fired)
    floats = [
        {"name": name, "weight": number(weight), "value": number(value), "score": number(weight * value)}
        | {"meaning": meaning(name)}
        for name, weight, value in system.contributions(derivation)
    ]
    return {
        "source": translation.source,
        "target": derivation.words,
        "steps": steps,
        "legend": dict(legend(feature["name"] for step in steps for feature in step["features"])),
        "features": floats,
        "links": None if links is None else [list(link) for link in links],
        "trace": system.explain(translation.source, derivation),
    }


def number(value: float) -> float | None:
    """A number that JSON can represent: None if it is not finite."""
    return value if math.isfinite(value) else None


def _steps(source: Sequence[str], derivation: AnyDerivation, fired: FiredFeatures) -> list[Json]:
    features = [found for step, found in zip(derivation.steps, fired.of(derivation), strict=True) if not step.is_end]
    turns = fired.system.orientations(derivation)
    steps: list[Json] = []
    for step, span, turn, (weighted, without_weight) in zip(
        derivation.blocks, derivation.target_spans, turns, features, strict=False
    ):
        rest = weighted[SHOWN:]
        shown = [
            {**feature._asdict(), "weight": number(feature.weight), "score": number(feature.score)}
            | {"meaning": meaning(feature.name)}
            for feature in weighted[:SHOWN]
        ]
        steps.append(
            {
                "source_spans": [list(place) for place in step.source_spans],
                "target_span": list(span),
                "source": source_text(source, step),
                "target": " ".join(step.target_words),
                "copied": step.unit == COPIED,
                "term": step.unit <= TERM,
                "orientation": ORIENTATIONS.get(turn, JUMPS),
                "features": shown,
                "more": {"count": len(rest), "score": number(sum(feature.score for feature in rest))},
                "without_weight": without_weight,
            }
        )
    if steps:
        # Some systems have no orientation for the first step.
        steps[0]["orientation"] = JUMPS if steps[0]["source_spans"][0][0] else ORIENTATIONS[RIGHT]
    return steps


# Paths and their methods.
PATHS = dict.fromkeys(("/", "/health", "/openapi.json"), ("GET", "HEAD")) | {"/translate": ("POST",)}
# A placeholder in the page: each answer puts a new word there, which scripts and styles must name to be accepted.
NONCE = "{{nonce}}"
# The most simultaneous connections, and the threads that answer them; further connections wait.
CONNECTIONS, THREADS = 500, 8
# The seconds that a client has to send a complete request, and to begin the next one; and between two checks.
CLIENT_SECONDS, CHECK_SECONDS = 30, 5
# The most bytes before the body, and the most bytes by which a body may be too large and still be read: many clients
# send all of it before they read why it is refused.
HEADER_BYTES, EXCESS_BYTES = 1 << 14, 1 << 18


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses lengths that a proxy in front may read differently, so that a body could hide a second request."""

    def parse_header(self, header_plus: bytes) -> None:
        names = [line.partition(b":")[0].lower() for line in header_plus.split(b"\r\n")]
        if names.count(b"content-length") + names.count(b"transfer-encoding") > 1:
            raise ParsingError("more than one Content-Length or Transfer-Encoding")
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("Content-Length is invalid") from error


class _Channel(HTTPChannel):  # type: ignore[misc]
    """Counts a client's time from the first bytes of its request; waitress counts it from the latest ones.

    It also does not ask for an answer to be sent while the thread that wrote it is sending it. waitress asks without a
    pause, which takes the interpreter from that thread and loses two thirds of the answers per second at 100 clients.
    """

    parser_class = _Parser
    last_activity: float

    def writable(self) -> bool:
        if self.requests and self.total_outbufs_len:
            # The thread wakes the loop if it could not send everything.
            if not self.outbuf_lock.acquire(False):
                return False
            self.outbuf_lock.release()
        return bool(super().writable())

    def handle_read(self) -> None:
        begun, request = self.last_activity, self.request
        super().handle_read()
        if request is not None and self.request is request:
            self.last_activity = begun


def openapi(limits: Limits) -> Json:
    """The description of all paths in OpenAPI 3.1, with the limits of this server."""
    described: Json = json.loads(_resource("openapi.json"))
    described["info"]["version"] = __version__
    request = described["components"]["schemas"]["Request"]["properties"]
    request["text"]["oneOf"][1]["maxItems"], request["nbest"]["maximum"] = limits.texts, limits.nbest
    return described


def _resource(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Application:
    """The WSGI application: JSON under /translate, /health and /openapi.json, a page under /.

    Attributes:
        runs: the run, and maybe another one for comparison.
        limits: what a request may contain.
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
            status, answer = HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the server failed; see its log"}
        if answer is None:
            # The page may load nothing and run only its own script.
            nonce = secrets.token_urlsafe(16)
            body, own = _resource("page.html").replace(NONCE, nonce).encode(), f"'nonce-{nonce}'"
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
            raise Refused("there is no such path", HTTPStatus.NOT_FOUND, seen=path[:200], expected=", ".join(PATHS))
        if method not in PATHS[path]:
            raise Refused(
                "this path does not allow this method",
                HTTPStatus.METHOD_NOT_ALLOWED,
                seen=method[:200],
                expected=", ".join(PATHS[path]),
            )
        if path == "/translate":
            text, nbest, explain = read_request(environ["wsgi.input"].read(), self.limits)
            if isinstance(text, str):
                return self._translated(text, nbest, explain)
            return {"answers": each(text, lambda one: self._translated(one, nbest, explain))}
        if path == "/health":
            runs = [{"run": run.name, "model": run.kind} for run in self.runs]
            return {"status": "ok", "version": __version__, "runs": runs, "limits": vars(self.limits)}
        return openapi(self.limits) if path == "/openapi.json" else None

    def _translated(self, text: str, nbest: int, explain: bool) -> Json:
        answer = self.runs[0].answer(text, nbest, explain)
        if explain and self.runs[1:]:
            answer["other"] = self.runs[1].answer(text, nbest, explain)
        return answer


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        InputError: there is no such address, or it is in use.
    """
    try:
        if not host.strip():
            raise OSError("an empty host would mean every address of this machine")
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        raise InputError(
            "the server cannot use this address",
            f"host={host} port={port}: {getattr(error, 'strerror', None) or error}",
            "an address of this machine and a free port",
            "choose another host= or port=; port=0 takes any free port",
        ) from error


def http_server(application: Application, listening: socket.socket) -> Any:
    """waitress for an application, with its limits set; `run` answers until SIGINT or SIGTERM."""
    # waitress warns whenever a request has to wait for a thread.
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
        InputError: as `open_socket` and `ServedRun`; both runs are the same; `allow` names something that is no host.
    """
    allow = [host_of(name) for name in config.allow]
    for name, host in zip(config.allow, allow, strict=True):
        if not host or host != name.lower() or set(host) & set("/@ "):
            expected = "hosts without scheme and port: mt.example.org, 192.168.0.7, [2001:db8::1]"
            raise InputError("allow must name hosts", f"allow=[{name}]", expected)
    if config.other is not None and Path(config.run).resolve() == Path(config.other).resolve():
        expected = "another run to compare with"
        raise InputError(
            "both runs are the same", f"run={config.run} other={config.other}", expected, "leave out other="
        )
    limits = Limits(config.max_bytes, config.max_words, config.max_nbest, config.max_texts)
    listening = open_socket(config.host, config.port)
    try:
        terms = config.glossary, config.terms
        runs = [ServedRun(config.run, limits, config.work, terms=terms)]
        if config.other is not None:
            runs.append(ServedRun(config.other, limits, near=config.work, terms=terms))
        return http_server(Application(runs, limits, _bracketed(config.host), allow), listening)
    except BaseException:
        listening.close()
        raise


def serve(config: ServeConfig) -> None:
    """Answers until SIGINT or SIGTERM, then finishes open requests and returns.

    Raises:
        InputError: as `open_server`.
    """
    server = open_server(config)
    if not is_loopback(config.host):
        log.warning("warning: anyone who can reach %s can use this server without a password", config.host)
    log.info("serving %s at http://%s:%s/; Ctrl-C stops it", config.run, _bracketed(config.host), server.effective_port)
    with contextlib.closing(server), contextlib.suppress(KeyboardInterrupt):
        server.run()
    log.info("stopped")


def _bracketed(host: str) -> str:
    """A host as it is written in an address."""
    return f"[{host}]" if ":" in host else host
