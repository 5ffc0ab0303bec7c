"""Word lattices as other programs read them: numbered states, and one word on each arc."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.kernels.search.lattice_passes import ArcGraph

# The word of an arc that has none.
EPSILON = ""


class WordLattice(NamedTuple):
    """A lattice with A arcs: the word of each arc, and its score as a natural logarithm.

    `lattice_fst` writes it as an OpenFst acceptor, `lattice_slf` as an HTK standard lattice.
    """

    graph: ArcGraph
    words: tuple[str, ...]
    score_A: Floats


def checked_words(path: str | Path, words: Iterable[str], reserved: str) -> None:
    """Checks that a lattice file can hold the words.

    Args:
        path: the file, for the message.
        reserved: how the format writes an arc without a word.

    Raises:
        InputError: a word holds ASCII white space, or is the reserved one.
    """
    for word in words:
        if word == reserved or any(blank in word for blank in " \t\n\r\v\f"):
            raise InputError(
                "a word that a lattice file cannot hold",
                file=path,
                seen=repr(word),
                expected=f"words without blanks, and none that is {reserved}",
                remedy="tokenise the corpus",
            )
