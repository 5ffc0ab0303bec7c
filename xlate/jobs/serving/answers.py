"""What clients ask for and may ask for, and what a run answers, as JSON."""

from __future__ import annotations

import ipaddress
import json
import math
import re
import threading
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any

from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.inspect.features import FiredFeatures, legend, source_text
from xlate.jobs.translate import Translation, Translator, line_tokens
from xlate.kernels.pairs import LEFT, RIGHT
from xlate.models.derivation import COPIED
from xlate.models.pack_format import unpacked
from xlate.models.system import AnyDerivation

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


ORIENTATIONS = {RIGHT: "goes on", LEFT: "swaps"}
JUMPS = "jumps"
# How many features are shown of a step; of the others, their number and their sum.
SHOWN = 12


class ServedRun:
    """A run that several threads may ask.

    A system keeps what it ranked for earlier sentences, so it decodes one sentence at a time.

    Args:
        folder: the run.
        limits: what clients may ask for.
        work: its work directory, if the user has named it; near: one that may be it.

    Raises:
        InputError: the run is not finished, or it does not translate.
    """

    def __init__(self, folder: str, limits: Limits, work: str | None = None, near: str | None = None) -> None:
        run = unpacked(Path(folder))
        config = config_of_run(run)
        self.name = run.resolve().name
        self.kind = config.model.name
        self._limits = limits
        self._translator = Translator.of_run(config, run, given=work, near=near)
        # Reads what would otherwise be read when the first sentence comes, from files that may have gone by then.
        self._translator.translate_line("")
        self._asked = threading.Lock()

    def answer(self, request: Request) -> Json:
        """The translation, its score, the n-best list, and on request how it came about.

        Raises:
            Refused: the sentence is too long, or it is not text that the run takes.
            InputError: a file of the run cannot be read any more.
        """
        with self._asked:
            translator = self._translator if request.nbest == 1 else self._listing
            translation = translator.translate_tokens(self._tokens(request.text))
            best = translation.derivations[0]
            answer: Json = {"run": self.name, "translation": translation.text, "score": number(best.score)}
            answer["unknown"] = best.copied
            if request.nbest > 1:
                text = self._translator.text
                answer["nbest"] = [
                    {"translation": text.target_text(list(derivation.words)), "score": number(derivation.score)}
                    for derivation in translation.derivations[: request.nbest]
                ]
            if request.explain:
                answer |= explained(translation, self._fired)
            return answer

    def _tokens(self, text: str) -> list[str]:
        try:
            tokens = line_tokens(self._translator.text, text, 0)
        except InputError as error:
            raise Refused(
                HTTPStatus.BAD_REQUEST, error.message, seen=error.seen, expected=error.expected, remedy=error.remedy
            ) from error
        if len(tokens) > self._limits.words:
            message, expected = "the sentence is too long", f"at most {self._limits.words} words"
            raise Refused(HTTPStatus.BAD_REQUEST, message, seen=f"{len(tokens)} words", expected=expected)
        return tokens

    @cached_property
    def _listing(self) -> Translator:
        """The same run with the longest lists that may be asked for, so that its ranking serves the next list."""
        system = self._translator.system.with_search(nbest=self._limits.nbest, distinct=True)
        return Translator(self._translator.text, system)

    @cached_property
    def _fired(self) -> FiredFeatures:
        return FiredFeatures(self._translator.system)


def explained(translation: Translation, fired: FiredFeatures) -> Json:
    """How a translation came about: tokens, steps with spans and features, float features, word links, the trace.

    Works for every `System`: `steps` are those of the derivation that cover source words, in target order.
    """
    system, derivation = fired.system, translation.derivations[0]
    links = system.word_links(derivation)
    steps = _steps(translation.source, derivation, fired)
    # The float features that add something to the score, strongest first.
    values = zip(system.feature_names, system.weights_D.tolist(), derivation.features_D.tolist(), strict=True)
    rows = sorted((row for row in values if row[1] * row[2]), key=lambda row: -abs(row[1] * row[2]))
    floats = [
        {"name": name, "weight": number(weight), "value": number(value), "score": number(weight * value)}
        for name, weight, value in rows
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
    """A number as JSON can say it: None for one that is not finite."""
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
            for feature in weighted[:SHOWN]
        ]
        steps.append(
            {
                "source_spans": [list(place) for place in step.source_spans],
                "target_span": list(span),
                "source": source_text(source, step),
                "target": " ".join(step.target_words),
                "copied": step.unit == COPIED,
                "orientation": ORIENTATIONS.get(turn, JUMPS),
                "features": shown,
                "more": {"count": len(rest), "score": number(sum(feature.score for feature in rest))},
                "without_weight": without_weight,
            }
        )
    if steps:
        # Some systems ask for no orientation where there is nothing before.
        steps[0]["orientation"] = JUMPS if steps[0]["source_spans"][0][0] else ORIENTATIONS[RIGHT]
    return steps
