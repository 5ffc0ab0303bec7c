"""Records of translations in the forms in which tools write them, as dictionaries or JSON lines.

`read_record` finds the hypotheses of one record and their scores; `JsonStyle` reads a list of records line by line;
`ranked_records` puts the hypotheses of records in their new order and changes nothing else.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from itertools import chain
from operator import getitem, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from xlate.errors import shown
from xlate.formats.nbest_list import LARGEST, Hypothesis, Layout, Style, write_nbest
from xlate.progress import track
from xlate.text.lines import atomic_write
from xlate.text.numbers import parse_int
from xlate.text.opening import named_packing

log = logging.getLogger(__name__)
# What a record says, and the fields in which tools say it; the first that is there counts.
KEYS = {
    "id": ("custom_id", "id", "request_id"),
    "src": ("src", "source", "prompt"),
    "ref": ("ref", "reference", "references"),
    "doc": ("doc", "document"),
    "hyp": (
        "", "hyp", "mt", "outputs", "choices", "sequences", "hypotheses", "translation_text", "generated_text", "text",
    ),
    "score": ("score", "sequences_scores", "cumulative_logprob", "cum_logprob", "scores"),
}  # fmt: skip
# The fields of a hypothesis that is an object, or of a message, that hold its text.
TEXT = ("text", "message", "content", "hyp", "mt", "translation_text", "generated_text")
TOKENS = ("logprobs", "token_logprobs")
# Fields whose numbers are no scores.
_counted = lru_cache(1 << 12)(re.compile(r"index|rank|created|num_cached_tokens|.*_ids?").fullmatch)
BETTER, WORSE = "chosen", "rejected"
# What pieces of SentencePiece begin with where a word begins.
WORD_BEGIN = "▁"
# The number of tokens whose mean log probability is a feature of its own.
FIRST = 3
_NAME = re.compile(r"[^\s=:|]+")
_BLANKS = str.maketrans("\t\n\v\f\r", "     ")
# A job may read a list several times, so each message is logged once.
_say_once = cache(log.warning)


class Record(NamedTuple):
    """What a record says.

    Attributes:
        id: of the sentence, None if it has none. source, references: of the sentence, if it has them.
        entries: its hypotheses, in their order: the text as given, the scores by name, and the total if there is one.
        held: the same as they were given.
        given: the record as it is. key: the field of the hypotheses, empty in a list.
        listed: whether it holds a list, of one hypothesis or more. pair: whether these are `chosen` and `rejected`.
        shared: the fields of its id, source and references.
        unused: the fields that are neither of these nor scores, apart from those that are null.
        document: the name of the document that the sentence is of, if it has one.
    """

    id: int | str | None
    source: str | None
    references: tuple[str, ...]
    entries: list[tuple[str, dict[str, float], float | None]]
    held: list[Any]
    given: Any
    key: str
    listed: bool
    pair: bool
    shared: frozenset[str]
    unused: tuple[str, ...]
    document: str | None


def read_record(given: Any, fields: Mapping[str, str] | None = None) -> Record:
    """Finds the hypotheses of a record in any of the forms that docs/formats.md lists.

    Every number except `index`, `rank`, `created` and ids is a score: of one hypothesis if it is in its object or in
    a list as long as that of the hypotheses, otherwise of all hypotheses of the record. Token log probabilities become
    five scores.

    Args:
        given: a dictionary, or a list of dictionaries with one hypothesis each.
        fields: where other tools say `id`, `src`, `ref`, `hyp` and `score`; a dot leads into an object, or into the
            objects of a list of hypotheses: `{"hyp": "answers.text"}`.

    Raises:
        ValueError: the record has no hypotheses or is ill-formed; the message says how.
    """
    fields = fields or {}
    home = {"": given} if isinstance(given, list) else _home(given)
    if not isinstance(home, dict):
        raise ValueError("not a JSON object")
    left = dict(home) if home is given or isinstance(given, list) else {**given, **home, "response": None}
    name, source, references, document = (_taken(left, kind, fields) for kind in ("id", "src", "ref", "doc"))
    shared = frozenset(home).difference(left)
    key, inside = _place(left, fields)
    held, pair = left.pop(key), key == BETTER and WORSE in left
    if pair:
        held = [held, left.pop(WORSE)]
        left[BETTER] = [1.0, 0.0]
    several = held if isinstance(held, list) else [held]
    if not several:
        raise ValueError("the record has no hypotheses")
    unused: dict[str, None] = {}
    score = fields.get("score", "").removeprefix(f"{key}.")
    totals = (score,) if score else KEYS["score"]
    entries = [_entry(text, row, totals, unused) for text, row in _rows(left, held, several, inside)]
    return Record(
        _identity(name),
        None if source is None else _text(source, "src"),
        () if references is None else tuple(map(_text, references if isinstance(references, list) else [references])),
        entries,
        several,
        given,
        key,
        several is held,
        pair,
        shared,
        tuple(unused),
        None if document is None else str(document),
    )


def _home(given: Any) -> Any:
    """The object with the hypotheses: the record, or the body of the answer in a line of a batch."""
    response = given.get("response") if isinstance(given, dict) else None
    return response["body"] if isinstance(response, dict) and isinstance(response.get("body"), dict) else given


def _taken(left: dict[str, Any], kind: str, fields: Mapping[str, str]) -> Any:
    """Removes and returns what a record says of one kind; None if it does not."""
    path = _path(left, kind, fields)
    return None if path is None else left.pop(path) if path in left else _at(left, path)


def _path(left: Mapping[str, Any], kind: str, fields: Mapping[str, str]) -> str | None:
    return fields.get(kind) or next((key for key in KEYS[kind] if left.get(key) is not None), None)


def _at(found: Any, path: str) -> Any:
    """What is inside objects."""
    try:
        return reduce(getitem, path.split("."), found)
    except (KeyError, TypeError):
        raise ValueError(f"no field {shown(path)}") from None


def _place(left: Mapping[str, Any], fields: Mapping[str, str]) -> tuple[str, str]:
    """The field of the hypotheses, and where in their objects the text is, empty for the usual places."""
    path = _path(left, "hyp", fields)
    if path is None and BETTER in left and WORSE in left:
        path = BETTER
    if path is None:
        raise ValueError(f"no hypotheses among the fields {shown(', '.join(left))}")
    key, _, inside = (path, "", "") if path in left else path.partition(".")
    if key not in left:
        raise ValueError(f"no field {shown(path)}")
    return key, inside


def _rows(left: dict[str, Any], held: Any, several: list[Any], inside: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The text of each hypothesis, and the fields that are its own or those of the record."""
    first, _, rest = inside.partition(".")
    for place, one in enumerate(several):
        row = left if not left or isinstance(held, str) else _parts(left, len(several), itemgetter(place))
        if isinstance(one, dict):
            row = {**row, **one}
            if not first:
                first = next((name for name in TEXT if one.get(name) is not None), "")
            one = row.pop(first, None)
            one = _at(one, rest) if rest else one
        yield _text(one), row


