"""A run: whatever is trained, by whatever method, has one identity, folder, stop flag, reporter and summary."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from xlate.machine import peak_megabytes
from xlate.report.run_directory import RunDirectory, flat
from xlate.report.tensorboard import TensorBoardReporter
from xlate.scoring.weights import WEIGHTS_FILE
from xlate.train.checkpoint import Checkpoint
from xlate.train.signals import StopFlag

log = logging.getLogger(__name__)


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


class Method(Protocol):
    """One way to train.

    Making one must check whatever does not need a folder, and write nothing.
    """

    def made_from(self) -> Mapping[str, Any]:
        """What makes the run beside its settings, such as checksums of its data; JSON values.

        Raises:
            InputError: something that the training needs is not there.
        """

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains, writes the weights and returns the figures of the summary; None when it was stopped.

        A method goes on from its checkpoints and ends with the same bits, wherever it was stopped. Figures with
        `"finished": False` are those of a part of a run, which is not closed by them.
        """


@dataclass(frozen=True)
class RunSettings:
    """What a run is asked to be.

    Attributes:
        text: the configuration, kept as `config.yaml`.
        identity: what makes it this run and no other, with what the method says it is made from.
        shown: the settings in TensorBoard's table of runs; the whole identity when they are not given.
        checkpoint_seconds: the least time between two checkpoints.
    """

    text: str
    identity: Mapping[str, Any]
    shown: Mapping[str, Any] | None = None
    checkpoint_seconds: float = 20.0


def conduct(
    method: Method,
    folder: Path,
    settings: RunSettings,
    stop: StopFlag | None = None,
    taken: Callable[[RunDirectory], bool] = lambda _: False,
) -> Outcome:
    """Trains a run in its folder by a method, goes on with one that was stopped, or returns a finished one's figures.

    Args:
        method: how it is trained.
        folder: of the run: new, empty, or holding this run.
        settings: see `RunSettings`.
        stop: the flag of the training that this one is a part of.
        taken: finishes a run in another way, with what is there from elsewhere; false if nothing is.

    Raises:
        InputError: the folder holds something else, or whatever the method raises.
    """
    identity = {**settings.identity, **method.made_from()}
    directory = RunDirectory.create(folder, settings.text, identity)
    if directory.finished:
        log.info("%s is finished", folder)
        return Outcome(directory.summary)
    if taken(directory):
        return Outcome(directory.summary)
    start = time.perf_counter()
    with StopFlag() if stop is None else nullcontext(stop) as flag:
        reporter = TensorBoardReporter(directory)
        try:
            figures = method.learn(Run(directory, reporter, flag, settings.checkpoint_seconds))
            if figures is None:
                return Outcome(None, flag.signal)
            cost = {"seconds": round(time.perf_counter() - start, 2), "peak_mb": round(peak_megabytes(), 1)}
            summary = {"finished": True, **figures, **cost}
            if summary["finished"]:
                shown = flat(identity) if settings.shown is None else settings.shown
                # The figures of a summary that runs are compared by.
                numbers = {k: v for k, v in summary.items() if isinstance(v, int | float) and not isinstance(v, bool)}
                reporter.hparams(shown, numbers)
        finally:
            reporter.close()
    if summary["finished"]:
        directory.write_summary(summary)
    return Outcome(summary)
