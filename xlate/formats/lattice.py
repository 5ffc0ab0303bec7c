"""Word lattices for other programs: OpenFst's acceptors with a symbol table, and HTK standard lattices.

`write_fst`: each line is one arc, `source target word weight`; the last line is the final state. A weight is minus the
natural logarithm of a score, as in the tropical and the log semiring. `<eps>` means no word. To compile::

    fstcompile --acceptor --isymbols=symbols.txt lattice.txt lattice.fst

`write_slf` (HTK Book, chapter 20; SRILM's lattice-tool reads it too): a header, then a line `I=n` for each node and a
line `J=n S=source E=target W=word a=score` for each link. Scores are natural logarithms. They are written as the
acoustic score `a`, so that a total does not depend on the language model weight. `!NULL` means no word. Quotes and
backslashes in words are escaped by a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.text.lines import write_lines

# The word of an arc that has none.
EPSILON = ""


# An arc of a lattice: its source and target node, its word, and its score as a natural logarithm. Arcs are sorted by
# source node; the last node is the end.
WordArc = tuple[int, int, str, float]


def spelled_out(graph: ArcGraph, score_A: Floats, arc_words: Sequence[Sequence[str]]) -> list[WordArc]:
    """Paths of phrases as paths of words: one word per arc, the score of a phrase on its first word.

    An arc without words, the end of the sentence, stays without. Nodes inside phrases follow the node where the phrase
    begins, so the order stays topological.
    """
    length_A = np.array([len(words) for words in arc_words], np.int64)
    inner_A = np.maximum(length_A - 1, 0)
    # A node follows the nodes before it and the inner nodes of all phrases from those.
    inner_N = np.bincount(graph.source_A, inner_A, minlength=graph.nodes).astype(np.int64)
    number_N = np.arange(graph.nodes) + np.cumsum(inner_N) - inner_N
    # The next inner node after each node.
    next_N = (number_N + 1).tolist()
    arcs: list[WordArc] = []
    for source, target, score, phrase in zip(
        graph.source_A.tolist(), graph.target_A.tolist(), score_A.tolist(), arc_words, strict=True
    ):
        words = phrase or (EPSILON,)
        inner = range(next_N[source], next_N[source] + len(words) - 1)
        next_N[source] = inner.stop
        stops = [int(number_N[source]), *inner, int(number_N[target])]
        arcs += zip(stops, stops[1:], words, [score, *[0.0] * len(inner)], strict=False)
    return sorted(arcs, key=itemgetter(0))


def checked_words(path: str | Path, words: Iterable[str], reserved: str) -> None:
    """Checks that a lattice file can hold the words.

    Args:
        path: the file, for the message.
        reserved: how the format writes an arc without a word.

    Raises:
        InputError: a word contains ASCII whitespace, or is the reserved one.
    """
    for word in words:
        if word == reserved or any(blank in word for blank in " \t\n\r\v\f"):
            raise InputError(
                "a word that a lattice file cannot hold",
                repr(word),
                f"words without spaces, other than {reserved}",
                "tokenise the corpus",
                file=path,
            )


EPS = "<eps>"


def write_fst(path: str | Path, arcs: Sequence[WordArc]) -> None:
    """Writes a lattice, its weights with all digits; compressed with gzip if the name ends in .gz.

    Raises:
        InputError: a word contains a blank or is `<eps>`.
    """
    checked_words(path, (word for _, _, word, _ in arcs), EPS)
    lines = (f"{source} {target} {word or EPS} {0.0 - score!r}" for source, target, word, score in arcs)
    write_lines(path, chain(lines, [str(max(target for _, target, _, _ in arcs))]))


def write_symbols(path: str | Path, words: Iterable[str]) -> None:
    """Writes a symbol table: `<eps>` is number 0, then the distinct words follow in sorted order.

    Raises:
        InputError: a word contains a blank or is `<eps>`.
    """
    distinct = sorted(set(words) - {EPSILON})
    checked_words(path, distinct, EPS)
    write_lines(path, (f"{word}\t{number}" for number, word in enumerate([EPS, *distinct])))


NULL = "!NULL"


def write_slf(path: str | Path, arcs: Sequence[WordArc], utterance: str) -> None:
    """Writes a lattice, its scores with all digits; compressed with gzip if the name ends in .gz.

    Args:
        path: the file.
        arcs: of the lattice.
        utterance: the name of the lattice in the header.

    Raises:
        InputError: a word or the name contains a blank, or a word is `!NULL`.
    """
    checked_words(path, [*(word for _, _, word, _ in arcs), utterance], NULL)
    end = max(target for _, target, _, _ in arcs)
    header = ["VERSION=1.1", f"UTTERANCE={_escaped(utterance)}", f"start=0 end={end}", f"N={end + 1} L={len(arcs)}"]
    links = (
        f"J={link} S={source} E={target} W={_escaped(word) or NULL} a={score!r}"
        for link, (source, target, word, score) in enumerate(arcs)
    )
    write_lines(path, chain(header, (f"I={node}" for node in range(end + 1)), links))


def _escaped(word: str) -> str:
    return re.sub(r"""(["'\\])""", r"\\\1", word)
