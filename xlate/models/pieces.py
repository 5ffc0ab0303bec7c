"""Sentences translated in pieces: derivations of the pieces become derivations of the whole (see `cutting`).

Every piece is translated as a sentence of its own, with its own beginning and end; scores and features add up.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from xlate.models.derivation import Derivation, StepT, joined


def best_joined(lists: Sequence[Sequence[Derivation[StepT]]], most: int, distinct: bool) -> list[Derivation[StepT]]:
    """The best derivations of a sentence from the lists of its pieces, best first: the highest sums of scores.

    With `distinct`, of those with the same target words only the best.
    """
    found: list[Derivation[StepT]] = []
    seen: set[tuple[str, ...]] = set()
    for places in best_sums([[one.score for one in derivations] for derivations in lists], most):
        whole = joined([derivations[place] for derivations, place in zip(lists, places, strict=True)])
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
