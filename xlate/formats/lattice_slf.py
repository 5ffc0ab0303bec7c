r"""Lattices in the HTK Standard Lattice Format (HTK Book, chapter 20), which SRILM's lattice-tool reads, too.

A header, a line `I=n` a node, a line `J=n S=source E=target W=word a=score` a link. Scores are natural logs, written as
the acoustic score `a`, so that the total is theirs whatever the language model weight; `!NULL` stands for no word.
Quotes and backslashes in words have a backslash before them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.lattice import EPSILON, FileArc, WordLattice, assemble, checked_words
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.numbers import file_float, file_int

# Fields of the header: the line and the value of each.
Header = dict[str, tuple[int, str]]

NULL = "!NULL"
LONG_NAMES = {"NODES": "N", "LINKS": "L", "START": "S", "END": "E", "WORD": "W", "acoustic": "a", "language": "l"}
# Fields begin behind white space only: else a long word without = is looked through from each of its characters.
_FIELD = re.compile(r"""(?<!\S)([^\s=]+)=("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?:\\.|[^ \t\\])*)""")
_ESCAPE = re.compile(r"((?:\\[0-7]{3})+)|\\(.)")


def write_slf(path: str | Path, lattice: WordLattice, utterance: str = "") -> None:
    """Writes a lattice, scores with all their digits, gzip when the name ends in .gz.

    Args:
        utterance: its name; left out when empty.

    Raises:
        InputError: a word, or the name, holds a blank; a word is `!NULL`.
    """
    checked_words(path, [*lattice.words, utterance], NULL)
    write_lines(path, _lines(lattice, utterance))


def read_slf(path: str | Path) -> WordLattice:
    """Reads a lattice; what `write_slf` wrote comes back.

    Words may stand on links, or on nodes, for the links that end there. The score of a link is acscale · a +
    lmscale · l, and wdpenalty where it has a word, in logs to `base` as the header says.

    Raises:
        InputError: with the line, for a link without ends or a number that is none; a cycle; several possible ends.
    """
    header: Header = {}
    node_words: dict[int, str] = {}
    links: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(iterate_lines(path), start=1):
        fields = {} if line.startswith("#") else _fields(line)
        if "J" in fields:
            links.append((number, fields))
        elif "I" in fields:
            node_words[file_int(path, number, fields["I"])] = fields.get("W", NULL)
        else:
            header |= {name: (number, value) for name, value in fields.items()}
    scales = {name: _header_number(path, header, name, default) for name, default in _SCALES.items()}
    arcs = [_link(path, number, fields, node_words, scales) for number, fields in links]
    nodes = {*node_words, *(arc.source for arc in arcs), *(arc.target for arc in arcs)}
    start = _end(path, header, "start", nodes - {arc.target for arc in arcs})
    end = _end(path, header, "end", nodes - {arc.source for arc in arcs})
    return assemble(path, arcs, start, {end: 0.0})


_SCALES = {"base": math.e, "acscale": 1.0, "lmscale": 1.0, "wdpenalty": 0.0}


def _lines(lattice: WordLattice, utterance: str) -> Iterator[str]:
    graph = lattice.graph
    yield "VERSION=1.1"
    if utterance:
        yield f"UTTERANCE={_escaped(utterance)}"
    yield f"start=0 end={graph.nodes - 1}"
    yield f"N={graph.nodes} L={len(lattice.words)}"
    for node in range(graph.nodes):
        yield f"I={node}"
    columns = (graph.source_A.tolist(), graph.target_A.tolist(), lattice.words, lattice.score_A.tolist())
    for link, (source, target, word, score) in enumerate(zip(*columns, strict=True)):
        yield f"J={link} S={source} E={target} W={_escaped(word) or NULL} a={score!r}"


def _fields(line: str) -> dict[str, str]:
    """The fields of a line, long names shortened, values as they stand but for quotes and backslashes."""
    fields = {}
    for name, value in _FIELD.findall(line):
        if value[:1] in ('"', "'") and len(value) > 1:
            value = value[1:-1]
        fields[LONG_NAMES.get(name, name)] = _ESCAPE.sub(_unescaped, value)
    return fields


def _link(
    path: str | Path, line: int, fields: dict[str, str], node_words: dict[int, str], scales: dict[str, float]
) -> FileArc:
    if not {"S", "E"} <= fields.keys():
        raise InputError("a link without ends", file=path, line=line, seen=sorted(fields), expected="J= S= E= …")
    source, target = (file_int(path, line, fields[name]) for name in "SE")
    word = fields.get("W", node_words.get(target, NULL))
    word = EPSILON if word == NULL else word
    acoustic, language = (file_float(path, line, fields.get(name, "0")) for name in "al")
    score = scales["acscale"] * acoustic + scales["lmscale"] * language + (scales["wdpenalty"] if word else 0.0)
    score = score if scales["base"] == math.e else score * math.log(scales["base"])
    if not math.isfinite(score):
        seen = f"a={acoustic:g} l={language:g}, scaled by the header"
        raise InputError("a score out of range", file=path, line=line, seen=seen, expected="a finite number")
    return FileArc(source, target, word, score)


def _header_number(path: str | Path, header: Header, name: str, default: float) -> float:
    value = file_float(path, *header[name]) if name in header else default
    if name == "base" and value <= 1.0:
        seen = f"base={value:g}"
        raise InputError(
            "scores that are no logs", file=path, line=header[name][0], seen=seen, expected="a base above 1"
        )
    return value


def _end(path: str | Path, header: Header, name: str, possible: set[int]) -> int:
    if name in header:
        return file_int(path, *header[name])
    if len(possible) != 1:
        raise InputError(f"no single {name} node", file=path, seen=sorted(possible), expected=f"{name}= in the header")
    return possible.pop()


def _escaped(word: str) -> str:
    return re.sub(r"""(["'\\])""", r"\\\1", word)


def _unescaped(match: re.Match[str]) -> str:
    octal, character = match.groups()
    if character is not None:
        return str(character)
    return bytes(int(number, 8) & 0xFF for number in octal.split("\\")[1:]).decode("utf-8", "replace")
