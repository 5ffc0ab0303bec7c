"""A direction of an alignment in a process of its own, which can be ended at any time.

A signal waits until a call of thot returns, and on a large text that takes minutes; this process only waits for the
other one. The process is started, not forked: threads of OpenMP, which thot begins with, do not survive a fork, and who
waits for them waits for ever. It runs this module, so that it imports nothing of the program that aligns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from types import TracebackType

import numpy as np

from xlate.align.direction import Corpus, Direction
from xlate.align.links import Links
from xlate.array_types import Ints, Ints32
from xlate.errors import InputError
from xlate.progress import Style, set_style, track


class Apart:
    """Begins to align in another process; a context manager that ends it, whatever happens.

    Args:
        direction: what is trained.
        source: sentences of words that are numbers in decimals.
        target: the other side.
        beside: another direction runs at the same time: this one has half of the cores, and its steps are not shown.
    """

    def __init__(self, direction: Direction, source: Corpus, target: Corpus, beside: bool = False) -> None:
        self._direction = direction
        self._texts = source, target
        self._beside = beside

    def __enter__(self) -> Apart:
        # It has no name, so that nothing is left of it, whoever is killed: the text, and then the links.
        self._file = tempfile.TemporaryFile()
        np.savez(self._file, *(array for text in self._texts for array in _flat(text)))
        self._file.seek(0)
        file = self._file.fileno()
        # It ends when this end of its standard input is closed, by us or because this process is no more.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, json.dumps(asdict(self._direction)), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if self._beside else subprocess.PIPE,
            pass_fds=[file],
            env=_environment(self._beside),
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._file):
            if stream is not None:
                stream.close()

    def links(self) -> Links:
        """What the other process found, waited for.

        Raises:
            InputError: it died, perhaps for want of memory.
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
                f"the process that aligned {self._direction.name} ended before its time",
                seen=f"signal {-status}" if status < 0 else f"status {status}",
                expected="links",
                remedy="look at the memory of this machine; with one core (taskset) nothing runs side by side",
            )
        self._file.seek(0)
        with np.load(self._file, allow_pickle=False) as held:
            return Links(held["arr_0"], held["arr_1"], held["arr_2"])


def _environment(beside: bool) -> dict[str, str]:
    """Modules are found as here; of the cores half are for threads of that process, unless it is told otherwise."""
    threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // 2))} if beside else {}
    return {**threads, **os.environ, "PYTHONPATH": os.pathsep.join(part or "." for part in sys.path)}


def _flat(text: Corpus) -> tuple[Ints32, Ints]:
    lengths = [len(sentence) for sentence in text]
    words = np.array([int(word) for sentence in text for word in sentence], dtype=np.int32)
    return words, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _sentences(words_T: Ints32, offsets_S1: Ints) -> list[list[str]]:
    written = list(map(str, range(words_T.max(initial=-1) + 1)))
    words, bounds = [written[word] for word in words_T.tolist()], offsets_S1.tolist()
    return [words[start:end] for start, end in pairwise(bounds)]


def _end_with_parent() -> None:
    # Not through sys.stdin, whose lock Python would want at its own end.
    while os.read(0, 1):
        pass
    os._exit(1)


def main(arguments: Sequence[str]) -> None:
    """What the process does: aligns the text in an open file, and puts the links in its place."""
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
    # Threads of libraries are not waited for.
    os._exit(0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (KeyboardInterrupt, BrokenPipeError):
        # The one that waits has been interrupted, too, and says so.
        os._exit(130)
