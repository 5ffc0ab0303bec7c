"""A direction of an alignment in a process of its own.

The process is started, not forked: threads of OpenMP, which thot begins with, do not survive a fork, and who waits for
them waits for ever. It runs this module, so that it imports nothing of the program that aligns.
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
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from xlate.align.direction import Corpus, Direction
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.progress import Style, set_style, track

DIRECTION, GIVEN, FOUND = "direction.json", "given.npz", "found.npz"


class Apart:
    """Begins to align in another process; a context manager that ends it, whatever happens.

    Args:
        direction: what is trained.
        source: sentences of words that are numbers in decimals.
        target: the other side.
    """

    def __init__(self, direction: Direction, source: Corpus, target: Corpus) -> None:
        self._direction = direction
        self._texts = source, target

    def __enter__(self) -> Apart:
        self._held = tempfile.TemporaryDirectory(prefix="xlate-align-")
        folder = Path(self._held.name)
        (folder / DIRECTION).write_text(json.dumps(asdict(self._direction)), encoding="utf-8")
        np.savez(folder / GIVEN, *(array for text in self._texts for array in _flat(text)))
        # It ends when this end of its standard input is closed, by us or because this process is no more.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(folder)], stdin=subprocess.PIPE, env=_environment(os.environ)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._held.cleanup()

    def links(self) -> Links:
        """What the other process found, waited for.

        Raises:
            InputError: it died, perhaps for want of memory.
        """
        for _ in track([None], f"waiting for {self._direction.name}"):
            status = self._process.wait()
        found = Path(self._held.name) / FOUND
        if status or not found.exists():
            raise InputError(
                f"the process that aligned {self._direction.name} ended before its time",
                seen=f"signal {-status}" if status < 0 else f"status {status}",
                expected="links",
                remedy="look at the memory of this machine; with one core (taskset) nothing runs side by side",
            )
        with np.load(found, allow_pickle=False) as held:
            return Links(held["arr_0"], held["arr_1"], held["arr_2"])


def _environment(here: dict[str, str] | os._Environ[str]) -> dict[str, str]:
    """Modules are found as here; of the cores half are for threads of that process, unless it is told otherwise."""
    threads = max(1, (os.cpu_count() or 1) // 2)
    return {"OMP_NUM_THREADS": str(threads), **here, "PYTHONPATH": os.pathsep.join(part or "." for part in sys.path)}


def _flat(text: Corpus) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    lengths = [len(sentence) for sentence in text]
    words = np.array([int(word) for sentence in text for word in sentence], dtype=np.int32)
    return words, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _sentences(words_T: NDArray[np.int32], offsets_S1: NDArray[np.int64]) -> list[list[str]]:
    words, bounds = list(map(str, words_T.tolist())), offsets_S1.tolist()
    return [words[start:end] for start, end in pairwise(bounds)]


def _end_with_parent() -> None:
    # Not through sys.stdin, whose lock Python would want at its own end.
    while os.read(0, 1):
        pass
    os._exit(1)


def main(arguments: Sequence[str]) -> None:
    """What the process does: aligns what lies in a folder, and puts the links there."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    set_style(Style.SILENT)
    folder = Path(arguments[0])
    direction = Direction(**json.loads((folder / DIRECTION).read_text(encoding="utf-8")))
    with np.load(folder / GIVEN, allow_pickle=False) as held:
        source, target = _sentences(held["arr_0"], held["arr_1"]), _sentences(held["arr_2"], held["arr_3"])
    links = direction.links(source, target)
    aside = folder / f"aside.{FOUND}"
    np.savez(aside, links.source_L, links.target_L, links.offsets_S1)
    aside.rename(folder / FOUND)
    # Threads of libraries are not waited for.
    os._exit(0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        # The one that waits has been interrupted, too, and says so.
        os._exit(130)
