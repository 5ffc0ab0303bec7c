"""Word alignment of a parallel corpus in both directions, and one alignment out of the two (Och and Ney 2003; Koehn et
al. 2005).

Growing starts from the intersection. Until nothing changes, the links of the union are visited repeatedly in the order
(source, target); one is added at once when it has a neighbour among the kept links and its source word or its target
word has no link yet. Neighbours are the four adjacent links; with `-diag`, the four diagonal ones too. Then `-final`
adds the links of the forward and then those of the backward alignment whose source word or target word has no link
yet; `-final-and` adds only those where neither has one. This order is fast_align's (atools); Moses's symal starts from
the kept links and can choose differently among rival links.
"""

from __future__ import annotations

import logging

import numpy as np

from xlate.align.direction import LONGEST, METHODS, AlignmentProcess, Corpus, Direction
from xlate.align.links import REMEDY, Lengths, Links, check_positions, matched_lengths
from xlate.errors import InputError, check_choice
from xlate.kernels.counting.alignment import BACKWARD, BOTH, FINAL_AND, FINAL_OR, FORWARD, NO_FINAL, grow, merge

GROWING = {
    "grow": (False, NO_FINAL),
    "grow-diag": (True, NO_FINAL),
    "grow-diag-final": (True, FINAL_OR),
    "grow-diag-final-and": (True, FINAL_AND),
}
SYMMETRIZATIONS = ("intersection", "union", *GROWING, "forward", "backward")


def symmetrize(
    forward: Links, backward: Links, method: str, source_lengths_S: Lengths, target_lengths_S: Lengths
) -> Links:
    """Combines two alignments of the same sentence pairs, both with the source position first.

    Args:
        method: one of `SYMMETRIZATIONS`; `forward` and `backward` return one of the two.
        source_lengths_S: words of each source sentence.
        target_lengths_S: words of each target sentence.

    Raises:
        InputError: an unknown method, different numbers of sentence pairs, or a link outside its sentence pair.
    """
    check_choice("unknown symmetrisation", method, SYMMETRIZATIONS)
    if not len(forward) == len(backward) == len(source_lengths_S) == len(target_lengths_S):
        raise InputError(
            "alignments and text differ in number of sentences",
            f"{len(forward)} forward, {len(backward)} backward, {len(source_lengths_S)} source, "
            f"{len(target_lengths_S)} target",
            "four equal numbers",
            REMEDY,
        )
    if method in ("forward", "backward"):
        return forward if method == "forward" else backward
    one = forward.source_L, forward.target_L, forward.offsets_S1
    source_U, target_U, offsets_S1, origin_U = merge(*one, backward.source_L, backward.target_L, backward.offsets_S1)
    check_positions(Links(source_U, target_U, offsets_S1), source_lengths_S, target_lengths_S)
    if method in GROWING:
        lengths = np.array(source_lengths_S, np.int64), np.array(target_lengths_S, np.int64)
        kept_U = grow(source_U, target_U, offsets_S1, origin_U, *lengths, *GROWING[method])
    else:
        kept_U = origin_U == BOTH if method == "intersection" else (origin_U & (FORWARD | BACKWARD)) > 0
    before_U1 = np.concatenate(([0], np.cumsum(kept_U)))
    return Links(source_U[kept_U], target_U[kept_U], before_U1[offsets_S1].astype(np.int64))


log = logging.getLogger(__name__)
# Texts of fewer words on both sides are aligned before another process has started.
WORTHWHILE = 40_000


def align(
    source: Corpus,
    target: Corpus,
    method: str = "eflomal",
    symmetrization: str = "grow-diag-final-and",
    seed: int = 0,
    side_by_side: bool = False,
) -> Links:
    """Aligns tokenised sentence pairs; equal input, method and seed give equal links, with any number of threads.

    Methods: `eflomal` (Bayesian IBM 1, HMM and fertility by Gibbs sampling, Östling and Tiedemann 2016: the best
    and the slowest), `fast_align` (Dyer et al. 2013), `hmm` (Vogel et al. 1996), `ibm1`, `ibm2`, `ibm4` (without
    word classes). Each trains a model of the target given the source (forward) and one of the source given the target.
    A pair with an empty side, or with more words than the model takes (1,024), is left without links.

    Args:
        symmetrization: one of `SYMMETRIZATIONS`.
        seed: of the sampler; only `eflomal` draws at random.
        side_by_side: run both directions at the same time, unless the text is small. Either way each direction of a
            large text runs in its own process, so that a signal ends it at once.

    Raises:
        InputError: an unknown method or symmetrisation, different numbers of sentences, or that process died.
    """
    check_choice("unknown alignment method", method, METHODS)
    check_choice("unknown symmetrisation", symmetrization, SYMMETRIZATIONS)
    matched_lengths(source, target, REMEDY)
    too_long = sum(max(len(s), len(t)) > LONGEST for s, t in zip(source, target, strict=True))
    if too_long:
        log.warning("sentence pairs of more than %d words, left without links: %d", LONGEST, too_long)
    source_words, target_words = _numbered(source), _numbered(target)
    there = Direction(method, seed, "forward"), source_words, target_words
    back = Direction(method, seed, "backward"), target_words, source_words
    forward = backward = Links.from_pairs([[]] * len(source))
    if side_by_side and symmetrization not in ("forward", "backward") and _is_large(source, target):
        with AlignmentProcess(*back, beside=True) as process:
            forward = _links(*there)
            backward = process.links().transposed()
    else:
        if symmetrization != "backward":
            forward = _links(*there)
        if symmetrization != "forward":
            backward = _links(*back).transposed()
    return symmetrize(forward, backward, symmetrization, [len(s) for s in source], [len(t) for t in target])


def _is_large(source: Corpus, target: Corpus) -> bool:
    return sum(map(len, source)) + sum(map(len, target)) >= WORTHWHILE


def _links(direction: Direction, source: Corpus, target: Corpus) -> Links:
    if not _is_large(source, target):
        return direction.links(source, target)
    with AlignmentProcess(direction, source, target) as process:
        return process.links()


def _numbered(sentences: Corpus) -> list[list[str]]:
    """The words of a text as decimal numbers."""
    numbers: dict[str, str] = {}
    return [[numbers.setdefault(word, str(len(numbers))) for word in sentence] for sentence in sentences]
