"""Word alignment of a parallel corpus in both directions, symmetrised."""

from __future__ import annotations

import logging

from xlate.align.apart import Apart
from xlate.align.direction import LONGEST, METHODS, Corpus, Direction
from xlate.align.links import REMEDY, Links
from xlate.align.symmetrize import check_method, symmetrize
from xlate.errors import InputError

log = logging.getLogger(__name__)
# Texts of fewer words on both sides are aligned before another process is there.
WORTHWHILE = 40_000


def align(
    source: Corpus,
    target: Corpus,
    method: str = "eflomal",
    symmetrization: str = "grow-diag-final-and",
    seed: int = 0,
    apart: bool = False,
) -> Links:
    """Aligns tokenised sentence pairs; equal input, method and seed give equal links, with any number of threads.

    Methods: `eflomal` (Bayesian IBM 1, HMM and fertility by Gibbs sampling, Östling and Tiedemann 2016: the best
    and the slowest), `fast_align` (Dyer et al. 2013), `hmm` (Vogel et al. 1996), `ibm1`, `ibm2`, `ibm4` (without
    word classes). Each trains a model of the target given the source (forward) and one of the source given the target.
    A pair with an empty side, or with more words than the model takes (1,024), is left without links.

    Args:
        symmetrization: one of `symmetrize.METHODS`.
        seed: of the sampler; only `eflomal` draws at random.
        apart: the two directions run side by side, unless the text is small. Either way each direction of a large text
            runs in a process of its own, so that a signal ends it at once.

    Raises:
        InputError: an unknown method or symmetrisation, different numbers of sentences, or that process died.
    """
    check_aligner(method)
    check_method(symmetrization)
    if len(source) != len(target):
        raise InputError(
            "source and target differ in number of sentences",
            seen=f"{len(source)} source and {len(target)} target sentences",
            expected="as many of one as of the other",
            remedy=REMEDY,
        )
    _warn_of_long(source, target)
    source_words, target_words = _numbered(source), _numbered(target)
    there = Direction(method, seed, "forward"), source_words, target_words
    back = Direction(method, seed, "backward"), target_words, source_words
    forward = backward = Links.from_pairs([[]] * len(source))
    if apart and symmetrization not in ("forward", "backward") and _is_large(source, target):
        with Apart(*back, beside=True) as process:
            forward = _links(*there)
            backward = process.links().transposed()
    else:
        if symmetrization != "backward":
            forward = _links(*there)
        if symmetrization != "forward":
            backward = _links(*back).transposed()
    return symmetrize(forward, backward, symmetrization, [len(s) for s in source], [len(t) for t in target])


def check_aligner(method: str) -> None:
    """Refuses a name that is no alignment method.

    Raises:
        InputError: with the names there are.
    """
    if method not in METHODS:
        raise InputError("unknown alignment method", seen=method, expected="one of " + ", ".join(METHODS))


def _is_large(source: Corpus, target: Corpus) -> bool:
    return sum(map(len, source)) + sum(map(len, target)) >= WORTHWHILE


def _links(direction: Direction, source: Corpus, target: Corpus) -> Links:
    if not _is_large(source, target):
        return direction.links(source, target)
    with Apart(direction, source, target) as process:
        return process.links()


def _numbered(sentences: Corpus) -> list[list[str]]:
    """The words of a text as numbers in decimals."""
    numbers: dict[str, str] = {}
    return [[numbers.setdefault(word, str(len(numbers))) for word in sentence] for sentence in sentences]


def _warn_of_long(source: Corpus, target: Corpus) -> None:
    too_long = sum(max(len(s), len(t)) > LONGEST for s, t in zip(source, target, strict=True))
    if too_long:
        log.warning("sentence pairs of more than %d words, left without links: %d", LONGEST, too_long)
