"""A run: whatever is trained, by whatever method, has one identity, folder, stop flag, reporter and summary.

Its checkpoints hold named weights, named arrays and a dictionary in one file, which is replaced whole.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyArray
from xlate.errors import InputError
from xlate.machine import StopFlag, peak_megabytes
from xlate.report.run_directory import RunDirectory, flat
from xlate.report.tensorboard import TensorBoardReporter
from xlate.scoring.weights import WEIGHTS_FILE, Weights, WeightsFile, load_weights, save_weights

log = logging.getLogger(__name__)
Arrays = Mapping[str, AnyArray]
TRAINING, STATE = "training", "state"


@dataclass
class Checkpoint:
    """What a process that was stopped or killed goes on from.

    Attributes:
        path: of the file.
        identity: what the file must carry to be taken up.
        seconds: the least time between two writings, for those who ask whether one is `due`.
        refuses: a file of another training is an error; else it counts as none.
    """

    path: Path
    identity: str
    seconds: float = 20.0
    refuses: bool = True
    _saved: float = field(default_factory=time.monotonic, init=False)

    def load(self) -> WeightsFile | None:
        """What `save` wrote: weights in `sets`, arrays in `extra`, the dictionary is `metadata["state"]`; None if none.

        Raises:
            InputError: the file is damaged, or of another training and not to be passed over.
        """
        if not self.path.exists():
            return None
        file = load_weights(self.path)
        seen = file.metadata.get(TRAINING)
        if seen == self.identity:
            return replace(file, extra={name: array.copy() for name, array in file.extra.items()})
        if not self.refuses:
            return None
        raise InputError(
            "a checkpoint of another training",
            file=self.path,
            seen=seen,
            expected=self.identity,
            remedy="name another run directory, or remove the checkpoint",
        )

    @property
    def due(self) -> bool:
        """Whether enough time has passed since the last writing."""
        return time.monotonic() - self._saved >= self.seconds

    def save(self, state: Mapping[str, Any], arrays: Arrays, sets: Mapping[str, Weights] | None = None) -> None:
        """Writes the file; what was there before stays until the new one is whole."""
        extra = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_weights(self.path, sets or {}, extra=extra, metadata={TRAINING: self.identity, STATE: dict(state)})
        self._saved = time.monotonic()

    def remove(self) -> None:
        """When what was learned is written elsewhere."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Outcome:
    """How a training ended: the figures of a finished run, or the signal that stopped it."""

    summary: dict[str, Any] | None
    interrupted: int | None = None


@dataclass(frozen=True)
class Run:
    """What a method is given to train with.

    Attributes:
        directory: the folder of the run.
        reporter: takes figures for TensorBoard and `metrics.jsonl`.
        stop: becomes true when a signal asks the training to stop.
        checkpoint_seconds: the least time between two checkpoints.
    """

    directory: RunDirectory
    reporter: TensorBoardReporter
    stop: StopFlag
    checkpoint_seconds: float

    @property
    def path(self) -> Path:
        """The folder."""
        return self.directory.path

    @property
    def weights(self) -> Path:
        """The file that a method writes its weights into."""
        return self.path / WEIGHTS_FILE

    def checkpoint(self, identity: str, name: str = "latest.safetensors", *, refuses: bool = True) -> Checkpoint:
        """What a method keeps its state in, from which a run that was stopped goes on; see `Checkpoint`."""
        return Checkpoint(self.directory.checkpoint / name, identity, self.checkpoint_seconds, refuses)


def conduct(
    learn: Callable[[Run], dict[str, Any] | None],
    folder: Path,
    text: str,
    identity: Mapping[str, Any],
    shown: Mapping[str, Any] | None = None,
    checkpoint_seconds: float = 20.0,
    stop: StopFlag | None = None,
    taken: Callable[[RunDirectory], bool] = lambda _: False,
) -> Outcome:
    """Trains a run in its folder, goes on with one that was stopped, or returns a finished one's figures.

    Args:
        learn: trains, writes the weights and returns the figures of the summary; None when it was stopped. It goes on
            from its checkpoints and ends with the same bits, wherever it was stopped. Figures with `"finished": False`
            are those of a part of a run, which is not closed by them.
        folder: of the run: new, empty, or holding this run.
        text: the configuration, kept as `config.yaml`.
        identity: what makes it this run and no other.
        shown: the settings in TensorBoard's table of runs; the whole identity when they are not given.
        checkpoint_seconds: the least time between two checkpoints.
        stop: the flag of the training that this one is a part of.
        taken: finishes a run in another way, with what is there from elsewhere; false if nothing is.

    Raises:
        InputError: the folder holds something else, or whatever learning raises.
    """
    directory = RunDirectory.create(folder, text, identity)
    if directory.finished:
        log.info("%s is finished", folder)
        return Outcome(directory.summary)
    if taken(directory):
        return Outcome(directory.summary)
    start = time.perf_counter()
    with StopFlag() if stop is None else nullcontext(stop) as flag:
        reporter = TensorBoardReporter(directory)
        try:
            figures = learn(Run(directory, reporter, flag, checkpoint_seconds))
            if figures is None:
                return Outcome(None, flag.signal)
            cost = {"seconds": round(time.perf_counter() - start, 2), "peak_mb": round(peak_megabytes(), 1)}
            summary = {"finished": True, **figures, **cost}
            if summary["finished"]:
                # The figures of a summary that runs are compared by.
                numbers = {k: v for k, v in summary.items() if isinstance(v, int | float) and not isinstance(v, bool)}
                reporter.hparams(flat(identity) if shown is None else shown, numbers)
        finally:
            reporter.close()
    if summary["finished"]:
        directory.write_summary(summary)
    return Outcome(summary)
