"""N-best lists in other forms than fields with bars: fairseq's, plain text, JSON lines.

All become the same `Hypothesis`, whose fields are those that it will be written with.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from xlate.formats.nbest_list import BAR, LARGEST, MEND, BarStyle, Hypothesis, Layout, Style
from xlate.text.numbers import parse_float, parse_floats, parse_int, shown
from xlate.text.tokens import same_letters

AUTO, BARS, FAIRSEQ, PLAIN, JSONL = "auto", "bars", "fairseq", "plain", "jsonl"
STYLES = (AUTO, BARS, FAIRSEQ, PLAIN, JSONL)
SAY_FORM = (
    "nbest_format=fairseq where log lines come before those of fairseq, nbest_size=N for plain text of N hypotheses a "
    "sentence"
)
_RECORD = re.compile(r"([A-Z])-([0-9]{1,10})\t(.*)", re.DOTALL)
_FIELDS = {"id", "src", "hyp", "scores", "score"}
log = logging.getLogger(__name__)
_NAME = re.compile(r"[^\s=:|]+")


def style_of(name: str, size: int | None = None) -> Style:
    """The style of a name; `size` is how many lines of plain text belong to a sentence.

    Raises:
        ValueError: there is none of this name, or plain text without a size.
    """
    if name not in STYLES:
        raise ValueError(f"no such form of lists: {name}")
    if name == PLAIN and size is None:
        raise ValueError("plain text does not say where a list ends")
    if name == AUTO:
        return _Guessed(size)
    made: dict[str, type[BarStyle | FairseqStyle | JsonStyle]] = {
        BARS: BarStyle,
        FAIRSEQ: FairseqStyle,
        JSONL: JsonStyle,
    }
    return PlainStyle(size or 1) if name == PLAIN else made[name]()


class FairseqStyle:
    """What fairseq-generate prints: lines `S-0`, `H-0`, `D-0`, `P-0`, each with a tab and what it is.

    `H` begins a hypothesis, with its score and words; `D`, where there is one, has the words that are taken in their
    place. Of the scores `P` of its pieces the features are their sum, the least of them and how many there are. Sources
    are kept, what else is printed between is passed over.
    """

    expected, remedy = "H-0 TAB score TAB words, D-0 and P-0 behind it", MEND

    def __init__(self) -> None:
        self._source: dict[int, str] = {}
        self._open: tuple[int, int, float, str] | None = None
        self._values: list[float] = []

    def line(self, text: str, number: int) -> Hypothesis | None:
        """The hypothesis before, when this line begins another one or another sentence."""
        record = _RECORD.fullmatch(text)
        if record is None:
            return None
        kind, sentence, held = record[1], parse_int(record[2]), record[3]
        if kind == "S":
            done = self.end()
            self._source = _one_source(self._source, sentence, held)
            return done
        if kind == "H":
            done = self.end()
            score, words = _two(held)
            self._open = (number, sentence, parse_float(score, LARGEST), words)
            return done
        if kind in "DP":
            if self._open is None or self._open[1] != sentence:
                raise ValueError(f"{kind}-{sentence} without its H-{sentence}")
            if kind == "D":
                self._open = (*self._open[:3], _two(held)[1])
            else:
                self._values = _numbers(held)
        return None

    def end(self) -> Hypothesis | None:
        """The last hypothesis."""
        if self._open is None:
            return None
        line, sentence, score, words = self._open
        named = {"score": score}
        if self._values:
            named |= {
                "log_prob": sum(self._values),
                "least_log_prob": min(self._values),
                "pieces": float(len(self._values)),
            }
        self._open, self._values = None, []
        return _made(line, sentence, words, named, score, self._source.get(sentence))


class PlainStyle:
    """A hypothesis a line, a fixed number of them for each sentence."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.expected, self.remedy = f"{size} hypotheses of each sentence, one a line", MEND
        self._lines = 0

    def line(self, text: str, number: int) -> Hypothesis:
        """The hypothesis of the line."""
        self._lines = number
        return _made(number, (number - 1) // self.size, text, {}, None, None)

    def end(self) -> None:
        """Raises ValueError when the last list is too short."""
        if self._lines % self.size:
            raise ValueError(f"{self._lines} lines are no multiple of {self.size}")


class JsonStyle:
    """A JSON object a line: `{"id": 0, "src": …, "hyp": …, "scores": {"name": 1.5}, "score": -2}`.

    `id` and `hyp` must be there. `scores` are features, and so are other fields that are numbers; `score` is the total.
    What else an object has is passed over, which is said once.
    """

    expected = '{"id": 0, "src": "…", "hyp": "…", "scores": {"name": 0.5}}, hypotheses of a sentence together'
    remedy = MEND

    def __init__(self) -> None:
        self._source: dict[int, str] = {}

    def line(self, text: str, number: int) -> Hypothesis:
        """The hypothesis of the line."""
        try:
            held = json.loads(text)
        except RecursionError:
            raise ValueError("JSON of too many levels") from None
        if not isinstance(held, dict):
            raise ValueError("no JSON object")
        sentence, words, source = held.get("id"), held.get("hyp"), held.get("src")
        scores, total = held.get("scores"), held.get("score")
        if not isinstance(sentence, int) or isinstance(sentence, bool):
            raise ValueError("id is no whole number")
        if not isinstance(words, str) or not isinstance(source, str | None):
            raise ValueError("hyp is no text" if not isinstance(words, str) else "src is no text")
        if not isinstance(scores, dict | None):
            raise ValueError("scores are no object")
        if source is not None:
            self._source = _one_source(self._source, sentence, source)
        named = {name: _number(name, value) for name, value in (scores or {}).items()}
        for name in filter(lambda name: name not in _FIELDS, held):
            if isinstance(held[name], bool) or not isinstance(held[name], int | float):
                _say_passed_over(name)
            elif name in named:
                raise ValueError(f"a feature stands twice, beside scores and among them: {shown(name)}")
            else:
                named[name] = _number(name, held[name])
        given = None if total is None else _number("score", total)
        return _made(number, parse_int(str(sentence)), words, named, given, source)

    def end(self) -> None:
        """Every line is whole."""


class _Guessed:
    """The style that the first line looks like."""

    def __init__(self, size: int | None) -> None:
        self._style: Style = BarStyle() if size is None else PlainStyle(size)
        self._told = size is not None

    @property
    def expected(self) -> str:
        return self._style.expected

    @property
    def remedy(self) -> str:
        """What to do; where the first line did not tell the form, which keys say it."""
        return self._style.remedy if self._told else f"{MEND}; {SAY_FORM}"

    def line(self, text: str, number: int) -> Hypothesis | None:
        self._told |= number == 1 and (text.startswith("{") or BAR in text or bool(_RECORD.fullmatch(text)))
        if number == 1 and text.startswith("{"):
            self._style = JsonStyle()
        elif number == 1 and _RECORD.fullmatch(text):
            self._style = FairseqStyle()
        elif number == 1 and BAR in text:
            self._style = BarStyle()
        return self._style.line(text, number)

    def end(self) -> Hypothesis | None:
        return self._style.end()


def _one_source(known: Mapping[int, str], sentence: int, source: str) -> dict[int, str]:
    """The source of the sentence that is read.

    Raises:
        ValueError: it has another one on an earlier line.
    """
    before = known.get(sentence, source)
    if not same_letters(before, source):
        raise ValueError(f"two sources of one sentence: {shown(before)} and {shown(source)}")
    return {sentence: source}


@cache
def _say_passed_over(name: str) -> None:
    log.info("the field %s of JSON lines is no number: it is passed over", shown(repr(name)))


def _made(
    line: int, sentence: int, text: str, named: Mapping[str, float], total: float | None, source: str | None
) -> Hypothesis:
    if "\n" in text or "\r" in text or BAR in text:
        raise ValueError(f"a line end or {BAR} inside the text")
    strange = next((name for name in named if not _NAME.fullmatch(name)), None)
    if strange is not None:
        raise ValueError(f"a feature's name with a blank, =, : or |: {shown(strange)}")
    # A lone surrogate, which JSON can say, is no text: it raises a ValueError.
    "".join((text, source or "", *named)).encode("utf-8")
    if any(abs(value) > LARGEST for value in named.values()):
        raise ValueError("a score out of range")
    words = " ".join(filter(None, text.replace("\t", " ").split(" ")))
    layout: Layout = tuple((name, 1) for name in named)
    written = " ".join(f"{name}= {value:.9g}" for name, value in named.items())
    fields = (str(sentence), words, written, "" if total is None else f"{total:.9g}")
    return Hypothesis(line, sentence, words, layout, list(named.values()), total, fields, 2, source)


def _two(held: str) -> tuple[str, str]:
    score, tab, words = held.partition("\t")
    if not tab:
        raise ValueError("no tab between score and words")
    return score, words


def _numbers(held: str) -> list[float]:
    values = parse_floats(held.split(), LARGEST)
    if values is None:
        raise ValueError(f"scores that are no finite numbers: {shown(held)}")
    return values


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{shown(name)} is no finite number: {shown(str(value))}")
    return float(value)