def _parts(value: Any, count: int, taken: Callable[[list[Any]], Any]) -> Any:
    """A field of a record of `count` hypotheses with what is `taken` of the lists that say something of each."""
    if isinstance(value, list) and len(value) == count:
        return taken(value)
    return {name: _parts(one, count, taken) for name, one in value.items()} if isinstance(value, dict) else value


def _text(value: Any, name: str = "hyp") -> str:
    """A text that is given as it is, as words or pieces, as a message, or as the last one of a conversation."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _text(next((value[key] for key in TEXT if value.get(key) is not None), None), name)
    if not isinstance(value, list):
        raise ValueError(f"{name} is not text")
    if not all(isinstance(one, str) for one in value):
        return _text(value[-1], name)
    pieces = any(one.startswith(WORD_BEGIN) for one in value)
    return "".join(value).replace(WORD_BEGIN, " ") if pieces else " ".join(value)


def _entry(
    text: str, row: dict[str, Any], totals: Sequence[str], unused: dict[str, None]
) -> tuple[str, dict[str, float], float | None]:
    total = None
    for key in totals:
        value = row.get(key)
        if value is not None and not isinstance(value, dict):
            total = _number(key, row.pop(key))
            break
    scores = row.pop("scores") if isinstance(row.get("scores"), dict) else None
    named = {name: _number(name, value) for name, value in scores.items()} if scores else {}
    if not row.keys().isdisjoint(TOKENS):
        tokens = [row.pop(key) for key in TOKENS if isinstance(row.get(key), list | dict)]
        row |= _token_scores(tokens[0], row.pop("token_ids", None)) if tokens else {}
    for name, value in row.items():
        if (type(value) is float or type(value) is int) and not _counted(name):
            if name in named:
                raise ValueError(f"a feature appears twice, inside and outside scores: {shown(name)}")
            named[name] = _number(name, value)
        elif value is not None:
            unused[name] = None
    return text, named, total


def _token_scores(tokens: Any, ids: Any) -> dict[str, float]:
    """The sum, mean and minimum of the log probabilities of a hypothesis's tokens, the mean of the first ones, and
    their number; of each token either the number, an object with `logprob`, or an object by the ids of the tokens.
    """
    if isinstance(tokens, dict):
        tokens = tokens.get("content") or tokens.get("token_logprobs") or ()
    values = []
    for place, one in enumerate(tokens):
        if isinstance(one, dict) and one and "logprob" not in one:
            known = isinstance(ids, list) and place < len(ids) and str(ids[place]) in one
            one = one[str(ids[place])] if known else next(iter(one.values()))
        if one is not None:
            values.append(_number("logprob", one.get("logprob") if isinstance(one, dict) else one))
    if not values:
        return {}
    first = values[:FIRST]
    return {
        "log_prob": sum(values),
        "mean_log_prob": sum(values) / len(values),
        "least_log_prob": min(values),
        "first_log_prob": sum(first) / len(first),
        "pieces": float(len(values)),
    }


def _number(name: str, value: Any) -> float:
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{shown(name)} is not a finite number: {shown(str(value))}")
    return float(value)


def _identity(name: Any) -> int | str | None:
    """A number, or a text other than a number, which identifies a sentence."""
    if name is None or (isinstance(name, str) and not (name.isascii() and name.isdigit())):
        return name
    if isinstance(name, bool) or not isinstance(name, int | str):
        raise ValueError("id is neither a whole number nor text")
    return parse_int(str(name))


class JsonStyle(Style):
    """One record per line, or one dictionary of a table; see `read_record`.

    Text ids and missing ones are numbered in the order in which they occur. Records without ids that follow each other
    with the same source belong together, unless they hold lists. White space inside a hypothesis, such as line ends,
    separates its words.
    """

    expected = (
        'a JSON record such as {"id": 0, "src": "…", "hyp": "…", "scores": {"name": 0.5}}; records of the same '
        "sentence follow each other"
    )
    remedy = "correct or remove the record"

    def __init__(self, file: str = "", fields: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._file, self._fields = file, fields
        self._numbers: dict[int | str, int] = {}
        # The key of the sentence before, and its source if another record may continue it.
        self._key: int | str = -1
        self._before: str | None = None
        self._numbered: bool | None = None
        self._unused: dict[str, None] = {}

    def line(self, text: Any, number: int) -> Sequence[Hypothesis]:
        try:
            record = read_record(loaded(text) if isinstance(text, str) else text, self._fields)
        except RecursionError:
            raise ValueError("JSON that is nested too deeply") from None
        self._unused.update(dict.fromkeys(record.unused))
        sentence, source = self._sentence(record, number), record.source
        if source is not None and (sentence not in self._source or source != self._before):
            # A lone surrogate, which JSON can express, is no text: it raises a ValueError.
            source.encode()
            self.say_source(sentence, source)
        self._before = None if record.listed else source
        return [
            Hypothesis(
                number, sentence, collapsed(words), _layout(tuple(named)), [*named.values()], total, (), 2, source,
                record, place,
            )
            for place, (words, named, total) in enumerate(record.entries)
        ]  # fmt: skip

    def end(self) -> Sequence[Hypothesis]:
        if self._unused:
            _say_once("warning: %s: fields that are not scores are ignored: %s", self._file, ", ".join(self._unused))
        return ()

    def _sentence(self, record: Record, number: int) -> int:
        """The number of the sentence: its id, or the place of its text id among those that occur."""
        key = record.id
        if key is None:
            if record.source is None and len(record.entries) == 1:
                raise ValueError("neither an id nor a source says which sentence this belongs to")
            continues = not record.listed and record.source is not None and record.source == self._before
            key = self._key if continues else -number
        numbered = isinstance(record.id, int)
        if self._numbered not in (None, numbered):
            raise ValueError("some ids are numbers, others are text or missing")
        self._key, self._numbered = key, numbered
        return record.id if isinstance(record.id, int) else self._numbers.setdefault(key, len(self._numbers))


def loaded(text: str) -> Any:
    """The value of a JSON text; also of numbers that JSON lacks, such as `NaN`, which are refused where they count.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)


