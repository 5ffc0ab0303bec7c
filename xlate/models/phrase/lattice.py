"""The search graph of the phrase decoder as a lattice of words."""

from __future__ import annotations

from collections.abc import Sequence

from xlate.errors import InputError
from xlate.formats.lattice import WordLattice
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.search.lattice_graph import useful_graph
from xlate.search.lattice_words import spelled_out


def phrase_lattice(decoder: PhraseDecoder, words: Sequence[str]) -> WordLattice:
    """The paths that the beam of the phrase decoder left of a sentence, one word an arc; natural logs.

    Raises:
        InputError: a sentence without words, or too long for the decoder.
    """
    if not words:
        raise InputError("a lattice of a sentence without words", expected="one word or more")
    moves = decoder.moves(words)
    graph, label_A, score_A = useful_graph(decoder.graph(words))
    return spelled_out(graph, score_A, [moves.words_of(label) for label in label_A.tolist()])
