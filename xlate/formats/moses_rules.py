"""Hierarchical systems of Moses: rule tables, and the moses.ini that names them.

Each line of a table is a rule, `das [X][X] [X] ||| the [X][X] [X] ||| scores ||| links ||| counts ||| sparse |||
properties`. A non-terminal is written with its label on the source side and on the target side; the last one of a side
is the left side of the rule. The links of non-terminals pair them. Scores are probabilities, not logarithms.

Rules keep the label of the target side; that of the source side must be the same, or X, as in Moses's string-to-string
and string-to-tree models.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.errors import InputError
from xlate.formats.moses_ini import MODELS, FeatureLine, MosesIni, read_moses_ini
from xlate.formats.scfg import (
    COPIES,
    LANGUAGE,
    NO_LIMIT,
    WORDS,
    ForeignSystem,
    Gap,
    Links,
    RuleLines,
    Scfg,
    Side,
    Symbol,
    joined,
)
from xlate.progress import track
from xlate.text.numbers import parse_int, parse_row
from xlate.text.tokens import between_blanks
from xlate.text.vocabulary import END

FORM = "source [X][X] [X] ||| target [X][X] [X] ||| scores ||| links ||| counts ||| sparse ||| properties"
SOURCE_LABEL = "X"
SAME_LABEL = f"the label {SOURCE_LABEL} on the source side, or the same on both sides"
_PAIR = re.compile(r"\[([^\s\[\],]+)\]\[([^\s\[\],]+)\]")
# The value for the logarithm of 0, and for a copied word.
FLOOR = -100.0
# Moses's number for the search of hierarchical systems.
CHART = 3
TABLE = "PhraseDictionaryMemory"
WORD_PENALTY, RULE_PENALTY, UNKNOWN = "WordPenalty", "PhrasePenalty", "UnknownWordPenalty"
# Moses's defaults: the limits for spans and for rules per source side, and the label of copied words.
SPAN, RULES, COPIED_LABEL = 10, 20, "X"
REFUSED = ("weight-file", "unknown-lhs", "drop-unknown")


def read_moses_grammar(path: str | Path, name: str) -> Scfg:
    """Reads a rule table of Moses's hierarchical models, plain or gzip; glue grammars too.

    The scores are called `NAME_0`, `NAME_1`, … and stay probabilities. Counts and properties are dropped.

    Args:
        path: the file.
        name: of the feature function, as in moses.ini.

    Raises:
        InputError: fields are missing, sides are empty, non-terminals do not match or are not linked, a score is no
            finite number, or lines have different numbers of scores; the message names the line.
    """
    lines = RuleLines(path, FORM, f"{name}_", _symbol)
    for line in track(lines, "reading grammar"):
        while line.endswith((" ", "\t", " |||")):
            line = line.rstrip(" \t").removesuffix(" |||")
        left, right, scores, links, counts, named, *_ = [*lines.fields(line, 7), "", "", ""]
        source, target, linked = lines.side(left), lines.side(right), lines.links(links)
        label = _left_side(lines, source, target, f"{left} ||| {right}")
        lines.add(label, *_paired(lines, source[:-1], target[:-1], linked), linked)
        sparse = between_blanks(named)
        if len(sparse) % 2:
            raise lines.error("malformed sparse features", named, "pairs of name and value")
        lines.add_values(scores, list(zip(sparse[::2], sparse[1::2], strict=True)))
        numbers = parse_row(counts)
        if numbers is None or len(numbers) > 3 or min(numbers[2:], default=0.0) < 0:
            expected = "at most three finite numbers: N(e) N(f) N(f,e), the last one 0 or more"
            raise lines.error("wrong counts", counts, expected)
    return lines.grammar()


def _symbol(word: str) -> Symbol:
    """A word, or a non-terminal with the label of the target side.

    The number is -1 for a left side, otherwise 0 until the links of the line are known.
    """
    if len(word) < 3 or word[0] != "[" or word[-1] != "]":
        return word
    match = _PAIR.fullmatch(word)
    if match is None:
        return word if "[" in word[1:] or "]" in word[:-1] else Gap(word[1:-1], -1)
    if match[1] not in (SOURCE_LABEL, match[2]):
        raise ValueError(SAME_LABEL)
    return Gap(match[2], 0)


def _left_side(lines: RuleLines, source: Side, target: Side, sides: str) -> str:
    """The label of the left side, which ends both sides; `sides` is how they look, for messages."""
    last, label = source[-1], target[-1]
    if not (isinstance(last, Gap) and isinstance(label, Gap) and last.number == label.number == -1):
        raise lines.error("sides that do not end in a label", sides, "[X] at the end of both sides")
    if last.label not in (SOURCE_LABEL, label.label):
        raise lines.error("labels that do not match", f"[{last.label}] and [{label.label}]", SAME_LABEL)
    if len(source) < 2 or len(target) < 2:
        raise lines.error("an empty side", sides, FORM)
    return label.label


def _paired(lines: RuleLines, source: Side, target: Side, links: Links) -> tuple[Side, Side]:
    """The sides with numbered gaps, paired by the links."""
    gaps, others = (
        {place: symbol for place, symbol in enumerate(side) if isinstance(symbol, Gap)} for side in (source, target)
    )
    if not gaps and not others:
        return source, target
    linked = {s: t for s, t in links if s in gaps and t in others}
    if linked.keys() != gaps.keys() or sorted(linked.values()) != list(others):
        expected = "the same number on both sides, with one link each"
        raise lines.error("non-terminals that are not linked one to one", linked, expected)
    if any(gap.number < 0 for gap in (*gaps.values(), *others.values())):
        raise lines.error("a left side inside a rule", " ".join(map(str, source)), "[X] at the end of a side")
    for number, (place, gap) in enumerate(gaps.items(), 1):
        gaps[place] = gap._replace(number=number)
        others[linked[place]] = others[linked[place]]._replace(number=number)
    one = tuple(gaps.get(place, symbol) for place, symbol in enumerate(source))
    return one, tuple(others.get(place, symbol) for place, symbol in enumerate(target))


def is_hierarchical(ini: MosesIni) -> bool:
    """Whether a configuration is that of a hierarchical system."""
    return ini.whole("search-algorithm", 0) == CHART


def read_moses_system(path: str | Path) -> ForeignSystem:
    """The system of a hierarchical moses.ini, with Moses's scores.

    Rules have the logarithms of the table's scores and the phrase penalty; a copied word counts -100 and the phrase
    penalty (Moses's `ChartParser`). `table-limit` keeps the same rules of a source side as in Moses. Moses's own pop
    limit, over all labels of a span, is not used.

    Raises:
        InputError: a file is missing or cannot be used, the system is not hierarchical, or has unknown features or
            settings.
    """
    ini = read_moses_ini(path)
    tables = _tables(ini)

    def weight(*kinds: str) -> float:
        line = ini.find(*kinds)
        return 0.0 if line is None else ini.weight(line.name, 1)[0]

    rule, model = weight(RULE_PENALTY), ini.find(*MODELS)
    weights = {
        WORDS: -weight(WORD_PENALTY),
        COPIES: FLOOR * weight(UNKNOWN) + rule,
        RULE_PENALTY: rule,
        LANGUAGE: weight(*MODELS),
    }
    parts, kept = [], []
    for line, span in zip(tables, _spans(ini, len(tables)), strict=True):
        scfg = _logarithms(read_moses_grammar(ini.file(line), line.name))
        weights |= zip(scfg.names, ini.weight(line.name, len(scfg.names)), strict=True)
        # Each rule counts once.
        parts.append((scfg.with_column(RULE_PENALTY, [1.0] * len(scfg)), span))
        kept.append((len(scfg), ini.argument(line, "table-limit", RULES)))
    scfg = joined(parts)
    goal, label = _goal(ini, scfg), ini.settings.get("non-terminals", (COPIED_LABEL,))[0]
    lm = None if model is None else ini.file(model)
    return ForeignSystem(scfg, goal, label, weights, lm, kept)


def _tables(ini: MosesIni) -> list[FeatureLine]:
    """The rule tables, if the system can be used."""
    if not is_hierarchical(ini):
        raise InputError(
            "a phrase system",
            f"[search-algorithm] {ini.whole('search-algorithm', 0)}",
            f"a hierarchical one, [search-algorithm] {CHART}",
            "xlate import moses=FILE out=RUN makes a run of it",
            file=ini.path,
        )
    ini.check_kinds((TABLE, *MODELS, WORD_PENALTY, RULE_PENALTY, UNKNOWN))
    for name in REFUSED:
        if name in ini.settings:
            raise InputError("an unknown setting", f"[{name}]", "none", file=ini.path)
    tables = [line for line in ini.features if line.kind == TABLE]
    if not tables:
        raise InputError("a feature is missing", file=ini.path, expected=TABLE)
    return tables


def _spans(ini: MosesIni, tables: int) -> list[int]:
    """The most source words that the rules of each table cover, including `<s>` and `</s>`."""
    lines = ini.settings.get("max-chart-span", ())
    try:
        spans = [parse_int(line) for line in lines]
    except ValueError as error:
        seen, expected = " ".join(lines), "whole numbers, one per table"
        raise InputError("section [max-chart-span]", seen, expected, file=ini.path) from error
    return [span or NO_LIMIT for span in [*spans, *[SPAN] * tables][:tables]]


def _logarithms(table: Scfg) -> Scfg:
    """The table with natural logarithms of its columns.

    Raises:
        InputError: a score is below 0.
    """
    if (table.dense_BD < 0).any():
        b = int(np.argmax((table.dense_BD < 0).any(axis=1)))
        raise table.error(b, "not a probability", f"{table.rules[b]}: {table.dense_BD[b]}", "0 or more")
    with np.errstate(divide="ignore"):
        return replace(table, dense_BD=np.maximum(np.log(table.dense_BD), FLOOR))


def _goal(ini: MosesIni, tables: Scfg) -> str:
    """The label of a complete sentence: that of the rules that end in `</s>`."""
    found = {rule.lhs for rule in tables.rules if rule.source[-1] == END}
    if len(found) != 1:
        raise InputError(
            "no glue grammar",
            f"rules that end in {END} for {', '.join(sorted(found)) or 'no label'}",
            f"a table with rules for one label, such as [X][S] {END} [X] ||| [X][S] {END} [S] ||| 1 ||| 0-0",
            file=ini.path,
        )
    return found.pop()