def collapsed(text: str) -> str:
    """The words of a text with one blank between them; only blanks, tabs and line ends separate words.

    Raises:
        ValueError: it holds a lone surrogate, which JSON can express.
    """
    # Printable text has neither surrogates nor white space other than blanks.
    if text.isprintable() and "  " not in text and text.strip(" ") == text:
        return text
    text.encode()
    return " ".join(filter(None, text.translate(_BLANKS).split(" ")))


@lru_cache(1 << 12)
def _layout(names: tuple[str, ...]) -> Layout:
    strange = next((name for name in names if not _NAME.fullmatch(name)), None)
    if strange is not None:
        raise ValueError(f"a feature name with a space, =, : or |: {shown(strange)}")
    "".join(names).encode()
    return tuple((name, 1) for name in names)


def write_lists(path: str | Path, lists: Iterable[Sequence[Hypothesis]]) -> None:
    """Writes lists in the form in which they were read; as records if the name ends in .jsonl, with bars if in .nbest.

    Raises:
        InputError: a text holds `|||`, in a list with bars.
    """
    rest = iter(lists)
    first = next(rest, ())
    lists = chain((first,), rest)
    name = Path(path).name.removesuffix(getattr(named_packing(Path(path)), "suffix", ""))
    recorded = bool(first) and first[0].record is not None and not name.endswith(".nbest")
    if not (recorded or name.endswith(".jsonl")):
        write_nbest(path, chain.from_iterable(lists))
        return
    with atomic_write(path) as stream:
        for record in track(ranked_records(lists), "writing records"):
            try:
                line = orjson.dumps(record)
            except TypeError:
                # A whole number of more than 64 bits.
                line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
            stream.write(line + b"\n")


