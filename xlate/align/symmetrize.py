"""One alignment out of the two that a directional model gives (Och and Ney 2003; Koehn et al. 2005).

Growing starts from the intersection. Again and again, until nothing changes, the links of the union are visited in
the order (source, target); one is added at once when it has a neighbour among those kept and its source word or its
target word has no link yet. Neighbours are the four beside it, with `-diag` also the four across. Then `-final` adds
the links of the forward and after them those of the backward alignment whose source word or target word has no link
yet; `-final-and` only those where neither has one. This order is fast_align's (atools); Moses's symal walks from the
kept links and can choose otherwise among rival links.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.align.links import REMEDY, Links
from xlate.array_types import AnyInts, Ints, Ints32
from xlate.errors import InputError
from xlate.kernels.counting.symmetrization import BACKWARD, BOTH, FINAL_AND, FINAL_OR, FORWARD, NO_FINAL, grow, merge

GROWING = {
    "grow": (False, NO_FINAL),
    "grow-diag": (True, NO_FINAL),
    "grow-diag-final": (True, FINAL_OR),
    "grow-diag-final-and": (True, FINAL_AND),
}
METHODS = ("intersection", "union", *GROWING, "forward", "backward")

Lengths = Sequence[int] | AnyInts


def symmetrize(
    forward: Links, backward: Links, method: str, source_lengths_S: Lengths, target_lengths_S: Lengths
) -> Links:
    """Combines two alignments of the same sentence pairs, both with the source position first.

    Args:
        method: one of `METHODS`; `forward` and `backward` hand one of the two back.
        source_lengths_S: words of each source sentence.
        target_lengths_S: words of each target sentence.

    Raises:
        InputError: an unknown method, different numbers of sentence pairs, or a link outside its sentence pair.
    """
    check_method(method)
    if not len(forward) == len(backward) == len(source_lengths_S) == len(target_lengths_S):
        raise InputError(
            "alignments and text differ in number of sentences",
            seen=f"{len(forward)} forward, {len(backward)} backward, {len(source_lengths_S)} source, "
            f"{len(target_lengths_S)} target",
            expected="four equal numbers",
            remedy=REMEDY,
        )
    if method in ("forward", "backward"):
        return forward if method == "forward" else backward
    source_U, target_U, offsets_S1, origin_U = merge(*_flat(forward), *_flat(backward))
    source_lengths, target_lengths = np.asarray(source_lengths_S), np.asarray(target_lengths_S)
    _check_inside(source_U, offsets_S1, source_lengths, "source")
    _check_inside(target_U, offsets_S1, target_lengths, "target")
    if method in GROWING:
        lengths = source_lengths.astype(np.int64), target_lengths.astype(np.int64)
        kept_U = grow(source_U, target_U, offsets_S1, origin_U, *lengths, *GROWING[method])
    else:
        kept_U = origin_U == BOTH if method == "intersection" else (origin_U & (FORWARD | BACKWARD)) > 0
    before_U1 = np.concatenate(([0], np.cumsum(kept_U)))
    return Links(source_U[kept_U], target_U[kept_U], before_U1[offsets_S1].astype(np.int64))


def check_method(method: str) -> None:
    """Refuses a name that is no symmetrisation.

    Raises:
        InputError: with the names there are.
    """
    if method not in METHODS:
        raise InputError("unknown symmetrisation", seen=method, expected="one of " + ", ".join(METHODS))


def _flat(links: Links) -> tuple[Ints32, Ints32, Ints]:
    return links.source_L, links.target_L, links.offsets_S1


def _check_inside(position_U: Ints32, offsets_S1: Ints, lengths_S: Ints, side: str) -> None:
    length_U = np.repeat(lengths_S, np.diff(offsets_S1))
    bad = (position_U < 0) | (position_U >= length_U)
    if bad.any():
        u = int(np.argmax(bad))
        sentence = int(np.searchsorted(offsets_S1, u, side="right"))
        raise InputError(
            f"link outside its {side} sentence",
            line=sentence,
            seen=f"sentence pair {sentence}, {side} position {position_U[u]}",
            expected=f"positions below {length_U[u]}",
            remedy=REMEDY,
        )
