"""What a hypothesis of the block decoder has translated: all words before its frontier, but for one gap at most."""

from __future__ import annotations

from xlate.array_types import Bools, Floats, Ints
from xlate.compiled import inlined, loop
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT

GAP_BITS = 20
LONGEST_SENTENCE = (1 << GAP_BITS) - 2


@inlined
def cover_of(frontier: int, gap_start: int, gap_end: int, adjacent: bool) -> int:
    """Frontier, gap, and whether the last block ends at the frontier, as one number; see `BlockState`."""
    return (((frontier << GAP_BITS) | gap_start) << (GAP_BITS + 1)) | (gap_end << 1) | (1 if adjacent else 0)


@inlined
def parts_of(cover: int) -> tuple[int, int, int, bool]:
    """The inverse of `cover_of`."""
    low = (1 << GAP_BITS) - 1
    return cover >> (2 * GAP_BITS + 1), (cover >> (GAP_BITS + 1)) & low, (cover >> 1) & low, cover & 1 == 1


@inlined
def cover_after(cover: int, begin: int, end: int, orientation: int) -> int:
    """What is covered with one more span."""
    frontier = cover >> (2 * GAP_BITS + 1)
    if orientation == LEFT:
        return cover_of(frontier, 0, 0, False)
    if begin > frontier:
        return cover_of(end, frontier, begin, False)
    return cover_of(end, 0, 0, True)


@loop
def level_and_future(cover: int, n: int, future_nn: Floats) -> tuple[int, float]:
    """How many words are covered (one more at the end), and the estimate of the gap and of what is behind."""
    frontier, gap_start, gap_end, _ = parts_of(cover)
    if frontier > n:
        return frontier, 0.0
    return frontier - (gap_end - gap_start), future_nn[gap_start, gap_end] + future_nn[frontier, n]


@loop
def next_spans(cover: int, n: int, longest: int, fillable_C: Bools, swaps: bool, spans_X3: Ints) -> int:
    """Writes the spans that may be translated next, with their orientations; see `BlockMoves.expand`."""
    frontier, gap_start, gap_end, adjacent = parts_of(cover)
    if gap_end > 0:
        spans_X3[0, 0], spans_X3[0, 1], spans_X3[0, 2] = gap_start, gap_end, LEFT
        return 1
    size = 0
    for end in range(frontier + 1, min(n, frontier + longest) + 1):
        spans_X3[size, 0], spans_X3[size, 1], spans_X3[size, 2] = frontier, end, RIGHT if adjacent else NEUTRAL
        size += 1
    if swaps:
        for begin in range(frontier + 1, min(n - 1, frontier + longest) + 1):
            if fillable_C[frontier * longest + begin - frontier - 1]:
                for end in range(begin + 1, min(n, begin + longest) + 1):
                    spans_X3[size, 0], spans_X3[size, 1], spans_X3[size, 2] = begin, end, NEUTRAL
                    size += 1
    return size
