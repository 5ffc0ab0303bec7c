"""Training of the global model: log-linear over whole block sequences (Tillmann & Zhang 2007, section 3.2, Eq. 4).

The paper leaves it to another study because Z(s) sums over all block sequences of a sentence. Here the sequences are
those of the translation graph, over which forward-backward sums exactly. Training begins with the local model's weights
and goes in rounds: decode every sentence under the current weights, then take steps along the gradient of -ln p of the
wanted derivations. What the decoder pruned is not in Z, so weights must stay where its graphs stand for the rest: keep
rounds short and steps small, or pull the weights towards where they began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from xlate.candidates.lattice import LatticeExample
from xlate.candidates.store import epoch_order
from xlate.errors import InputError
from xlate.losses.lattice_softmax import LatticeSoftmax
from xlate.progress import tell, track
from xlate.scoring.linear import LinearScorer
from xlate.scoring.weights import Weights
from xlate.train import tags
from xlate.train.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from xlate.train.reporter import NullReporter, Reporter
from xlate.train.rule_state import restore_rule, rule_arrays
from xlate.train.state import TrainState

NAME = "global"
# The weights a round began with, in a checkpoint.
BEGIN = "begin"
RULES: dict[str, type[torch.optim.Optimizer]] = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}
Decode = Callable[[Weights], Iterable[LatticeExample]]


@dataclass(frozen=True)
class GlobalSettings:
    """How the global model is trained.

    Attributes:
        rounds: how often the sentences are decoded.
        epochs: how often the lattices of a round are gone through, one sentence a step.
        rule: `sgd` or `adagrad`.
        eta, eta_sparse: step sizes of the float and of the sparse weights; 0 keeps them.
        pull: λ of `λ/2 · |w - w0|²` in the objective of each sentence, over the features of its lattice; w0 are the
            weights at the start.
        project: floats are costs, so keep their weights at or below 0.
        seed: of the random order.

    Raises:
        InputError: a value outside its range.
    """

    rounds: int = 3
    epochs: int = 3
    rule: str = "adagrad"
    eta: float = 0.01
    eta_sparse: float = 0.1
    pull: float = 0.0
    project: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        """Checks every value."""
        if self.rule not in RULES:
            raise InputError("unknown update rule", seen=self.rule, expected="one of " + ", ".join(RULES))
        for name in ("rounds", "epochs", "eta", "eta_sparse", "pull"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"setting {name} of the global model", seen=getattr(self, name), expected="0 or more")


@dataclass(frozen=True)
class EpochFigures:
    """Mean losses (nats a sentence): of the steps of an epoch, and of the held-out lattices behind it (nan without).

    Epoch 0 is before the first step of a round, when only the held-out loss is there.
    """

    round: int
    epoch: int
    loss: float
    heldout: float


@dataclass
class GlobalTraining:
    """Rounds of decoding and training.

    Attributes:
        decode: the training sentences as lattices under given weights, each with its wanted paths; a round's lattices
            are held in memory.
        heldout: the same for other sentences, or None. A round then ends with the weights of the epoch whose held-out
            loss is lowest, epoch 0 among them: on the lattices it began with it never becomes worse.
        checkpoint: a file where every epoch is kept, from which a training that ended early goes on to the same bits.
        identity: what the checkpoint must carry to be taken up.
    """

    decode: Decode
    heldout: Decode | None
    settings: GlobalSettings = field(default_factory=GlobalSettings)
    reporter: Reporter = field(default_factory=NullReporter)
    checkpoint: Path | None = None
    identity: str = ""

    def run(
        self, initial: Weights, stop: Callable[[], bool] = lambda: False
    ) -> tuple[Weights, list[EpochFigures]] | None:
        """Trains from the given weights, or goes on behind the last epoch of a training that ended early.

        Returns:
            None when `stop` said so before the end.

        Raises:
            InputError: weights became infinite, or the checkpoint is damaged or of another training.
        """
        model = _Model(initial, self.settings)
        held = None if self.checkpoint is None else load_checkpoint(self.checkpoint, self.identity)
        if held is None:
            held = Checkpoint({BEGIN: model.weights()}, {BEGIN: model.weights()}, TrainState())
        else:
            restore_rule(model.rule, held.memory)
        while held.state.phase < self.settings.rounds:
            if stop() or (after := self._round(model, held, stop)) is None:
                return None
            held = after
            self._save(held)
        return model.weights(), [EpochFigures(**entry) for entry in held.state.history]

    def _round(self, model: _Model, held: Checkpoint, stop: Callable[[], bool]) -> Checkpoint | None:
        """A round from where it stands to its end, None when stopped. Its lattices are those of its first weights."""
        number, begin = held.state.phase, held.weights[BEGIN]
        examples, heldout = self._decoded(self.decode, begin, stop), self._decoded(self.heldout, begin, stop)
        if stop():
            return None
        if held.state.epoch == 0:
            held = self._after(model, held, EpochFigures(number, 0, float("nan"), model.mean_loss(heldout)))
        for epoch in track(range(held.state.epoch, self.settings.epochs + 1), f"{NAME} round {number + 1}"):
            order = epoch_order(len(examples), self.settings.seed, epoch, name=f"{NAME}.{number}")
            total = sum(model.step(examples[i]) for i in order.tolist())
            loss = total / max(1, len(examples))
            held = self._after(model, held, EpochFigures(number, epoch, loss, model.mean_loss(heldout)))
            self._report(EpochFigures(**held.state.history[-1]), model)
            tell(loss=loss)
            self._save(held)
            if stop():
                return None
        model.load(held.best[BEGIN])
        end = {BEGIN: model.weights()}
        return Checkpoint(end, end, held.state.next_phase(), rule_arrays(model.rule))

    def _save(self, held: Checkpoint) -> None:
        if self.checkpoint is not None:
            save_checkpoint(self.checkpoint, held, self.identity)

    @staticmethod
    def _decoded(decode: Decode | None, weights: Weights, stop: Callable[[], bool]) -> list[LatticeExample]:
        found: list[LatticeExample] = []
        for example in decode(weights) if decode is not None else ():
            if stop():
                break
            found.append(example)
        return found

    @staticmethod
    def _after(model: _Model, held: Checkpoint, figures: EpochFigures) -> Checkpoint:
        """The state behind an epoch; epoch 0 is before the first step."""
        state = held.state
        # Without held-out lattices the loss is nan, and every epoch is better.
        better = state.best_error is None or not figures.heldout >= state.best_error
        state = replace(
            state,
            epoch=figures.epoch + 1,
            best_error=figures.heldout if better else state.best_error,
            history=[*state.history, asdict(figures)],
        )
        best = {BEGIN: model.weights()} if better else held.best
        return replace(held, best=best, state=state, memory=rule_arrays(model.rule))

    def _report(self, figures: EpochFigures, model: _Model) -> None:
        step = figures.round * self.settings.epochs + figures.epoch
        weights = model.weights()
        if not (weights.finite and np.isfinite(figures.loss)):
            raise InputError(
                "weights of the global model are no longer finite",
                seen=f"loss {figures.loss} with eta {self.settings.eta:g} and {self.settings.eta_sparse:g}",
                expected="finite weights",
                remedy="lower eta and eta_sparse, or raise pull",
            )
        self.reporter.scalar(f"{tags.LOSS}/{NAME}", figures.loss, step)
        self.reporter.scalar(f"{tags.VALID_LOSS}/{NAME}", figures.heldout, step)
        self.reporter.scalar(f"{tags.DENSE_NORM}/{NAME}", float(np.linalg.norm(weights.dense_D)), step)
        self.reporter.scalar(f"{tags.ACTIVE}/{NAME}", weights.active, step)


class _Model:
    """The scorer, its loss, and the rule that changes its weights."""

    def __init__(self, initial: Weights, settings: GlobalSettings) -> None:
        self.names = initial.dense_names
        self.settings = settings
        self.sparse = len(initial.sparse_F)
        self.scorer = LinearScorer(len(initial.dense_D), self.sparse, sparse_gradient=True)
        self.load(initial)
        self.start_D, self.start_F1 = self.scorer.dense.detach().clone(), self.scorer.bag.weight.detach().clone()
        self.loss = LatticeSoftmax()
        groups = [
            {"params": [self.scorer.dense], "lr": settings.eta},
            {"params": [self.scorer.bag.weight], "lr": settings.eta_sparse},
        ]
        self.rule = RULES[settings.rule](groups)  # type: ignore[call-arg]

    def load(self, weights: Weights) -> None:
        with torch.no_grad():
            self.scorer.dense.copy_(torch.as_tensor(weights.dense_D))
            self.scorer.bag.weight[: self.sparse, 0] = torch.as_tensor(weights.sparse_F)

    def weights(self) -> Weights:
        dense_D = self.scorer.dense.detach().numpy().copy()
        return Weights(dense_D, self.scorer.bag.weight.detach().numpy()[: self.sparse, 0].copy(), self.names)

    def step(self, example: LatticeExample) -> float:
        """One step; returns the loss before it, without the pull."""
        self.rule.zero_grad()
        loss = self._loss(example)
        (loss + self._pull(example)).backward()  # type: ignore[no-untyped-call]
        # Adagrad builds sparse tensors, of which PyTorch warns unless told whether to check them.
        with torch.sparse.check_sparse_tensor_invariants(True):  # type: ignore[no-untyped-call]
            self.rule.step()
        if self.settings.project:
            with torch.no_grad():
                self.scorer.dense.clamp_(max=0.0)
        return float(loss.detach())

    def mean_loss(self, examples: Sequence[LatticeExample]) -> float:
        """The mean loss of examples, nan of none."""
        with torch.no_grad():
            losses = [float(self._loss(example)) for example in examples]
        return float(np.mean(losses)) if losses else float("nan")

    def _loss(self, example: LatticeExample) -> Tensor:
        loss: Tensor = self.loss(self.scorer(example.arcs), example.graph, example.target)
        return loss

    def _pull(self, example: LatticeExample) -> Tensor:
        if self.settings.pull == 0.0:
            return self.scorer.dense.new_zeros(())
        ids = torch.as_tensor(np.unique(example.arcs.part_ids_N)).to(torch.int64)
        moved_K1 = torch.nn.functional.embedding(ids, self.scorer.bag.weight, sparse=True) - self.start_F1[ids]
        away = (self.scorer.dense - self.start_D).square().sum() + moved_K1.square().sum()
        return 0.5 * self.settings.pull * away
