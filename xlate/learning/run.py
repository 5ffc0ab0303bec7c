"""A run: every training, by any method, has one identity, folder, stop flag, reporter and summary.

Its checkpoints hold named weights, named arrays and a dictionary in one file, which is replaced atomically.
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
from xlate.errors import InputError, Interrupted
from xlate.learning.ranks import ONE, Ranks
from xlate.machine import StopFlag, Stopped, peak_megabytes
from xlate.report.run_directory import Reporter, RunDirectory, flat
from xlate.report.tensorboard import TensorBoardReporter
from xlate.scoring.weights import WEIGHTS_FILE, Weights, WeightsFile, load_weights, save_weights

log = logging.getLogger(__name__)
Arrays = Mapping[str, AnyArray]
TRAINING, STATE = "training", "state"


@dataclass
class Checkpoint:
    """The file from which a stopped or killed process resumes.

    Attributes:
        path: of the file.
        identity: what the file must carry to be used.
        seconds: the least time between two saves, for callers that check `due`.
        refuses: whether a file of another training is an error; otherwise it is ignored.
    """

    path: Path
    identity: str
    seconds: float = 20.0
    refuses: bool = True
    _saved: float = field(default_factory=time.monotonic, init=False)

    def load(self) -> WeightsFile | None:
        """What `save` wrote: weights in `sets`, arrays in `extra`, the dictionary in `metadata["state"]`; else None.

        Raises:
            InputError: the file is damaged, or belongs to another training and is not to be ignored.
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
            seen,
            self.identity,
            "name another run directory, or remove the checkpoint",
            file=self.path,
        )

    @property
    def due(self) -> bool:
        """Whether enough time has passed since the last save."""
        return time.monotonic() - self._saved >= self.seconds

    def save(self, state: Mapping[str, Any], arrays: Arrays, sets: Mapping[str, Weights] | None = None) -> None:
        """Writes the file; an older one stays until the new one is complete."""
        extra = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_weights(self.path, sets or {}, extra=extra, metadata={TRAINING: self.identity, STATE: dict(state)})
        self._saved = time.monotonic()

    def remove(self) -> None:
        """Removes the file, once the result is written elsewhere."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Run:
    """The means with which a method trains.

    Attributes:
        directory: the folder of the run.
        reporter: takes figures for TensorBoard and `metrics.jsonl`.
        stop: becomes true when a signal requests a stop.
        ranks: those that learn together.
        checkpoint_seconds: the least time between two checkpoints.
    """

    directory: RunDirectory
    reporter: Reporter
    stop: StopFlag
    ranks: Ranks = ONE
    checkpoint_seconds: float = 20.0

    @property
    def path(self) -> Path:
        """The folder."""
        return self.directory.path

    @property
    def weights(self) -> Path:
        """The file for the weights that a method learns."""
        return self.path / WEIGHTS_FILE

    def stops(self) -> bool:
        """Whether a signal has requested a stop of any rank; all ranks ask together."""
        return self.ranks.agree(self.stop)

    def checkpoint(self, identity: str, name: str = "latest.safetensors", *, refuses: bool = True) -> Checkpoint:
        """The file for a method's state, from which an interrupted run resumes; see `Checkpoint`."""
        return Checkpoint(self.directory.checkpoint / name, identity, self.checkpoint_seconds, refuses)


def conduct(
    learn: Callable[[Run], dict[str, Any]],
    folder: Path,
    text: str,
    identity: Mapping[str, Any],
    shown: Mapping[str, Any] | None = None,
    stop: StopFlag | None = None,
    taken: Callable[[RunDirectory], bool] = lambda _: False,
    ranks: Ranks = ONE,
) -> dict[str, Any]:
    """Trains a run in its folder, resumes an interrupted one, or returns a finished one's figures.

    Args:
        learn: trains, writes the weights and returns the figures of the summary, or raises `Stopped`. It resumes from
            its checkpoints and ends with the same bits, wherever it was stopped.
        folder: of the run: new, empty, or holding this run.
        text: the configuration, kept as `config.yaml`.
        identity: what distinguishes this run from others.
        shown: the settings in TensorBoard's table of runs; by default the whole identity.
        stop: the flag of the training that this one is a part of.
        taken: finishes a run in another way, with results from elsewhere; false if there are none.
        ranks: those that learn together, which are part of the identity; all but the first only learn, and get no
            figures.

    Raises:
        InputError: the folder holds something else; also whatever learning raises.
        Interrupted: a signal stopped the training; for a part of another one, `Stopped` instead.
    """
    identity = {**identity, **ranks.identity}
    with ranks.in_turn():
        directory = RunDirectory.create(folder, text, identity) if ranks.leads else RunDirectory.open(folder)
        finished = directory.finished
        if finished:
            log.info("%s is finished", folder)
        elif ranks.leads:
            finished = taken(directory)
    if finished:
        return directory.summary or {}
    start = time.perf_counter()
    with StopFlag() if stop is None else nullcontext(stop) as flag:
        reporter = TensorBoardReporter(directory.path)
        try:
            figures = learn(Run(directory, reporter if ranks.leads else Reporter(), flag, ranks))
            cost = {"seconds": round(time.perf_counter() - start, 2), "peak_mb": round(peak_megabytes(), 1)}
            summary = {"finished": True, **figures, **cost}
            # The figures of a summary that serve to compare runs.
            numbers = {k: v for k, v in summary.items() if isinstance(v, int | float) and not isinstance(v, bool)}
            reporter.hparams(flat(identity) if shown is None else {**shown, **ranks.identity}, numbers)
        except Stopped as error:
            if stop is not None:
                raise
            if not (ranks.leads or flag):
                return {}
            message = f"stopped by a signal; rerun the same command to resume from {folder}"
            raise Interrupted(message, 128 + (flag.signal or 0)) from error
        finally:
            reporter.close()
    directory.write_summary(summary)
    return summary
