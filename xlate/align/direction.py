"""One direction of a word alignment: a model of sil-thot is trained, and the best links under it are taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from thot import alignment as thot

from xlate.align.links import Links
from xlate.progress import track

Corpus = Sequence[Sequence[str]]
LONGEST = 1024  # thot's own limit, its `max_sentence_length`
CHUNK = 500
ITERATIONS = 5


@dataclass(frozen=True)
class Direction:
    """A model of the target given the source, whose words are numbers in decimals: thot gives words such as NULL a
    meaning.

    Attributes:
        method: a key of `METHODS`.
        seed: of the sampler of `eflomal`.
        name: of the direction, for the progress that is shown.
    """

    method: str
    seed: int
    name: str

    def links(self, source: Corpus, target: Corpus) -> Links:
        """Trains the model and takes its best links, source position first."""
        first = thot.EflomalAlignmentModel() if self.method == "eflomal" else _first_model(self.method)
        usable = [s for s in range(len(source)) if _usable(source[s], target[s])]
        if not usable:
            return Links.from_pairs([[]] * len(source))
        for s in usable:
            first.add_sentence_pair(source[s], target[s])
        model = METHODS[self.method](first, self.seed, f"training {self.method} {self.name}")
        links: list[list[list[int]]] = [[] for _ in source]
        chunks = [usable[start : start + CHUNK] for start in range(0, len(usable), CHUNK)]
        for chunk in track(chunks, f"aligning {self.name}"):
            best = model.get_best_alignments([source[s] for s in chunk], [target[s] for s in chunk])
            for s, (_, matrix) in zip(chunk, best, strict=True):
                links[s] = np.argwhere(matrix.to_numpy()).tolist()
        return Links.from_pairs([(i, j) for i, j in row] for row in links)


def _usable(source: Sequence[str], target: Sequence[str]) -> bool:
    return 0 < len(source) <= LONGEST and 0 < len(target) <= LONGEST


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
