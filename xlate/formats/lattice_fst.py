"""Lattices as OpenFst's text form of a weighted acceptor, with a symbol table.

One arc a line, `source target word weight`, then the final state on a line of its own. A weight is minus a natural log
score, as the tropical and the log semiring have it; `<eps>` stands for no word. To compile::

    fstcompile --acceptor --isymbols=symbols.txt lattice.txt lattice.fst
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.lattice import EPSILON, FileArc, WordLattice, assemble, checked_words
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.numbers import file_float, file_int

EPS = "<eps>"


def write_fst(path: str | Path, lattice: WordLattice) -> None:
    """Writes a lattice, weights with all their digits, gzip when the name ends in .gz.

    Raises:
        InputError: a word holds a blank or is `<eps>`.
    """
    checked_words(path, lattice.words, EPS)
    write_lines(path, _lines(lattice))


def read_fst(path: str | Path, symbols: Sequence[str] | None = None) -> WordLattice:
    """Reads an acyclic acceptor, states in any order, several final ones allowed; what `write_fst` wrote comes back.

    Args:
        symbols: words by number, for a file whose labels are numbers.

    Raises:
        InputError: with the line, for one that is neither an arc nor a final state; a cycle; no final state.
    """
    arcs: list[FileArc] = []
    finals: dict[int, float] = {}
    start = -1
    for number, line in enumerate(iterate_lines(path), start=1):
        fields = line.replace("\t", " ").split(" ")
        fields = [field for field in fields if field]
        if not 1 <= len(fields) <= 4:
            raise InputError(
                "neither an arc nor a final state",
                file=path,
                line=number,
                seen=line,
                expected="source target word [weight], or state [weight]",
                remedy="print acceptors with fstprint --acceptor",
            )
        state = file_int(path, number, fields[0])
        start = state if start < 0 else start
        weight = file_float(path, number, fields[-1]) if len(fields) in (2, 4) else 0.0
        if len(fields) < 3:
            finals[state] = 0.0 - weight
        else:
            target = file_int(path, number, fields[1])
            arcs.append(FileArc(state, target, _word(path, number, fields[2], symbols), 0.0 - weight))
    return assemble(path, arcs, start, finals)


def write_symbols(path: str | Path, words: Iterable[str]) -> None:
    """Writes a symbol table: `<eps>` 0, then the distinct words, sorted, from 1.

    Raises:
        InputError: a word holds a blank or is `<eps>`.
    """
    distinct = sorted(set(words) - {EPSILON})
    checked_words(path, distinct, EPS)
    write_lines(path, (f"{word}\t{number}" for number, word in enumerate([EPS, *distinct])))


def read_symbols(path: str | Path) -> list[str]:
    """Reads a symbol table whose numbers are 0, 1, 2, … in any order: words by number, `<eps>` as the empty one.

    Raises:
        InputError: a line without word and number, a number for the second time or missing.
    """
    words: dict[int, str] = {}
    for line_number, line in enumerate(iterate_lines(path), start=1):
        word, *numbers = line.replace("\t", " ").rsplit(" ", 1)
        value = file_int(path, line_number, numbers[0]) if numbers and word else -1
        if value < 0 or value in words:
            raise InputError(
                "not a symbol with a number of its own", file=path, line=line_number, seen=line, expected="word number"
            )
        words[value] = EPSILON if word == EPS else word
    if sorted(words) != list(range(len(words))):
        raise InputError(
            "a symbol table with gaps", file=path, seen=sorted(words), expected="numbers from 0, each once"
        )
    return [words[number] for number in range(len(words))]


def _lines(lattice: WordLattice) -> Iterator[str]:
    graph = lattice.graph
    columns = (graph.source_A.tolist(), graph.target_A.tolist(), lattice.words, lattice.score_A.tolist())
    for source, target, word, score in zip(*columns, strict=True):
        yield f"{source} {target} {word or EPS} {0.0 - score!r}"
    yield str(graph.nodes - 1)


def _word(path: str | Path, line: int, label: str, symbols: Sequence[str] | None) -> str:
    if symbols is None:
        return EPSILON if label == EPS else label
    number = file_int(path, line, label)
    if not 0 <= number < len(symbols):
        raise InputError(
            "a label that the symbol table lacks", file=path, line=line, seen=label, expected=f"0 to {len(symbols) - 1}"
        )
    return symbols[number]
