"""Forced decoding: the best derivation of a sentence whose words are a given translation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of, places_of
from xlate.kernels.lm.phrase_lm import PhrasesAlone
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.forced import PhraseDerivation
from xlate.models.phrase.moves import END_LABEL, PhraseMoves, PhraseState
from xlate.models.phrase.options import PhraseOptions
from xlate.search.beam import Move, search_graph


class Reached(NamedTuple):
    """A state of the search, and how many words of the translation are there."""

    state: PhraseState
    words: int


@dataclass(frozen=True)
class TargetMoves:
    """The search space of a sentence, kept to the words of a translation."""

    moves: PhraseMoves
    target: tuple[str, ...]

    def future(self, reached: Reached) -> float:
        """As in the free search."""
        return self.moves.future(reached.state)

    def expand(self, reached: Reached) -> Iterator[Move[Reached]]:
        """The moves that go on with the translation, and its end when nothing is left."""
        for move in self.moves.expand(reached.state):
            words = self.moves.words_of(move.label)
            behind = reached.words + len(words)
            fits = self.target[reached.words : behind] == words and (
                move.label != END_LABEL or behind == len(self.target)
            )
            if fits:
                yield Move(Reached(move.state, behind), move.covered, move.score, move.label)


def force_target(decoder: PhraseDecoder, source: Sequence[str], target: Sequence[str]) -> PhraseDerivation | None:
    """The best derivation of `target` that the beam finds, by all pairs of the table, None when there is none.

    Limits of distortion and phrase length hold as in the free search; its table limit does not. The readable search
    over the few phrases that occur in the target.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    if not source:
        return decoder.translate(source)[0] if not target else None
    whole = _without_table_limit(decoder)
    free = whole.moves(source)
    moves = TargetMoves(occurring(free, target), tuple(target))
    search = decoder.search
    start = Reached(free.start, 0)
    graph = search_graph(start, free.levels, moves.expand, moves.future, search.beam, search.log_threshold)
    if graph.goal < 0:
        return None
    return whole.derivation(moves.moves, graph.best_labels())


def _without_table_limit(decoder: PhraseDecoder) -> PhraseDecoder:
    most = max(int(np.diff(decoder.model.pair_offsets_P1).max(initial=1)), 1)
    if decoder.search.options >= most:
        return decoder
    # Made once: what it has ranked stays.
    held = decoder.__dict__.get("_unlimited")
    if held is None:
        held = decoder.__dict__["_unlimited"] = decoder.with_search(options=most)
    assert isinstance(held, PhraseDecoder)
    return held


def occurring(moves: PhraseMoves, target: Sequence[str]) -> PhraseMoves:
    """A search space with only the options whose words stand somewhere in a translation."""
    longest = max((len(moves.words_of(label)) for label in range(len(moves.options))), default=0)
    words = tuple(target)
    parts = {words[i : i + n] for n in range(1, longest + 1) for i in range(len(words) - n + 1)}
    kept = np.array([label for label in range(len(moves.options)) if moves.words_of(label) in parts], dtype=np.int64)
    groups = moves.groups
    if len(groups.first_O):
        groups = groups._replace(first_O=groups.first_O[kept], last_O=groups.last_O[kept])
    return replace(moves, options=_selected(moves.options, kept), groups=groups)


def _selected(options: PhraseOptions, kept: NDArray[np.int64]) -> PhraseOptions:
    sizes_C = np.diff(np.searchsorted(kept, options.cell_offsets_C1))
    phrases, places = options.phrases, places_of(options.phrases.offsets_O1, kept)
    lengths = phrases.offsets_O1[kept + 1] - phrases.offsets_O1[kept]
    chosen = {
        name: getattr(options, name)[kept]
        for name in (
            "pair_O", "start_O", "end_O", "static_O", "alone_O", "backward_OK", "forward_O", "first_O", "last_O"
        )
    }  # fmt: skip
    return replace(
        options,
        cell_offsets_C1=offsets_of(sizes_C),
        phrases=PhrasesAlone(
            offsets_of(lengths), phrases.words_W[places], phrases.states_W[places], phrases.rest_W[places]
        ),
        **chosen,
    )
