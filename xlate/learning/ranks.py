"""Learning over ranks: the processes of one training that torchrun starts, each with its own share of the instances.

In an epoch each rank passes over its share, beginning with the same weights as all others; then all take the mean of
their weights (iterative parameter mixing; McDonald, Hall & Mann 2010, section 4.2).
"""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed
from torch.distributed.rendezvous import rendezvous

from xlate.array_types import AnyArray, Floats, Ints
from xlate.arrays.ranges import pieces
from xlate.errors import Interrupted, refuse_if
from xlate.machine import StopFlag, Stopped

# Ranks wait for one that decodes, for instance. A rank that ends is noticed at once.
PATIENCE = timedelta(days=30)
# Numbers exchanged at a time: every rank holds this many of each rank.
PART = 1 << 20


@dataclass(frozen=True)
class Ranks:
    """The ranks of a training; a training that torchrun did not start has one.

    All ranks call the methods in the same order. If another rank has ended, those that communicate raise `Interrupted`.

    Attributes:
        rank: the number of this process; the first one, 0, writes the run.
        size: how many there are.
        device: where numbers are exchanged: `cpu` (by gloo) or `cuda` (by nccl).
    """

    rank: int = 0
    size: int = 1
    device: str = "cpu"

    @classmethod
    def started(cls, device: torch.device) -> Ranks:
        """The ranks that torchrun started, connected; each has its own GPU if they learn on GPUs.

        Raises:
            InputError: there are too few GPUs.
        """
        if not distributed.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
            return ONE
        if not distributed.is_initialized():
            if device.type == "cuda":
                here, gpus = int(os.environ["LOCAL_WORLD_SIZE"]), torch.cuda.device_count()
                refuse_if(here > gpus, "more ranks than GPUs", f"{here} ranks", f"at most {gpus}", "device=cpu")
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
            # The store outlives the ranks: those that torchrun starts again must not read the addresses of dead ones.
            store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
            attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
            own = distributed.PrefixStore(attempt, store)  # type: ignore[attr-defined]
            backend = "nccl" if device.type == "cuda" else "gloo"
            distributed.init_process_group(backend, store=own, rank=rank, world_size=size, timeout=PATIENCE)
            atexit.register(distributed.destroy_process_group)
        return cls(distributed.get_rank(), distributed.get_world_size(), device.type)

    @property
    def leads(self) -> bool:
        """Whether this is the first rank."""
        return self.rank == 0

    @property
    def identity(self) -> dict[str, Any]:
        """What several ranks add to the identity of a training."""
        return {"ranks": self.size} if self.size > 1 else {}

    def share(self, rows_I: Ints, run: int = 1) -> Ints:
        """This rank's part of some instances, in which runs of this many stay together; parts may differ in length."""
        runs = -(-len(rows_I) // run)
        first, last = (runs * rank // self.size * run for rank in (self.rank, self.rank + 1))
        return rows_I[first:last]

    def total(self, numbers_N: Floats) -> Floats:
        """The sum over the ranks, added in their order, so that it is the same in every run and on every rank."""
        if self.size == 1:
            return numbers_N
        total_N = np.empty_like(numbers_N)
        for at in pieces(len(numbers_N), PART):
            part = torch.tensor(numbers_N[at], device=self.device)
            total_N[at] = functools.reduce(torch.add, self._gathered(part)).cpu().numpy()
        return total_N

    def mean(self, numbers_N: AnyArray, weight: float) -> AnyArray:
        """The mean over the ranks, in which this one has a weight."""
        if self.size == 1:
            return numbers_N
        share = weight / self.total(np.array([float(weight)]))[0]
        return self.total(numbers_N.astype(np.float64) * share)

    def mix(self, learned: Mapping[str, AnyArray], instances: int) -> None:
        """Puts the mean over the ranks, weighted by their numbers of instances, into the settled arrays of `Learned`.

        AdaGrad's sums of squares are averaged as the weights are: a weight moves by the mean of the ranks' steps, so
        its sum grows by the mean of their squares, and all ranks begin the next epoch with one state, which one
        checkpoint holds. Sums for averages are averaged as if every rank had taken as many steps as that with the most.
        """
        if self.size == 1:
            return
        steps = float(learned["clock_1"][0])
        most = self._each(steps).max()
        for name, array in learned.items():
            if name in ("clock_1", "touched_F"):
                array[:] = most
            elif "sum" in name:
                array[:] = self.mean(array * (most / max(1.0, steps)), instances)
            else:
                array[:] = self.mean(array, instances)

    def agree(self, stop: StopFlag) -> bool:
        """Whether a signal has asked any of the ranks to stop; then all of them stop."""
        if self.size > 1:
            stop.signal = int(self._each(float(stop.signal or 0)).max()) or None
        return bool(stop)

    def wait(self) -> None:
        """Waits until all ranks are here."""
        self._each(0.0)

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """A block that the others begin when the first rank has finished it: they find what it has made."""
        if not self.leads:
            self.wait()
        yield
        if self.leads:
            self.wait()

    def leave(self) -> None:
        """Ends the work of all ranks but the first, which does the rest.

        Raises:
            Stopped: this is another one.
        """
        if not self.leads:
            raise Stopped

    def _gathered(self, numbers: Tensor) -> list[Tensor]:
        """The numbers of every rank, in their order."""
        held = [torch.empty_like(numbers) for _ in range(self.size)]
        try:
            distributed.all_gather(held, numbers)
        except RuntimeError as error:
            told = "another rank ended; torchrun --max-restarts=N starts all again"
            raise Interrupted(f"{told}, and they resume from the last checkpoint", 1) from error
        return held

    def _each(self, number: float) -> Floats:
        """A number of every rank, (ranks,)."""
        return self.total(np.where(np.arange(self.size) == self.rank, number, 0.0))


ONE = Ranks()