def ranked_records(lists: Iterable[Sequence[Hypothesis]]) -> Iterator[Any]:
    """Yields the records of lists that are ordered best first, with the hypotheses of each in that order.

    Every hypothesis gets its total as `score`, its place in the list as `rank`, from 1, and the columns added to it: in
    its object, or in lists as long as that of the hypotheses. Hypotheses read in another form become records, too.
    """
    for hypotheses in lists:
        ranked: dict[int, list[tuple[Hypothesis, dict[str, Any]]]] = defaultdict(list)
        for rank, hypothesis in enumerate(hypotheses, 1):
            record, gained = hypothesis.record, {"score": hypothesis.total, "rank": rank}
            if record is None:
                yield {**_plain(hypothesis), **gained}
                continue
            read = len(record.entries[hypothesis.place][1])
            if len(hypothesis.values) > read:
                names = (name for name, _ in hypothesis.layout[read:])
                gained = {**dict(zip(names, hypothesis.values[read:], strict=True)), **gained}
            ranked[id(record)].append((hypothesis, gained))
        yield from map(_ranked, ranked.values())


def _plain(hypothesis: Hypothesis) -> dict[str, Any]:
    scores = {
        name if count == 1 else f"{name}_{at}": one
        for (name, count), held in hypothesis.columns().items()
        for at, one in enumerate(held)
    }
    source = {} if hypothesis.source is None else {"src": hypothesis.source}
    return {"id": hypothesis.sentence, **source, "hyp": hypothesis.text, "scores": scores}


def _ranked(rows: Sequence[tuple[Hypothesis, dict[str, Any]]]) -> Any:
    """A record with these of its hypotheses, in this order, each given with what it gained."""
    record, gained = rows[0][0].record, [new for _, new in rows]
    given, key, held = record.given, record.key, record.held

    def reordered(of_each: list[Any]) -> list[Any]:
        return [of_each[hypothesis.place] for hypothesis, _ in rows]

    several, objects = reordered(held), isinstance(held[0], dict) and not record.pair
    if objects:
        several = [{**one, **new} for one, new in zip(several, gained, strict=True)]
    if isinstance(given, list):
        return several
    home = _home(given)
    made: dict[str, Any] = {
        name: one if name in record.shared or (objects and _counted(name)) else _parts(one, len(held), reordered)
        for name, one in home.items()
    }
    if not objects:
        made |= {name: [row[name] for row in gained] for name in gained[0]} if record.listed else gained[0]
    made |= {BETTER: several[0], WORSE: several[-1]} if record.pair else {key: several if record.listed else several[0]}
    return made if home is given else {**given, "response": {**given["response"], "body": made}}
