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
from typing import Any

import numpy as np
from thot import alignment as thot

from xlate.align.links import Links
from xlate.array_types import NO_INTS, Ints
from xlate.arrays.ragged import offsets_of
from xlate.arrays.ranges import pieces
from xlate.errors import InputError
from xlate.progress import Style, set_style, track
from xlate.text.vocabulary import EncodedText

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
    """A model of the target given the source; thot gets words as decimal numbers, because it gives words such as NULL
    a meaning. Words that the model does not know all count as one unknown word.

    Attributes:
        method: a key of `METHODS`.
        seed: of the sampler of `eflomal`.
        name: of the direction, shown with the progress.
        save: a folder for the model's files, whose names begin with that of the direction.
        model: such a folder, whose model is read instead of training one.
    """

    method: str
    seed: int
    name: str
    save: str | None = None
    model: str | None = None

    def links(self, source: EncodedText, target: EncodedText) -> Links:
        """Trains the model, or reads it, and takes its best links, source position first; none if it is saved.

        Raises:
            InputError: thot cannot read the model.
        """
        usable = usable_pairs(source, target)
        if not len(usable):
            return Links.from_pairs([[]] * len(source))
        model = self._read(self.model) if self.model else self._learned(source, target, usable)
        if self.save:
            _write(model, f"{self.save}/{self.name}")
            return Links.from_pairs([[]] * len(source))
        count_S, found = np.zeros(len(source), np.int64), []
        chunks = [usable[at] for at in pieces(len(usable), CHUNK)]
        for chunk in track(chunks, f"aligning {self.name}"):
            best = model.get_best_alignments([_words(source, s) for s in chunk], [_words(target, s) for s in chunk])
            # One pair after the other, each sorted by (source, target).
            links = [np.argwhere(matrix.to_numpy()).astype(np.int32) for _, matrix in best]
            count_S[chunk] = [len(pairs) for pairs in links]
            found += [np.concatenate(links)]
        source_L, target_L = np.ascontiguousarray(np.concatenate(found).T)
        return Links(source_L, target_L, offsets_of(count_S))

    def _learned(self, source: EncodedText, target: EncodedText, usable: Ints) -> Any:
        kind, *later = METHODS[self.method]
        model = kind()
        for s in usable:
            model.add_sentence_pair(_words(source, s), _words(target, s))
        iterations = ITERATIONS
        if self.method == "eflomal":
            model.seed, model.deterministic, iterations = self.seed, True, 0
        model = self._trained(model, iterations)
        for stage in later:
            model = self._trained(stage(model), iterations)
        return model

    def _read(self, folder: str) -> Any:
        model = METHODS[self.method][-1]()
        if not model.load(f"{folder}/{self.name}"):
            raise InputError("thot cannot read this model", self.name, "what thot wrote", "save it again", file=folder)
        return model

    def _trained(self, model: Any, iterations: int) -> Any:
        """Trains a model for `iterations` iterations; 0 lets it choose their number when training begins."""
        model.start_training()
        for _ in track(range(iterations or sum(model.get_iterations())), f"training {self.method} {self.name}"):
            model.train()
        model.end_training()
        return model


def usable_pairs(source: EncodedText, target: EncodedText) -> Ints:
    """The pairs that can be aligned: with words on both sides, and not too many."""
    found = [NO_INTS]
    for at in pieces(len(source)):
        lengths_2S = np.diff([text.offsets_S1[at.start : at.stop + 1] for text in (source, target)])
        found.append(at.start + np.flatnonzero((lengths_2S.min(axis=0) > 0) & (lengths_2S.max(axis=0) <= LONGEST)))
    return np.concatenate(found)


def _words(text: EncodedText, s: int) -> list[str]:
    return list(map(str, text[s].tolist()))


def _write(model: Any, prefix: str) -> None:
    """Writes the files of a model; thot wants those of its training text but does not need what is in them."""
    if not model.print(prefix):
        raise OSError(f"{prefix}.*: thot cannot write an alignment model")
    for name in ("src", "trg", "srctrgc"):
        open(f"{prefix}.{name}", "wb").close()


class AlignmentProcess:
    """Starts an alignment in another process; a context manager that ends that process whatever happens.

    Args:
        direction: what to train.
        source, target: the numbered text.
        beside: another direction runs at the same time: this one gets half of the cores, and its steps are not shown.
    """

    def __init__(self, direction: Direction, source: EncodedText, target: EncodedText, beside: bool = False) -> None:
        self._direction = direction
        self._texts = source, target
        self._beside = beside

    def __enter__(self) -> AlignmentProcess:
        # It has no name, so nothing is left behind if a process is killed. It holds the text, and then the links.
        self._file = tempfile.TemporaryFile()
        np.savez(self._file, *(array for text in self._texts for array in text.arrays))
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
        # Leaving these contexts closes the streams and waits for the process.
        with self._file, self._process:
            self._process.kill()

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
            texts = EncodedText(held["arr_0"], held["arr_1"]), EncodedText(held["arr_2"], held["arr_3"])
        links = direction.links(*texts)
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
