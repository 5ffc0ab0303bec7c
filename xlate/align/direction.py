"""One direction of a word alignment: trains a model of sil-thot and takes the best links under it.

A large text is aligned in its own process, which can be ended at any time. A signal waits until a call of thot
returns, which takes minutes on a large text; this process only waits for the other one. The process is started, not
forked, because thot's OpenMP threads do not survive a fork, and waiting for them would never end. It runs this module,
so it imports nothing from the program that aligns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from thot import alignment as thot

from xlate.align.links import Links
from xlate.array_types import Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError
from xlate.progress import Style, set_style, track

Corpus = Sequence[Sequence[str]]
LONGEST = 1024  # thot's own limit, its `max_sentence_length`
CHUNK = 500
ITERATIONS = 5
# Models are trained one after the other, the first from scratch and each of the others from the one before.
METHODS: dict[str, tuple[Any, ...]] = {
    "eflomal": (thot.EflomalAlignmentModel,),
    "fast_align": (thot.FastAlignModel,),
    "hmm": (thot.Ibm1AlignmentModel, thot.HmmAlignmentModel),
    "ibm1": (thot.Ibm1AlignmentModel,),
    "ibm2": (thot.Ibm1AlignmentModel, thot.Ibm2AlignmentModel),
    "ibm4": (thot.Ibm1AlignmentModel, thot.HmmAlignmentModel, thot.Ibm4AlignmentModel),
}


@dataclass(frozen=True)
class Direction:
    """A model of the target given the source; words are decimal numbers, because thot gives words such as NULL a
    meaning.

    Attributes:
        method: a key of `METHODS`.
        seed: of the sampler of `eflomal`.
        name: of the direction, shown with the progress.
    """

    method: str
    seed: int
    name: str

    def links(self, source: Corpus, target: Corpus) -> Links:
        """Trains the model and takes its best links, source position first."""
        kind, *later = METHODS[self.method]
        first = kind()
        usable = [s for s in range(len(source)) if all(0 < len(side[s]) <= LONGEST for side in (source, target))]
        if not usable:
            return Links.from_pairs([[]] * len(source))
        for s in usable:
            first.add_sentence_pair(source[s], target[s])
        iterations = ITERATIONS
        if self.method == "eflomal":
            first.seed, first.deterministic, iterations = self.seed, True, 0
        model = self._trained(first, iterations)
        for stage in later:
            model = self._trained(stage(model), iterations)
        links: list[list[list[int]]] = [[] for _ in source]
        chunks = [usable[start : start + CHUNK] for start in range(0, len(usable), CHUNK)]
        for chunk in track(chunks, f"aligning {self.name}"):
            best = model.get_best_alignments([source[s] for s in chunk], [target[s] for s in chunk])
            for s, (_, matrix) in zip(chunk, best, strict=True):
                links[s] = np.argwhere(matrix.to_numpy()).tolist()
        return Links.from_pairs([(i, j) for i, j in row] for row in links)

    def _trained(self, model: Any, iterations: int) -> Any:
        """Trains a model for `iterations` iterations; 0 lets it choose their number when training begins."""
        model.start_training()
        for _ in track(range(iterations or sum(model.get_iterations())), f"training {self.method} {self.name}"):
            model.train()
        model.end_training()
        return model


class AlignmentProcess:
    """Starts an alignment in another process; a context manager that ends that process whatever happens.

    Args:
        direction: what to train.
        source: sentences whose words are decimal numbers.
        target: the other side.
        beside: another direction runs at the same time: this one gets half of the cores, and its steps are not shown.
    """

    def __init__(self, direction: Direction, source: Corpus, target: Corpus, beside: bool = False) -> None:
        self._direction = direction
        self._texts = source, target
        self._beside = beside

    def __enter__(self) -> AlignmentProcess:
        # It has no name, so nothing is left behind if a process is killed. It holds the text, and then the links.
        self._file = tempfile.TemporaryFile()
        np.savez(self._file, *(array for text in self._texts for array in _flat(text)))
        self._file.seek(0)
        file = self._file.fileno()
        # Modules are found as here; by default half of the cores are for threads of that process.
        threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // 2))} if self._beside else {}
        environment = {**threads, **os.environ, "PYTHONPATH": os.pathsep.join(part or "." for part in sys.path)}
        # It ends when this end of its standard input closes, because we closed it or because this process is gone.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, json.dumps(asdict(self._direction)), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if self._beside else subprocess.PIPE,
            pass_fds=[file],
            env=environment,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._file):
            if stream is not None:
                stream.close()

    def links(self) -> Links:
        """Waits for the other process and returns the links it found.

        Raises:
            InputError: it died, perhaps for lack of memory.
        """
        if self._process.stdout is not None:
            for line in self._process.stdout:
                total, _, name = line.rstrip().partition("\t")
                for _ in track(range(int(total)), name):
                    self._process.stdout.readline()
        for _ in track([None], f"waiting for {self._direction.name}"):
            status = self._process.wait()
        if status:
            raise InputError(
                f"the process that aligned {self._direction.name} ended too early",
                f"signal {-status}" if status < 0 else f"status {status}",
                "links",
                "check the memory of this machine; on one core (taskset) only one process runs",
            )
        self._file.seek(0)
        with np.load(self._file, allow_pickle=False) as held:
            return Links(held["arr_0"], held["arr_1"], held["arr_2"])


def _flat(text: Corpus) -> tuple[Ints32, Ints]:
    words = np.array([int(word) for sentence in text for word in sentence], np.int32)
    return words, offsets_of(list(map(len, text)))


def _sentences(words_T: Ints32, offsets_S1: Ints) -> list[list[str]]:
    written = list(map(str, range(words_T.max(initial=-1) + 1)))
    words, bounds = [written[word] for word in words_T.tolist()], offsets_S1.tolist()
    return [words[start:end] for start, end in pairwise(bounds)]


def _end_with_parent() -> None:
    # Not through sys.stdin, because Python would need its lock at exit.
    while os.read(0, 1):
        pass
    os._exit(1)


def main(arguments: Sequence[str]) -> None:
    """Runs in the process: aligns the text in an open file, and replaces it with the links."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    set_style(Style.RELAYED)
    direction = Direction(**json.loads(arguments[0]))
    with open(int(arguments[1]), "r+b") as file:
        with np.load(file, allow_pickle=False) as held:
            source, target = _sentences(held["arr_0"], held["arr_1"]), _sentences(held["arr_2"], held["arr_3"])
        links = direction.links(source, target)
        file.seek(0)
        file.truncate()
        np.savez(file, links.source_L, links.target_L, links.offsets_S1)
    # Library threads are not waited for.
    os._exit(0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (KeyboardInterrupt, BrokenPipeError):
        # The waiting process has been interrupted too, and reports it.
        os._exit(130)
