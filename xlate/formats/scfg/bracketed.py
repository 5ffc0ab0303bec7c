"""Grammars in the formats of cdec and Joshua: `[X] ||| ne [X,1] pas ||| not [X,1] ||| features ||| 0-0 2-0`.

Both write the left side in front and number the non-terminals of the source side. Features are `Name=value` or bare
numbers. cdec calls the bare numbers `PhraseModel_0`, … and lets the target side write `[1]`. Joshua calls those of a
grammar with the owner pt `tm_pt_0`, …, and takes them with the opposite sign; values with a written name keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.scfg.grammar import Gap, Scfg, Symbol, side_text
from xlate.formats.scfg.rule_lines import LABEL, RuleLines
from xlate.progress import track
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.numbers import parse_int

# What xlate writes the count of a rule as, where the formats have no place for it.
COUNT = "RuleCount"
FORM = "[X] ||| source with [X,1] ||| target with [X,1] ||| numbers or Name=value ||| links"
CDEC, JOSHUA = "PhraseModel_", "tm_{}_"


def read_cdec_grammar(path: str | Path) -> Scfg:
    """Reads a grammar of cdec, plain or gzip; bare features are called `PhraseModel_0`, `PhraseModel_1`, ….

    Raises:
        InputError: fields are missing, sides empty, non-terminals do not match, a feature is no finite number, or bare
            features are not as many in every line; the line is named.
    """
    return _read(path, CDEC, 1.0)


def read_joshua_grammar(path: str | Path, owner: str = "pt") -> Scfg:
    """Reads a grammar of Joshua, plain or gzip; bare features are called `tm_OWNER_0`, … and change their sign.

    Raises:
        InputError: as `read_cdec_grammar`.
    """
    return _read(path, JOSHUA.format(owner), -1.0)


def write_cdec_grammar(path: str | Path, grammar: Scfg, *, counts: bool = False) -> None:
    """Writes a grammar for cdec; features of the names that the reader gives are written bare.

    Args:
        counts: whether to write counts too, as a feature `RuleCount`, which the readers here take for the count.

    Raises:
        InputError: a word or label that the format cannot hold.
    """
    write_lines(path, track(_lines(path, grammar, CDEC, 1.0, counts), "writing grammar", len(grammar)))


def write_joshua_grammar(path: str | Path, grammar: Scfg, owner: str = "pt", *, counts: bool = False) -> None:
    """Writes a grammar for Joshua; see `write_cdec_grammar`."""
    lines = _lines(path, grammar, JOSHUA.format(owner), -1.0, counts)
    write_lines(path, track(lines, "writing grammar", len(grammar)))


def bracketed_symbol(word: str) -> Symbol:
    """A word, or the non-terminal in `[X,1]` or `[1]`; the label of the latter is left open.

    Raises:
        ValueError: a comma in brackets, and no label and number around it.

    Example:
        >>> bracketed_symbol("[X,1]"), bracketed_symbol("[1]"), bracketed_symbol("[")
        (Gap(label='X', number=1), Gap(label='', number=1), '[')
    """
    if len(word) < 3 or word[0] != "[" or word[-1] != "]":
        return word
    label, comma, number = word[1:-1].rpartition(",")
    if not comma and not number.isdigit():
        return word
    if comma and not LABEL.fullmatch(label):
        raise ValueError("a non-terminal such as [X,1]")
    return Gap(label, parse_int(number))


def _source_symbol(word: str) -> Symbol:
    symbol = bracketed_symbol(word)
    if isinstance(symbol, Gap) and not symbol.label:
        raise ValueError("a label in each non-terminal of the source side, such as [X,1]")
    return symbol


def _read(path: str | Path, prefix: str, sign: float) -> Scfg:
    sources, lines = RuleLines(path, FORM, prefix), RuleLines(path, FORM, prefix)
    for number, line in enumerate(track(iterate_lines(path), "reading grammar"), start=1):
        parts = lines.fields(line, number, 3, 6)
        source = sources.side(parts[1], number, _source_symbol)
        target = lines.side(parts[2], number, bracketed_symbol)
        links = lines.links(parts[4], number) if len(parts) > 4 else ()
        lines.add(number, lines.label(parts[0], number), source, target, links)
        lines.add_values(parts[3] if len(parts) > 3 else "", number, sign)
        named = lines.sparse.get(len(lines.rules) - 1)
        lines.add_count(named.pop(COUNT, None) if named else None, number)
    return lines.grammar()


def _lines(path: str | Path, grammar: Scfg, prefix: str, sign: float, counts: bool) -> Iterator[str]:
    bare = [column for column, name in enumerate(grammar.names) if name == f"{prefix}{column}"]
    named = [(column, name) for column, name in enumerate(grammar.names) if column >= len(bare)]
    for b, (rule, row) in enumerate(zip(grammar.rules, grammar.dense_BD.tolist(), strict=True)):
        check_words(path, rule.source + rule.target)
        values = [_number(sign * row[column] + 0.0) for column in bare]
        values += [f"{name}={_number(row[column])}" for column, name in named]
        values += [f"{name}={_number(value)}" for name, value in grammar.sparse.get(b, {}).items()]
        if counts and grammar.count_B is not None:
            values.append(f"{COUNT}={_number(float(grammar.count_B[b]))}")
        links = " ".join(f"{s}-{t}" for s, t in rule.links)
        line = f"[{rule.lhs}] ||| {side_text(rule.source)} ||| {side_text(rule.target)} ||| {' '.join(values)}"
        yield f"{line} ||| {links}" if links else line


def check_words(path: str | Path, symbols: tuple[Symbol, ...]) -> None:
    """Checks that words would be read back as words.

    Raises:
        InputError: a word is empty, holds a blank, a line end or `|||`, or looks like a non-terminal.
    """
    for word in symbols:
        if isinstance(word, Gap):
            if LABEL.fullmatch(word.label):
                continue
        elif word and not any(c in word for c in " \t\n") and "|||" not in word and not _bracketed(word):
            continue
        raise InputError(
            "a symbol that a grammar file cannot hold",
            file=path,
            seen=repr(word),
            expected="no empty word, blank, line end or |||, no word like [X,1] or [X][X], no comma in a label",
            remedy="escape the words of the corpus, as Moses's tokenizer does",
        )


def _bracketed(word: str) -> bool:
    return word.startswith("[") and word.endswith("]") and len(word) > 2


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
