"""Writes lattices as OpenFst's text form of a weighted acceptor, with a symbol table.

Each line is one arc, `source target word weight`; the last line is the final state. A weight is minus the natural
logarithm of a score, as in the tropical and the log semiring. `<eps>` stands for no word. To compile::

    fstcompile --acceptor --isymbols=symbols.txt lattice.txt lattice.fst
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from xlate.formats.lattice import EPSILON, WordLattice, checked_words
from xlate.text.lines import write_lines

EPS = "<eps>"


def write_fst(path: str | Path, lattice: WordLattice) -> None:
    """Writes a lattice, its weights with all digits; compressed with gzip when the name ends in .gz.

    Raises:
        InputError: a word holds a blank or is `<eps>`.
    """
    checked_words(path, lattice.words, EPS)
    write_lines(path, _lines(lattice))


def write_symbols(path: str | Path, words: Iterable[str]) -> None:
    """Writes a symbol table: `<eps>` is number 0, then the distinct words follow in sorted order.

    Raises:
        InputError: a word holds a blank or is `<eps>`.
    """
    distinct = sorted(set(words) - {EPSILON})
    checked_words(path, distinct, EPS)
    write_lines(path, (f"{word}\t{number}" for number, word in enumerate([EPS, *distinct])))


def _lines(lattice: WordLattice) -> Iterator[str]:
    graph = lattice.graph
    columns = (graph.source_A.tolist(), graph.target_A.tolist(), lattice.words, lattice.score_A.tolist())
    for source, target, word, score in zip(*columns, strict=True):
        yield f"{source} {target} {word or EPS} {0.0 - score!r}"
    yield str(graph.nodes - 1)
