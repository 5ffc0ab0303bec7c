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

from xlate.formats.nbest_list import BAR, LARGEST, MEND, Hypothesis, Layout, Style
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
    if name == PLAIN:
        return PlainStyle(size or 1)
    return Style() if name == BARS else FairseqStyle() if name == FAIRSEQ else JsonStyle()


class FairseqStyle(Style):
    """What fairseq-generate prints: lines `S-0`, `H-0`, `D-0`, `P-0`, each with a tab and what it is.

    `H` begins a hypothesis, with its score and words; `D`, where there is one, has the words that are taken in their
    place. Of the scores `P` of its pieces the features are their sum, the least of them and how many there are. Sources
    are kept, what else is printed between is passed over.
    """

    expected = "H-0 TAB score TAB words, D-0 and P-0 behind it"

    def __init__(self) -> None:
        self._source: dict[int, str] = {}
        self._open: tuple[int, int, float, str] | None = None
        self._values: list[float] = []

    def line(self, text: str, number: int) -> Hypothesis | None:
        record = _RECORD.fullmatch(text)
        if record is None:
            return None
        kind, sentence, held = record[1], parse_int(record[2]), record[3]
        score, tab, words = held.partition("\t")
        # A source or another hypothesis completes the hypothesis before.
        done = self.end() if kind in "SH" else None
        if kind in "DP" and (self._open is None or self._open[1] != sentence):
            raise ValueError(f"{kind}-{sentence} without its H-{sentence}")
        if kind in "HD" and not tab:
            raise ValueError("no tab between score and words")
        if kind == "S":
            self._source = _one_source(self._source, sentence, held)
        elif kind == "H":
            self._open = (number, sentence, parse_float(score, LARGEST), words)
        elif kind == "D" and self._open is not None:
            self._open = (*self._open[:3], words)
        elif kind == "P":
            values = parse_floats(held.split(), LARGEST)
            if values is None:
                raise ValueError(f"scores that are no finite numbers: {shown(held)}")
            self._values = values
        return done

    def end(self) -> Hypothesis | None:
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


class PlainStyle(Style):
    """One hypothesis per line, a fixed number of them for each sentence."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.expected = f"{size} hypotheses of each sentence, one a line"

    def line(self, text: str, number: int) -> Hypothesis:
        self.lines = number
        return _made(number, (number - 1) // self.size, text, {}, None, None)

    def end(self) -> None:
        if self.lines % self.size:
            raise ValueError(f"{self.lines} lines are no multiple of {self.size}")


class JsonStyle(Style):
    """A JSON object a line: `{"id": 0, "src": …, "hyp": …, "scores": {"name": 1.5}, "score": -2}`.

    `id` and `hyp` must be there. `scores` are features, and so are other fields that are numbers; `score` is the total.
    What else an object has is passed over, which is said once.
    """

    expected = '{"id": 0, "src": "…", "hyp": "…", "scores": {"name": 0.5}}, hypotheses of a sentence together'

    def __init__(self) -> None:
        self._source: dict[int, str] = {}

    def line(self, text: str, number: int) -> Hypothesis:
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


class _Guessed(Style):
    """The style that the first line looks like; where it does not tell, the remedy says which keys do."""

    def __init__(self, size: int | None) -> None:
        self._style = Style() if size is None else PlainStyle(size)
        self.expected, self.remedy = self._style.expected, MEND if size is not None else f"{MEND}; {SAY_FORM}"

    def line(self, text: str, number: int) -> Hypothesis | None:
        if number == 1 and (text.startswith("{") or BAR in text or _RECORD.fullmatch(text)):
            bars = FairseqStyle() if _RECORD.fullmatch(text) else Style()
            self._style = JsonStyle() if text.startswith("{") else bars
            self.expected, self.remedy = self._style.expected, MEND
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


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{shown(name)} is no finite number: {shown(str(value))}")
    return float(value)
