"""An n-best list, how to read it, and its arrays: forms, duplicates, added columns, lists of other systems to merge.

Lists in forms other than fields with bars (fairseq's, plain text, records) become the same `Hypothesis`.
"""

from __future__ import annotations

import logging
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from xlate.arrays.ragged import offsets_of
from xlate.candidates.nbest import NbestArrays
from xlate.errors import InputError, refuse_if, shown
from xlate.formats.nbest_list import (
    BAR,
    LARGEST,
    MEND,
    Hypothesis,
    NbestFaults,
    Style,
    by_sentence,
    iterate_hypotheses,
    one_source,
)
from xlate.formats.records import KEYS, JsonStyle, collapsed
from xlate.text.numbers import parse_float, parse_int, parse_row, read_column
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import EncodedText, WordNumbers

AUTO, BARS, FAIRSEQ, PLAIN, JSONL = "auto", "bars", "fairseq", "plain", "jsonl"
STYLES = (AUTO, BARS, FAIRSEQ, PLAIN, JSONL)
SAY_FORM = (
    "nbest_format=fairseq if log lines precede those of fairseq, nbest_size=N for plain text of N hypotheses per "
    "sentence"
)
_RECORD = re.compile(r"([A-Z])-([0-9]{1,10})\t(.*)", re.DOTALL)
log = logging.getLogger(__name__)
# A job may read a list several times, so each message is logged once.
_say_once = cache(log.info)


class FairseqStyle(Style):
    """The output of fairseq-generate: lines `S-0`, `H-0`, `D-0`, `P-0`, each followed by a tab and its content.

    `H` begins a hypothesis, with its score and words; `D`, if there is one, has the words to use instead. The scores
    `P` of its pieces give three features: their sum, their minimum and their number. Sources are kept, other lines are
    skipped.
    """

    expected = "H-0 TAB score TAB words, D-0 and P-0 after it"

    def __init__(self) -> None:
        super().__init__()
        # The arguments of `_hypothesis` for the current hypothesis; empty before the first one.
        self._open: dict[str, Any] = {}

    def line(self, text: str, number: int) -> Sequence[Hypothesis]:
        record = _RECORD.fullmatch(text)
        if record is None:
            return ()
        kind, sentence, held = record[1], parse_int(record[2]), record[3]
        score, tab, words = held.partition("\t")
        # A source or another hypothesis completes the hypothesis before.
        done = self.end() if kind in "SH" else ()
        if kind in "DP" and self._open.get("sentence") != sentence:
            raise ValueError(f"{kind}-{sentence} without its H-{sentence}")
        if kind in "HD" and not tab:
            raise ValueError("no tab between score and words")
        if kind == "S":
            self.say_source(sentence, held)
        elif kind == "H":
            total = parse_float(score, LARGEST)
            named = {"score": total}
            self._open = {"line": number, "sentence": sentence, "text": words, "named": named, "total": total}
        elif kind == "D":
            self._open["text"] = words
        elif kind == "P":
            values = parse_row(held, LARGEST)
            if values is None:
                raise ValueError(f"the scores are not finite numbers: {shown(held)}")
            if values:
                self._open["named"] |= {
                    "log_prob": sum(values), "least_log_prob": min(values), "pieces": float(len(values))
                }  # fmt: skip
        return done

    def end(self) -> Sequence[Hypothesis]:
        found, self._open = self._open, {}
        return [_hypothesis(**found, source=self._source.get(found["sentence"]))] if found else ()


