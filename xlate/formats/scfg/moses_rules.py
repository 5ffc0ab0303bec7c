"""Grammars in the hierarchical format of Moses.

Each line is a rule, `das [X][X] [X] ||| the [X][X] [X] ||| scores ||| links ||| counts ||| sparse ||| properties`. A
non-terminal is written with its label on the source side and on the target side; the last one of a side is the left
side of the rule. The links of non-terminals say which belong together. Scores are probabilities (no logarithms).

Rules keep the label of the target side; that of the source side must be the same, or X, as in Moses's string-to-string
and string-to-tree models.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from xlate.formats.bars import escape_bars, needs_escape, unescape_bars
from xlate.formats.moses_table import numbers_text
from xlate.formats.scfg.bracketed import check_words
from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule, Side, Symbol
from xlate.formats.scfg.rule_lines import NUMBERS, RuleLines
from xlate.progress import track
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_row
from xlate.text.tokens import between_blanks

FORM = "source [X][X] [X] ||| target [X][X] [X] ||| scores ||| links ||| counts ||| sparse ||| properties"
SOURCE_LABEL = "X"
_PAIR = re.compile(r"\[([^\s\[\],]+)\]\[([^\s\[\],]+)\]")


def read_moses_grammar(path: str | Path, name: str = "TranslationModel0", *, unescape: bool = True) -> Scfg:
    """Reads a rule table of Moses's hierarchical models, plain or gzip; glue grammars too.

    The scores are called `NAME_0`, `NAME_1`, … and stay probabilities; see `log_scores`. Where three counts stand in a
    line, the last is that of the rule; the others, and the properties, are dropped.

    Args:
        name: of the feature function, as in moses.ini.
        unescape: whether `&#124;` is read as `|`; False for text that Moses's tokenizer has escaped.

    Raises:
        InputError: fields are missing, sides empty, non-terminals do not match or are not linked, a score is no finite
            number, or scores are not as many in every line; the line is named.
    """
    lines = RuleLines(path, FORM, f"{name}_")
    symbol = _unescaped if unescape else _symbol
    for number, line in enumerate(track(iterate_lines(path), "reading grammar"), start=1):
        parts = lines.fields(_without_end(line), number, 3, 7)
        source, target = (lines.side(part, number, symbol) for part in parts[:2])
        links = lines.links(parts[3], number) if len(parts) > 3 else ()
        lhs = _left_side(lines, number, source, target, parts)
        one, two = _paired(lines, number, source[:-1], target[:-1], links)
        lines.add(number, lhs, one, two, links)
        values = lines.numbers(parts[2], number, NUMBERS)
        if len(parts) > 5 and parts[5]:
            lines.sparse[len(lines.rules) - 1] = _sparse(lines, number, parts[5])
        lines.add_bare(values, number)
        counts = parse_row(parts[4]) if len(parts) > 4 else []
        if counts is None or len(counts) > 3:
            raise lines.error("wrong counts", number, parts[4], "at most three finite numbers: N(e) N(f) N(f,e)")
        lines.add_count(counts[2] if len(counts) == 3 else None, number)
    return lines.grammar()


def write_moses_grammar(path: str | Path, grammar: Scfg, *, escape: bool | None = None, exact: bool = True) -> None:
    """Writes a rule table as Moses reads it: features in columns as scores, in their order, the others as sparse ones.

    Moses takes logarithms of scores: give probabilities.

    Args:
        escape: whether to write `|` as `&#124;`; with None when any word holds a bar.
        exact: whether numbers are written with all their digits; Moses writes six.

    Raises:
        InputError: a word or label that the format cannot hold.
    """
    if escape is None:
        sides = (rule.source + rule.target for rule in grammar.rules)
        escape = any(needs_escape(word for word in side if isinstance(word, str)) for side in sides)
    write_lines(path, track(_lines(path, grammar, escape, exact), "writing grammar", len(grammar)))


def _without_end(line: str) -> str:
    """A line without empty fields at its end."""
    while line.endswith((" ", "\t", " |||")):
        line = line.rstrip(" \t").removesuffix(" |||")
    return line


def _symbol(word: str) -> Symbol:
    """A word, or the label of a non-terminal: that of the target side, numbered 0 until its links are known."""
    if len(word) < 3 or word[0] != "[" or word[-1] != "]":
        return word
    match = _PAIR.fullmatch(word)
    if match is None:
        if "[" in word[1:] or "]" in word[:-1]:
            return word
        return Gap(word[1:-1], -1)
    if match[1] not in (SOURCE_LABEL, match[2]):
        raise ValueError(f"the label {SOURCE_LABEL} on the source side, or the same on both sides")
    return Gap(match[2], 0)


def _unescaped(word: str) -> Symbol:
    symbol = _symbol(word)
    return symbol if isinstance(symbol, Gap) else unescape_bars(symbol)


def _left_side(lines: RuleLines, number: int, source: list[Symbol], target: list[Symbol], parts: list[str]) -> str:
    """The label of the left side, which ends both sides."""
    last, label = source[-1], target[-1]
    if not (isinstance(last, Gap) and isinstance(label, Gap) and last.number == label.number == -1):
        seen = " ||| ".join(parts[:2])
        raise lines.error("sides that do not end in a label", number, seen, "[X] at the end of both sides")
    if last.label not in (SOURCE_LABEL, label.label):
        expected = f"the label {SOURCE_LABEL} on the source side, or the same on both sides"
        raise lines.error("labels that do not fit", number, f"[{last.label}] and [{label.label}]", expected)
    if len(source) < 2 or len(target) < 2:
        raise lines.error("an empty side", number, " ||| ".join(parts[:2]), FORM)
    return label.label


def _paired(
    lines: RuleLines, number: int, source: list[Symbol], target: list[Symbol], links: tuple[tuple[int, int], ...]
) -> tuple[list[Symbol], list[Symbol]]:
    """The sides with numbered gaps; which belong together, links say."""
    gaps = {place: symbol for place, symbol in enumerate(source) if isinstance(symbol, Gap)}
    others = {place: symbol for place, symbol in enumerate(target) if isinstance(symbol, Gap)}
    if not gaps and not others:
        return source, target
    linked = {s: t for s, t in links if s in gaps and t in others}
    if linked.keys() != gaps.keys() or sorted(linked.values()) != list(others):
        expected = "as many on both sides, and one link at each"
        raise lines.error("non-terminals that are not linked one to one", number, linked, expected)
    if any(gap.number < 0 for gap in (*gaps.values(), *others.values())):
        raise lines.error("a left side inside a rule", number, " ".join(map(str, source)), "[X] at the end of a side")
    one, two = list(source), list(target)
    for count, (place, gap) in enumerate(gaps.items(), start=1):
        one[place] = Gap(gap.label, count)
        two[linked[place]] = Gap(others[linked[place]].label, count)
    return one, two


def _sparse(lines: RuleLines, number: int, text: str) -> dict[str, float]:
    """The sparse features of a line: names and values in turn."""
    words = between_blanks(text)
    try:
        found = {name: parse_float(value, LARGEST_FLOAT32) for name, value in zip(words[::2], words[1::2], strict=True)}
    except ValueError as error:
        raise lines.error("malformed sparse features", number, text, f"names and values in turn ({error})") from None
    if 2 * len(found) != len(words):
        raise lines.error("a sparse feature for the second time", number, text, "each name once")
    return found


def _lines(path: str | Path, grammar: Scfg, escape: bool, exact: bool) -> Iterator[str]:
    totals = _totals(grammar)
    for b, (rule, row) in enumerate(zip(grammar.rules, grammar.dense_BD.tolist(), strict=True)):
        if escape:
            rule = rule._replace(source=_escaped(rule.source), target=_escaped(rule.target))
        check_words(path, rule.source + rule.target)
        fields = [
            _side(rule.source, SOURCE_LABEL),
            _side(rule.target, rule.lhs),
            numbers_text(row, exact),
            " ".join(f"{s}-{t}" for s, t in _all_links(rule)),
            numbers_text(totals[b], exact) if totals else "",
            " ".join(f"{name} {numbers_text([value], exact)}" for name, value in grammar.sparse.get(b, {}).items()),
        ]
        yield f"{' ||| '.join(fields)} |||"


def _escaped(side: Side) -> Side:
    return tuple(symbol if isinstance(symbol, Gap) else escape_bars(symbol) for symbol in side)


def _side(side: Side, label: str) -> str:
    words = [f"[{SOURCE_LABEL}][{symbol.label}]" if isinstance(symbol, Gap) else symbol for symbol in side]
    return " ".join([*words, f"[{label}]"])


def _all_links(rule: ScfgRule) -> list[tuple[int, int]]:
    """The links of words and of gaps, in the order of the target side."""
    place = {symbol: s for s, symbol in enumerate(rule.source) if isinstance(symbol, Gap)}
    gaps = [(place[symbol], t) for t, symbol in enumerate(rule.target) if isinstance(symbol, Gap)]
    return sorted((*rule.links, *gaps), key=lambda link: (link[1], link[0]))


def _totals(grammar: Scfg) -> list[tuple[float, float, float]]:
    """N(e), N(f) and N(f,e) of each rule, from the counts of this grammar; nothing where it has none."""
    if grammar.count_B is None:
        return []
    counts = grammar.count_B.tolist()
    sources: defaultdict[tuple[str, Side], float] = defaultdict(float)
    targets: defaultdict[tuple[str, Side], float] = defaultdict(float)
    for rule, count in zip(grammar.rules, counts, strict=True):
        sources[rule.lhs, rule.source] += count
        targets[rule.lhs, rule.target] += count
    return [
        (targets[rule.lhs, rule.target], sources[rule.lhs, rule.source], count)
        for rule, count in zip(grammar.rules, counts, strict=True)
    ]
