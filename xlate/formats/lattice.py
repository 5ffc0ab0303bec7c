"""Word lattices as other tools hold them: numbered states, and one word on each arc."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.kernels.search.lattice_passes import ArcGraph

EPSILON = ""


class WordLattice(NamedTuple):
    """A lattice of A arcs, the word of each (`EPSILON`, the empty one, for none), and natural log scores.

    Files hold it as an OpenFst acceptor (`lattice_fst`) or as an HTK standard lattice (`lattice_slf`).
    """

    graph: ArcGraph
    words: tuple[str, ...]
    score_A: NDArray[np.float64]


class FileArc(NamedTuple):
    """An arc as it stands in a file; states are numbered in any way."""

    source: int
    target: int
    word: str
    score: float


def assemble(path: str | Path, arcs: Sequence[FileArc], start: int, finals: Mapping[int, float]) -> WordLattice:
    """A lattice from the arcs of a file, its states put into topological order, equal ones as they were numbered.

    Several final states, and ones with a score or with arcs from them, are led to one goal by arcs without words.

    Args:
        path: the file, for messages.
        start: the first state.
        finals: the last states, each with its score.

    Raises:
        InputError: a cycle, or no final state.
    """
    if not finals:
        raise InputError("a lattice without final state", file=path, expected="one final state or more")
    states = {start, *finals, *(a.source for a in arcs), *(a.target for a in arcs)}
    goal, *others = finals
    if others or finals[goal] or goal in {arc.source for arc in arcs}:
        goal = max(states) + 1
        states.add(goal)
        arcs = [*arcs, *(FileArc(state, goal, EPSILON, score) for state, score in finals.items())]
    number = _topological(path, states, arcs, start, goal)
    placed = sorted(
        (FileArc(number[a.source], number[a.target], a.word, a.score) for a in arcs), key=lambda arc: arc.source
    )
    graph = ArcGraph(
        np.array([arc.source for arc in placed], dtype=np.int32),
        np.array([arc.target for arc in placed], dtype=np.int32),
        len(states),
    )
    return WordLattice(graph, tuple(arc.word for arc in placed), np.array([arc.score for arc in placed]))


def checked_words(path: str | Path, words: Iterable[str], reserved: str) -> None:
    """Refuses words that a lattice file cannot hold.

    Raises:
        InputError: ASCII white space in a word, or the word that stands for none.
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


def _topological(path: str | Path, states: set[int], arcs: Sequence[FileArc], start: int, goal: int) -> dict[int, int]:
    """New numbers: the start first, the goal last, of states that may come next always the lowest."""
    waits = dict.fromkeys(states, 0)
    after: dict[int, list[int]] = {state: [] for state in states}
    for arc in arcs:
        waits[arc.target] += 1
        after[arc.source].append(arc.target)
    ready = [(state != start, state == goal, state) for state in states if not waits[state]]
    heapq.heapify(ready)
    number: dict[int, int] = {}
    while ready:
        *_, state = heapq.heappop(ready)
        number[state] = len(number)
        for target in after[state]:
            waits[target] -= 1
            if not waits[target]:
                heapq.heappush(ready, (True, target == goal, target))
    if len(number) < len(states) or number[start] != 0:
        looped = min((state for state in states if state not in number), default=start)
        raise InputError("a cycle in a lattice", file=path, seen=f"through state {looped}", expected="no cycle")
    return number