class PlainStyle(Style):
    """One hypothesis per line, a fixed number per sentence."""

    def __init__(self, size: int) -> None:
        self.size, self.lines = size, 0
        self.expected = f"{size} hypotheses of each sentence, one per line"

    def line(self, text: str, number: int) -> Sequence[Hypothesis]:
        self.lines = number
        return [_hypothesis(number, (number - 1) // self.size, text, {}, None, None)]

    def end(self) -> Sequence[Hypothesis]:
        if self.lines % self.size:
            raise ValueError(f"{self.lines} lines are not a multiple of {self.size}")
        return ()


def _hypothesis(
    line: int, sentence: int, text: str, named: Mapping[str, float], total: float | None, source: str | None
) -> Hypothesis:
    if BAR in text:
        raise ValueError(f"{BAR} inside the text")
    if any(abs(value) > LARGEST for value in named.values()):
        raise ValueError("a score out of range")
    layout = tuple((name, 1) for name in named)
    return Hypothesis(line, sentence, collapsed(text), layout, [*named.values()], total, source=source)


# How many systems have the hypothesis, and how high they rank it: the sum of 1/rank.
AGREEMENT, RANKS = "systems", "reciprocal_ranks"
TOTAL = "total"
# The columns of a system: feature and number of values, and the values of each hypothesis by its words.
_Named = dict[tuple[str, int], list[float]]


def merged(
    first: Iterable[Sequence[Hypothesis]],
    others: Mapping[str, Iterable[Sequence[Hypothesis]]],
    files: Mapping[str, str | Path],
) -> Iterator[list[Hypothesis]]:
    """Yields one list per sentence: the hypotheses of the first list, then those only in others, each text once.

    The features of another system get its name and a dot as a prefix; its totals become a feature too, and those of the
    first become `total`. For a hypothesis that a system lacks, each of its features gets the lowest value in the
    sentence, and `NAME.has` is 0. `systems` counts the systems that have a hypothesis, `reciprocal_ranks` adds up
    1/rank over them (Cormack et al. 2009). The result has no totals, because those of different systems cannot be
    compared. Line numbers are those of the first list; hypotheses only in others get the line where their sentence
    begins there. `files` are those of the lists, by their names; the first one has the name "".

    Raises:
        InputError: another list or the first one lacks a sentence, or a sentence has two sources.
    """

    def lacks(which: str, name: str | Path, hypothesis: Hypothesis, file: str | Path, where: str) -> InputError:
        return InputError(
            f"a sentence that {which} lacks",
            f"sentence {hypothesis.sentence}, which {name} lacks",
            "lists of the same sentences, with the same numbers",
            f"remove its lines here, or add its hypotheses {where}",
            file=file,
            line=hypothesis.line,
        )

    rest = {name: {group[0].sentence: group for group in lists} for name, lists in others.items()}
    for group in first:
        found, source = {"": group}, one_source(group, None, files[""], "")
        for name, lists in rest.items():
            if group[0].sentence not in lists:
                raise lacks("another list", name, group[0], files[""], "there")
            found[name] = lists.pop(group[0].sentence)
            source = one_source(found[name], source, files[name], "the lists before")
        yield _joined(found, source)
    for name, lists in rest.items():
        for left in lists.values():
            raise lacks("the first list", files[""], left[0], files[name], "to the first list")


def _joined(groups: Mapping[str, Sequence[Hypothesis]], source: str | None) -> list[Hypothesis]:
    first = groups[""][0]
    lines = {hypothesis.text: hypothesis.line for hypothesis in reversed(groups[""])}
    named: dict[str, _Named] = {hypothesis.text: {} for group in groups.values() for hypothesis in group}
    ranks: dict[str, list[float]] = defaultdict(list)
    for system, group in groups.items():
        prefix = f"{system}." if system else ""
        values = {}
        for rank, hypothesis in enumerate(group, 1):
            if hypothesis.text not in values:
                values[hypothesis.text] = row = hypothesis.columns()
                if hypothesis.total is not None:
                    row[TOTAL, 1] = [hypothesis.total]
                ranks[hypothesis.text].append(1.0 / rank)
        # The lowest value of each feature that all rows have; sparse ones are 0 where absent.
        each = list(values.values())
        shared = [key for key in each[0] if all(key in row for row in each)]
        lowest = {key: [*map(min, zip(*(row[key] for row in each), strict=True))] for key in shared}
        for text, row in named.items():
            row |= {(prefix + name, count): held for (name, count), held in values.get(text, lowest).items()}
            row[f"{prefix}has", 1] = [float(text in values)]
    made = []
    for text, row in named.items():
        row |= {(AGREEMENT, 1): [float(len(ranks[text]))], (RANKS, 1): [sum(ranks[text])]}
        line, flat = lines.get(text, first.line), [*chain(*row.values())]
        made.append(Hypothesis(line, first.sentence, text, tuple(row), flat, None, source=source))
    return made


KEEP, DROP = "keep", "drop"


@dataclass(frozen=True)
class NbestFile:
    """A list and how to read it.

    Attributes:
        path: the file. form: one of `STYLES`; `auto` decides by the first line.
        size: the lines per sentence in plain text.
        duplicates: `keep` or `drop` hypotheses with the same words as an earlier one of the sentence.
        added: `NAME=FILE` each: a feature with one number per hypothesis, in the order of the list.
        documents: a file with the name of a document for each sentence.
        others: `NAME=FILE` each: lists of the same sentences by other systems, to merge with it.
        fields: `NAME=FIELD` each: where its records say `id`, `src`, `hyp`, `ref` and `score`; see `read_record`.
        rows: its records if they are in memory; then `path` is their name in messages.

    Raises:
        InputError: plain text has no size, or something is not NAME=FILE or NAME=FIELD.
    """

    path: str | Path
    form: str = AUTO
    size: int | None = None
    duplicates: str = KEEP
    added: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    documents: str | None = None
    rows: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        refuse_if(
            self.form == PLAIN and self.size is None,
            "plain text does not say where a list ends",
            f"nbest_format={self.form} nbest_size={self.size}",
            ", ".join(STYLES),
            "nbest_size=N for plain text of N hypotheses per sentence",
            self.path,
        )
        _ = self.files
        wrong = not named_files(self.fields, "fields").keys() <= KEYS.keys()
        expected = f"fields=[NAME=FIELD,…], NAME one of {', '.join(KEYS)}"
        refuse_if(wrong, "fields does not name a field of the records", list(self.fields), expected)

    def style(self, first: Any) -> Style:
        """The parser for the lines of the file, or for the rows of a table, given the first one."""
        form = JSONL if self.fields or not isinstance(first, str) else self.form
        if form == AUTO:
            looks = JSONL if first.startswith(("{", "[")) else FAIRSEQ if _RECORD.fullmatch(first) else BARS
            form = looks if looks != BARS or BAR in first or self.size is None else PLAIN
        if form == PLAIN:
            return PlainStyle(self.size or 1)
        if form == JSONL:
            return JsonStyle(str(self.path), named_files(self.fields, "fields"))
        style = FairseqStyle() if form == FAIRSEQ else Style()
        if self.form == AUTO and form == BARS and BAR not in first:
            style.remedy = f"{MEND}; {SAY_FORM}"
        return style

    @property
    def files(self) -> list[str]:
        """The list and the files read along with it."""
        named = {**named_files(self.added, "add_scores"), **named_files(self.others, "merge")}
        return [str(self.path), *named.values(), *filter(None, [self.documents])]

    def hypotheses(self, faults: NbestFaults | None = None) -> Iterator[Hypothesis]:
        """The hypotheses with the added features, including duplicates, without other lists.

        With `faults`, ill-formed lines are left out and collected there.

        Raises:
            InputError: as in `iterate_hypotheses`; or a column has too few or too many numbers, or something else.
        """
        expected = "one number per line; line N is for hypothesis N of the list"
        added = named_files(self.added, "add_scores")
        columns = {name: (file, read_column(file, expected, LARGEST)) for name, file in added.items()}
        read = iterate_hypotheses(self.path, self.style, faults, self.rows)
        for number, hypothesis in enumerate(chain(read, (None,))):
            for name, (file, values) in columns.items():
                if (hypothesis is not None) != (number < len(values)):
                    raise InputError(
                        "the file does not have one number per hypothesis",
                        f"{number} lines" if hypothesis is not None else f"more than {number} lines",
                        f"one per hypothesis of {self.path}, in its order",
                        "compute them from this list",
                        file=file,
                        line=number + 1,
                    )
                if hypothesis is not None:
                    if any(name == known for known, _ in hypothesis.layout):
                        message = "a feature that the list already has"
                        raise InputError(message, name, "another name", file=self.path, line=hypothesis.line)
                    hypothesis = hypothesis.with_value(name, values[number])
            if hypothesis is not None:
                yield hypothesis

    def lists(self) -> Iterator[list[Hypothesis]]:
        """The hypotheses of each sentence in turn, merged with those of other lists, without dropped ones.

        Raises:
            InputError: as in `hypotheses` and `by_sentence`; or lists do not fit together.
        """
        lists: Iterable[list[Hypothesis]] = by_sentence(self.hypotheses(), self.path)
        others = named_files(self.others, "merge")
        if others:
            # Added numbers belong only to the list they were computed for.
            read = {name: replace(self, path=file, added=(), others=()).lists() for name, file in others.items()}
            lists = merged(lists, read, {"": self.path, **others})
        dropped = 0
        for group in lists:
            first: dict[str, Hypothesis] = {}
            if self.duplicates == DROP:
                for hypothesis in group:
                    first.setdefault(hypothesis.text, hypothesis)
                dropped += len(group) - len(first)
            yield list(first.values()) or group
        if dropped:
            _say_once("%s: dropped %d hypotheses with the same words as others", self.path, dropped)


def named_files(pairs: Sequence[str], key: str) -> Mapping[str, str]:
    """The files, or whatever else the entries NAME=FILE of a key name, by name.

    Raises:
        InputError: an entry has another form, or a name that occurs twice or cannot be one of a feature.
    """
    found = {}
    for pair in pairs:
        name, sign, file = pair.partition("=")
        if not (name and sign and file) or name in found or set(name) & set(" :|\t"):
            raise InputError(f"each entry of {key} needs a name of its own", pair, f"{key}=[NAME=…,…]")
        found[name] = file
    return found


def nbest_arrays(
    lists: Iterable[Sequence[Hypothesis]], file: str | Path | None = None, columns: Columns | None = None
) -> NbestArrays:
    """Collects lists, one sentence each.

    Args:
        lists: the lists. file: where they come from, for the messages.
        columns: the columns of earlier lists of the file, which get those of these lists, too.

    Raises:
        InputError: there is no list; with the line, if a feature changes its number of values, or the columns of two
            features have the same name, such as `LM_0` next to `LM` with two values.
    """
    columns, numbers = Columns() if columns is None else columns, WordNumbers()
    words, used, values, totals = array("i"), array("i"), array("d"), array("d")
    sentences, sizes, lengths, counts, lines = (array("q") for _ in range(5))
    for hypotheses in lists:
        sentences.append(hypotheses[0].sentence)
        sizes.append(len(hypotheses))
        for hypothesis in hypotheses:
            lengths.append(numbers.append_to(words, split_tokens(hypothesis.text)))
            try:
                used.extend(chain.from_iterable(map(columns.__getitem__, hypothesis.layout)))
            except ValueError as error:
                expected = "the same number of values of a feature on every line, and a unique name"
                remedy = "make the complete list with one model"
                raise InputError(str(error), None, expected, remedy, file=file, line=hypothesis.line) from error
            values.extend(hypothesis.values)
            counts.append(len(hypothesis.values))
            lines.append(hypothesis.line)
            totals.append(float("nan") if hypothesis.total is None else hypothesis.total)
    if not sentences:
        raise InputError("no hypotheses", "an empty list", "at least one hypothesis", file=file)
    return NbestArrays(
        np.array(sentences, np.int64),
        offsets_of(sizes),
        EncodedText(np.array(words, np.int32), offsets_of(lengths)),
        numbers,
        tuple(columns.numbers),
        frozenset(columns.several),
        np.array(used, np.int32),
        np.array(values, np.float64),
        offsets_of(counts),
        np.array(totals, np.float64),
        np.array(lines, np.int64),
    )


class Columns(dict[tuple[str, int], tuple[int, ...]]):
    """The columns of a feature with its number of values, numbered when it first occurs."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.features: dict[str, int] = {}
        self.several: set[int] = set()

    def __missing__(self, pair: tuple[str, int]) -> tuple[int, ...]:
        feature, count = pair
        if self.features.setdefault(feature, count) != count:
            raise ValueError(f"the feature {feature} has {count} values, but {self.features[feature]} before")
        names = [feature] if count == 1 else [f"{feature}_{place}" for place in range(count)]
        for name in names:
            if name in self.numbers:
                raise ValueError(f"two features share the column {name}")
            self.numbers[name] = len(self.numbers)
        self[pair] = columns = tuple(self.numbers[name] for name in names)
        if count > 1:
            self.several.update(columns)
        return columns
