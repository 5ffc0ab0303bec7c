"""Sentences translated in pieces: derivations of the pieces become derivations of the whole (see `cutting`).

Every piece is translated as a sentence of its own, with its own beginning and end; scores and features add up.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from xlate.models.block.derivation import Derivation
from xlate.models.phrase.forced import PhraseDerivation
from xlate.text.cutting import cut


class Scored(Protocol):
    """A derivation."""

    @property
    def score(self) -> float:
        """Its score."""

    @property
    def words(self) -> list[str]:
        """Its target words."""


D = TypeVar("D", bound=Scored)


def in_pieces(
    words: Sequence[str],
    most: int,
    nbest: int,
    distinct: bool,
    translate: Callable[[Sequence[str]], list[D]],
    join: Callable[[Sequence[D]], D],
) -> list[D]:
    """The best derivations of a sentence that is translated in pieces, best first: the highest sums of scores."""
    lists = [translate(words[start:end]) for start, end in cut(words, most)]
    found: list[D] = []
    seen: set[tuple[str, ...]] = set()
    for places in best_sums([[one.score for one in derivations] for derivations in lists], nbest):
        whole = join([derivations[place] for derivations, place in zip(lists, places, strict=True)])
        target = tuple(whole.words) if distinct else ()
        if not distinct or target not in seen:
            found.append(whole)
        seen.add(target)
    return found


def best_sums(lists: Sequence[Sequence[float]], most: int) -> list[tuple[int, ...]]:
    """The choices of one place from every list, descending each, with the highest sums; at most so many, best first."""
    chosen: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for scores in lists:
        chosen = _best_pairs(chosen, scores, most)
    return [places for _, places in chosen]


def _best_pairs(
    chosen: list[tuple[float, tuple[int, ...]]], scores: Sequence[float], most: int
) -> list[tuple[float, tuple[int, ...]]]:
    """A row of the first list with every row of the second, best first, as far as they are wanted."""
    if not chosen or not scores:
        return []
    heap, seen = [(-chosen[0][0] - scores[0], 0, 0)], {(0, 0)}
    best: list[tuple[float, tuple[int, ...]]] = []
    while heap and len(best) < most:
        cost, row, place = heapq.heappop(heap)
        best.append((-cost, (*chosen[row][1], place)))
        for r, p in ((row + 1, place), (row, place + 1)):
            if r < len(chosen) and p < len(scores) and (r, p) not in seen:
                seen.add((r, p))
                heapq.heappush(heap, (-chosen[r][0] - scores[p], r, p))
    return best


def joined_blocks(parts: Sequence[Derivation]) -> Derivation:
    """One derivation of a sentence from those of its pieces; each piece keeps its end."""
    steps, at = [], 0
    for part in parts:
        steps += [replace(step, source_span=_moved(step.source_span, at)) for step in part.steps]
        at += len(part.source)
    source = tuple(word for part in parts for word in part.source)
    return Derivation(source, tuple(steps), sum(part.score for part in parts), parts[0].names)


def joined_phrases(parts: Sequence[PhraseDerivation]) -> PhraseDerivation:
    """One derivation of a sentence from those of its pieces; features add up."""
    steps, at = [], 0
    for part in parts:
        steps += [replace(step, source_span=_moved(step.source_span, at)) for step in part.steps]
        at += len(part.source)
    source = tuple(word for part in parts for word in part.source)
    features_D = sum((part.features_D for part in parts[1:]), parts[0].features_D)
    return PhraseDerivation(source, tuple(steps), features_D, sum(part.score for part in parts))


def _moved(span: tuple[int, int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by
