"""Word alignment of a parallel corpus through sil-thot, both directions, symmetrised."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from thot import alignment as thot

from xlate.align.links import REMEDY, Links
from xlate.align.symmetrize import check_method, symmetrize
from xlate.errors import InputError
from xlate.progress import track

log = logging.getLogger(__name__)

Corpus = Sequence[Sequence[str]]
LONGEST = 1024  # thot's own limit, its `max_sentence_length`
CHUNK = 500
ITERATIONS = 5


def align(
    source: Corpus,
    target: Corpus,
    method: str = "eflomal",
    symmetrization: str = "grow-diag-final-and",
    seed: int = 0,
) -> Links:
    """Aligns tokenised sentence pairs; equal input, method and seed give equal links, with any number of threads.

    Methods: `eflomal` (Bayesian IBM 1, HMM and fertility by Gibbs sampling, Östling and Tiedemann 2016: the best
    and the slowest), `fast_align` (Dyer et al. 2013), `hmm` (Vogel et al. 1996), `ibm1`, `ibm2`, `ibm4` (without
    word classes). Each trains a model of the target given the source (forward) and one of the source given the target.
    A pair with an empty side, or with more words than the model takes (1,024), is left without links.

    Args:
        symmetrization: one of `symmetrize.METHODS`.
        seed: of the sampler; only `eflomal` draws at random.

    Raises:
        InputError: an unknown method or symmetrisation, or different numbers of sentences.
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
    forward = backward = Links.from_pairs([[]] * len(source))
    if symmetrization != "backward":
        forward = _one_direction(source_words, target_words, method, seed, "forward")
    if symmetrization != "forward":
        backward = _one_direction(target_words, source_words, method, seed, "backward").transposed()
    return symmetrize(forward, backward, symmetrization, [len(s) for s in source], [len(t) for t in target])


def check_aligner(method: str) -> None:
    """Refuses a name that is no alignment method.

    Raises:
        InputError: with the names there are.
    """
    if method not in METHODS:
        raise InputError("unknown alignment method", seen=method, expected="one of " + ", ".join(METHODS))


def _numbered(sentences: Corpus) -> list[list[str]]:
    """Words as decimal numbers, since thot gives words such as NULL a meaning."""
    numbers: dict[str, str] = {}
    return [[numbers.setdefault(word, str(len(numbers))) for word in sentence] for sentence in sentences]


def _one_direction(source: Corpus, target: Corpus, method: str, seed: int, name: str) -> Links:
    """Trains a model of target given source and takes its best links, source position first."""
    first = thot.EflomalAlignmentModel() if method == "eflomal" else _first_model(method)
    usable = [s for s in range(len(source)) if _usable(source[s], target[s])]
    if not usable:
        return Links.from_pairs([[]] * len(source))
    for s in usable:
        first.add_sentence_pair(source[s], target[s])
    model = METHODS[method](first, seed, f"training {method} {name}")
    links: list[list[list[int]]] = [[] for _ in source]
    chunks = [usable[start : start + CHUNK] for start in range(0, len(usable), CHUNK)]
    for chunk in track(chunks, f"aligning {name}"):
        best = model.get_best_alignments([source[s] for s in chunk], [target[s] for s in chunk])
        for s, (_, matrix) in zip(chunk, best, strict=True):
            links[s] = np.argwhere(matrix.to_numpy()).tolist()
    return Links.from_pairs([(i, j) for i, j in row] for row in links)


def _usable(source: Sequence[str], target: Sequence[str]) -> bool:
    return 0 < len(source) <= LONGEST and 0 < len(target) <= LONGEST


def _warn_of_long(source: Corpus, target: Corpus) -> None:
    too_long = sum(max(len(s), len(t)) > LONGEST for s, t in zip(source, target, strict=True))
    if too_long:
        log.warning("sentence pairs of more than %d words, left without links: %d", LONGEST, too_long)


def _first_model(method: str) -> Any:
    return thot.FastAlignModel() if method == "fast_align" else thot.Ibm1AlignmentModel()


def _train(model: Any, name: str, iterations: int | None = None) -> Any:
    """Trains a model for so many iterations, by default as many as the model itself chooses when training begins."""
    model.start_training()
    for _ in track(range(iterations or sum(model.get_iterations())), name):
        model.train()
    model.end_training()
    return model


def _eflomal(model: Any, seed: int, name: str) -> Any:
    model.seed = seed
    model.deterministic = True
    return _train(model, name)


def _staged(*later: Any) -> Callable[[Any, int, str], Any]:
    """Trains models one after the other, the first from scratch and each further one from the one before."""

    def train(model: Any, seed: int, name: str) -> Any:
        del seed
        model = _train(model, name, ITERATIONS)
        for stage in later:
            model = _train(stage(model), name, ITERATIONS)
        return model

    return train


METHODS: dict[str, Callable[[Any, int, str], Any]] = {
    "eflomal": _eflomal,
    "fast_align": _staged(),
    "hmm": _staged(thot.HmmAlignmentModel),
    "ibm1": _staged(),
    "ibm2": _staged(thot.Ibm2AlignmentModel),
    "ibm4": _staged(thot.HmmAlignmentModel, thot.Ibm4AlignmentModel),
}
