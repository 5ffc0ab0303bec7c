"""Training of the global model: log-linear over whole block sequences (Tillmann & Zhang 2007, section 3.2, Eq. 4).

The paper leaves it to another study because Z(s) sums over all block sequences of a sentence. Here the sequences are
those of the translation graph, over which forward-backward sums exactly. Training starts from the local model's weights
and runs in rounds: decode every sentence under the current weights, then take steps along the gradient of -ln p of the
wanted derivations. Z lacks what the decoder pruned, so the weights must stay where the graphs represent the rest: keep
rounds short and steps small, or pull the weights towards where they began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyArray
from xlate.candidates.store import epoch_order
from xlate.errors import InputError
from xlate.learning.loop import Standing
from xlate.learning.run import Checkpoint
from xlate.learning.settings import GlobalLossConfig
from xlate.losses.lattice_softmax import LatticeSoftmax
from xlate.machine import Stop, Stopped, never, until_stopped
from xlate.progress import tell, track
from xlate.report.run_directory import Reporter
from xlate.scoring.linear import LinearScorer
from xlate.scoring.weights import Weights
from xlate.search.lattice import LatticeExample

NAME = "global"
# The weights a round began with, in a checkpoint.
BEGIN = "begin"
RULES: dict[str, type[torch.optim.Optimizer]] = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}
Decode = Callable[[Weights], Iterable[LatticeExample]]


@dataclass
class GlobalTraining:
    """Rounds of decoding and training.

    Attributes:
        decode: the training sentences as lattices under given weights, each with its wanted paths; a round's lattices
            are kept in memory.
        heldout: the same for other sentences, or None. A round then ends with the weights of the epoch with the lowest
            held-out loss. Epoch 0 counts too, so a round never makes the loss on its own lattices worse.
        settings: a step size of 0 keeps weights fixed; floats whose sign is projected are costs. `globally.pull` is λ
            of `λ/2 · |w - w0|²` in the objective of each sentence, over the features of its lattice; w0 are the weights
            at the start.
        checkpoint: where every epoch is saved; an interrupted training resumes from it, with bit-identical results.
    """

    decode: Decode
    heldout: Decode | None
    settings: GlobalLossConfig
    reporter: Reporter = field(default_factory=Reporter)
    checkpoint: Checkpoint | None = None

    def run(self, initial: Weights, stop: Stop = never) -> tuple[Weights, list[dict[str, Any]]]:
        """Trains from the given weights, or resumes after the last epoch of an interrupted training.

        Returns:
            The weights and the history, one entry per epoch: its round and number, the mean `loss` of its steps (nats
            per sentence) and the `valid_loss` of the held-out lattices after it (nan without any). Epoch 0 is before
            the first step of a round and has only the latter.

        Raises:
            InputError: weights became infinite, or the checkpoint is damaged or belongs to another training.
            Stopped: `stop` ended the training early.
        """
        model = _Model(initial, self.settings)
        held = None if self.checkpoint is None else Standing.load(self.checkpoint)
        if held is None:
            held = Standing({BEGIN: model.weights()}, {BEGIN: model.weights()})
        else:
            model.restore(held.memory)
        settings = self.settings.globally
        for number in range(held.state.phase, settings.rounds):
            # The lattices of a round are those of its first weights.
            begin = held.weights[BEGIN]
            examples, heldout = (
                [] if decode is None else [*until_stopped(decode(begin), stop)]
                for decode in (self.decode, self.heldout)
            )
            if held.state.epoch == 0:
                _end_epoch(model, held, float("nan"), heldout)
            for epoch in track(range(held.state.epoch, settings.epochs + 1), f"{NAME} round {number + 1}"):
                order = epoch_order(len(examples), settings.seed, epoch, name=f"{NAME}.{number}")
                loss = sum(model.step(examples[i]) for i in order.tolist()) / max(1, len(examples))
                _end_epoch(model, held, loss, heldout)
                self._report(held.state.history[-1], model.weights())
                tell(loss=loss)
                self._save(held)
                if stop():
                    raise Stopped
            model.load(held.best[BEGIN])
            held.weights = held.best = {BEGIN: model.weights()}
            held.state, held.memory = held.state.next_phase(), model.arrays()
            self._save(held)
        return model.weights(), held.state.history

    def _save(self, held: Standing) -> None:
        if self.checkpoint is not None:
            held.save(self.checkpoint)

    def _report(self, entry: Mapping[str, Any], weights: Weights) -> None:
        if not (weights.finite and np.isfinite(entry["loss"])):
            raise InputError(
                "weights of the global model are no longer finite",
                f"loss {entry['loss']} with eta {self.settings.eta:g} and {self.settings.binary.eta:g}",
                "finite weights",
                "lower eta and eta_sparse, or raise pull",
            )
        figures = {
            "train/loss": entry["loss"],
            "valid/loss": entry["valid_loss"],
            "train/weight_norm_floats": float(np.linalg.norm(weights.dense_D)),
            "train/active_features": weights.active,
        }
        step = entry["round"] * self.settings.globally.epochs + entry["epoch"]
        self.reporter.scalars(f"*/{NAME}", figures, step)


def _end_epoch(model: _Model, held: Standing, loss: float, heldout: Sequence[LatticeExample]) -> None:
    """Counts an epoch and keeps the best weights; epoch 0 is before the first step."""
    state, error = held.state, model.mean_loss(heldout)
    entry = {"phase": NAME, "round": state.phase, "epoch": state.epoch, "loss": loss, "valid_loss": error}
    state.end_epoch(error, entry)
    if not state.stale:
        held.best = {BEGIN: model.weights()}
    held.memory = model.arrays()


class _Model:
    """The scorer, its loss, and the rule that changes its weights."""

    def __init__(self, initial: Weights, settings: GlobalLossConfig) -> None:
        self.names = initial.dense_names
        self.settings = settings
        self.sparse = len(initial.sparse_F)
        self.scorer = LinearScorer(len(initial.dense_D), self.sparse, sparse_gradient=True)
        self.load(initial)
        self.start_D, self.start_F1 = self.scorer.dense.detach().clone(), self.scorer.bag.weight.detach().clone()
        self.loss = LatticeSoftmax()
        groups = [
            {"params": [self.scorer.dense], "lr": settings.eta},
            {"params": [self.scorer.bag.weight], "lr": settings.binary.eta},
        ]
        self.rule = RULES[settings.globally.rule](groups)  # type: ignore[call-arg]

    def load(self, weights: Weights) -> None:
        with torch.no_grad():
            self.scorer.dense.copy_(torch.as_tensor(weights.dense_D))
            self.scorer.bag.weight[: self.sparse, 0] = torch.as_tensor(weights.sparse_F)

    def weights(self) -> Weights:
        dense_D = self.scorer.dense.detach().numpy().copy()
        return Weights(dense_D, self.scorer.bag.weight.detach().numpy()[: self.sparse, 0].copy(), self.names)

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters, `0`, `1`, … in the order of the rule's groups, and the rule's memory, such as `0.sum`."""
        for number, parameter in enumerate((self.scorer.dense, self.scorer.bag.weight)):
            yield str(number), parameter
            for name, value in self.rule.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    yield f"{number}.{name}", value

    def arrays(self) -> dict[str, AnyArray]:
        """Copies of the parameters and of the rule's memory."""
        return {name: tensor.detach().numpy().copy() for name, tensor in self._tensors()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Restores what `arrays` returned."""
        with torch.no_grad():
            for name, tensor in self._tensors():
                # A file turns a single number into a row.
                tensor.copy_(torch.as_tensor(arrays[name]).reshape(tensor.shape))

    def step(self, example: LatticeExample) -> float:
        """One step; returns the loss before it, without the pull."""
        self.rule.zero_grad()
        loss = self._loss(example)
        total, pull = loss, self.settings.globally.pull
        if pull != 0.0:
            ids = torch.as_tensor(np.unique(example.arcs.part_ids_N)).to(torch.int64)
            moved_K1 = torch.nn.functional.embedding(ids, self.scorer.bag.weight, sparse=True) - self.start_F1[ids]
            away = (self.scorer.dense - self.start_D).square().sum() + moved_K1.square().sum()
            total = loss + 0.5 * pull * away
        total.backward()  # type: ignore[no-untyped-call]
        # Adagrad builds sparse tensors, and PyTorch warns about these unless checks are set explicitly.
        with torch.sparse.check_sparse_tensor_invariants(True):  # type: ignore[no-untyped-call]
            self.rule.step()
        if self.settings.project_sign:
            with torch.no_grad():
                self.scorer.dense.clamp_(max=0.0)
        return float(loss.detach())

    def mean_loss(self, examples: Sequence[LatticeExample]) -> float:
        """The mean loss of examples, nan if there are none."""
        with torch.no_grad():
            losses = [float(self._loss(example)) for example in examples]
        return float(np.mean(losses)) if losses else float("nan")

    def _loss(self, example: LatticeExample) -> Tensor:
        loss: Tensor = self.loss(self.scorer(example.arcs), example.graph, example.target)
        return loss
