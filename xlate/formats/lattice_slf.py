r"""Writes lattices in the HTK Standard Lattice Format (HTK Book, chapter 20), which SRILM's lattice-tool reads too.

A header, then a line `I=n` for each node and a line `J=n S=source E=target W=word a=score` for each link. Scores are
natural logarithms. They are written as the acoustic score `a`, so that a total does not depend on the language model
weight. `!NULL` stands for no word. Quotes and backslashes in words have a backslash before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xlate.formats.lattice import WordLattice, checked_words
from xlate.text.lines import write_lines

NULL = "!NULL"


def write_slf(path: str | Path, lattice: WordLattice, utterance: str = "") -> None:
    """Writes a lattice, its scores with all digits; compressed with gzip when the name ends in .gz.

    Args:
        utterance: the name of the lattice in the header; left out when empty.

    Raises:
        InputError: a word or the name holds a blank, or a word is `!NULL`.
    """
    checked_words(path, [*lattice.words, utterance], NULL)
    write_lines(path, _lines(lattice, utterance))


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


def _escaped(word: str) -> str:
    return re.sub(r"""(["'\\])""", r"\\\1", word)
