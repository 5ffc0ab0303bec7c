"""Training of networks on the text of a work directory: epochs, checkpoints, and the best weights on held-out pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xlate.array_types import Bools
from xlate.config.schema import TrainConfig
from xlate.errors import refuse_if
from xlate.jobs.train.recipe import WorkRecipe, measured_splits, refuse_base
from xlate.learning.loop import Standing, TrainState
from xlate.learning.run import Run
from xlate.learning.settings import LossConfig
from xlate.machine import Stopped
from xlate.models.kind import kind_of, made_of
from xlate.progress import tell, track
from xlate.scoring.weights import WEIGHTS_FILE, save_weights
from xlate.settings import Json
from xlate.work.directory import WorkDirectory

# One of this many sentence pairs is held out, or fewer, so that no more than MOST are.
HELD_OUT, MOST = 50, 1000


class NetworkTraining(WorkRecipe):
    """Epochs over the training text with a network; the weights are those of the lowest held-out perplexity."""

    on_device = "mini-batches run"
    # The losses that train it.
    loss: type[LossConfig]

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        refuse_base(config, "no base")
        wrong = not isinstance(config.loss, cls.loss)
        what = f"this loss does not train model={config.model.name}"
        refuse_if(wrong, what, f"loss={config.loss.name}", f"loss={cls.loss.name}")

    @abstractmethod
    def learning(self) -> NetworkLearning:
        """What takes the steps."""

    def learn(self, run: Run) -> Json:
        """Trains all epochs, from where a checkpoint says, and writes the weights of the best one.

        Raises:
            InputError: too few sentence pairs, or the loss became infinite.
            Stopped: a signal asked for it; what was learned is saved.
        """
        config, learning, best_so_far = self.config, self.learning(), run.directory.checkpoint / WEIGHTS_FILE
        checkpoint = run.checkpoint(self.work.identity)
        state = TrainState()
        if (held := Standing.load(checkpoint)) is not None:
            state = held.state
            learning.resume(held.memory)
        for epoch in track(range(state.epoch, config.loss.epochs), "epochs"):
            batches = learning.batches(epoch)
            for step in track(range(state.position, len(batches)), "steps"):
                value = learning.step(batches[step], epoch, step)
                remedy = f"a smaller step size than loss.rate={config.loss.rate}"
                refuse_if(not np.isfinite(value), "the loss is not a finite number", value, "a number", remedy)
                state.epoch_loss, state.position = state.epoch_loss + value, step + 1
                tell(loss=state.epoch_loss / state.position)
                if run.stop or checkpoint.due:
                    Standing({}, state=state, memory=learning.arrays).save(checkpoint)
                if run.stop:
                    raise Stopped
            figures = {"loss": state.epoch_loss / len(batches), **learning.measures()}
            # What is no number is no improvement.
            state.end_epoch(float(np.nan_to_num(figures["perplexity"], nan=np.inf)), figures)
            if not state.stale:
                save_weights(best_so_far, {}, extra=learning.learned, metadata=made_of(config, self.work))
            run.reporter.scalars(f"{config.model.kind}/*", figures, (epoch + 1) * learning.size)
            Standing({}, state=state, memory=learning.arrays).save(checkpoint)
        # An unfinished run has no weights, so nothing can use it; a rerun may find them in place already.
        if best_so_far.exists():
            best_so_far.replace(run.weights)
        best = min(state.history, key=lambda figures: figures["perplexity"])
        measured = measured_splits(config, self.work, run, 0) if kind_of(config.model).lists(config.model) else {}
        return {"work": config.work, **best, "history": state.history, **measured}


class NetworkLearning(ABC):
    """Takes the steps of a training; each depends only on the weights, its batch, and the numbers of epoch and step.

    Attributes:
        network: what is trained.
        optimizer: its parameters have their states from the beginning.
        size: how many examples an epoch has.
        words: what else the weights file says about words, by name.
    """

    network: nn.Module
    optimizer: torch.optim.Optimizer
    size: int
    words: Mapping[str, bytes]

    @abstractmethod
    def batches(self, epoch: int) -> Sequence[Any]:
        """The batches of an epoch."""

    @abstractmethod
    def step(self, batch: Any, epoch: int, step: int) -> float:
        """Learns from a batch, and returns its loss."""

    @abstractmethod
    def measures(self) -> dict[str, float]:
        """Figures of what is held out, `perplexity` among them."""

    @property
    def _tensors(self) -> dict[str, Tensor]:
        """The parameters, and what the optimiser remembers of each."""
        held = dict(self.network.named_parameters())
        states = {name: self.optimizer.state[one] for name, one in held.items()}
        return {**held, **{f"{key}.{name}": value for name, state in states.items() for key, value in state.items()}}

    @property
    def arrays(self) -> dict[str, Any]:
        """What a training needs to continue."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in self._tensors.items()}

    @torch.no_grad()
    def resume(self, arrays: dict[str, Any]) -> None:
        """Continues from what `arrays` were."""
        for name, tensor in self._tensors.items():
            tensor.copy_(torch.from_numpy(arrays[name]).view_as(tensor))

    @property
    def learned(self) -> dict[str, Any]:
        """The arrays of the weights file."""
        words = {name: np.frombuffer(held, np.uint8) for name, held in self.words.items()}
        return {**{name: tensor.cpu().numpy() for name, tensor in self.network.state_dict().items()}, **words}


def held_out_pairs(work: WorkDirectory) -> Bools:
    """Which pairs of the training text are held out; all copies of a pair are, or none.

    Raises:
        InputError: too few pairs to hold some out.
    """
    every = max(HELD_OUT, len(work.copies) // MOST)
    held_S: Bools = work.copies % every == every - 1
    refuse_if(
        not held_S.any(),
        "too few sentence pairs to hold some out",
        f"{len(held_S)} pairs",
        f"more than {HELD_OUT}, of which one in {HELD_OUT} is held out",
    )
    return held_S
