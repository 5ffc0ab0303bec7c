"""Mini-batch training with everything on one device, CPU or CUDA: candidates, weights, gradients."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from xlate.array_types import Ints
from xlate.candidates.store import CandidateStore
from xlate.errors import InputError
from xlate.losses.loss import Loss, slopes
from xlate.scoring.resident import Resident
from xlate.scoring.weights import Weights
from xlate.train.learner import check_fits
from xlate.train.state import PhaseSettings
from xlate.updates.rule import Arrays
from xlate.updates.tensors import TensorSteps


@dataclass
class DeviceLearner:
    """One step down the summed loss of every `batch` instances (the last of a part may be smaller).

    Every true candidate of an instance is one term of the loss, as in the compiled pass. The weights live on the
    device in float64 and come back after every part.

    Raises:
        InputError: the bound of Theorem A.1 is asked for, which is about steps an instance.
        ValueError: the store does not fit the weights.
    """

    settings: PhaseSettings
    store: CandidateStore
    weights: Weights
    memory: Arrays
    device: torch.device
    batch: int
    data: Resident = field(init=False)

    def __post_init__(self) -> None:
        """Checks what is asked for, copies the store, and makes room for what is to be remembered."""
        check_fits(self.settings, self.store, self.weights)
        if self.settings.check_bound:
            raise InputError(
                "the bound of Theorem A.1 is about a step an instance",
                seen=f"loss.check_bound=true, mini-batches of {self.batch}",
                expected="loss.batch=0 for the compiled pass",
            )
        self.loss: Loss = self.settings.loss_module()
        self.data = Resident.load(self.store.arrays.arrays(), self.device)
        for name, array in self.settings.rule.memory(len(self.weights.dense_D), len(self.weights.sparse_F)).items():
            self.memory.setdefault(name, array)

    def learn(self, part: Ints, scale: float) -> tuple[float, float]:
        """Steps over the instances in order; returns the summed loss before each step, and 0."""
        s = self.settings
        dense_D = torch.tensor(self.weights.dense_D, device=self.device)
        sparse_F = torch.tensor(self.weights.sparse_F, device=self.device)
        eta_D = torch.as_tensor(np.where(s.trained, s.eta * scale, 0.0), device=self.device)
        eta = s.eta_sparse * scale if s.train_sparse else 0.0
        steps = TensorSteps(s.rule, dense_D, sparse_F, self.memory)
        order = torch.as_tensor(part, device=self.device)
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for start in range(0, len(part), self.batch):
            chosen = self.data.gather(order[start : start + self.batch]).crossed(len(sparse_F))
            steps.begin(eta)
            scores_C = chosen.scores(dense_D, sparse_F if s.use_sparse else None)
            loss, slope_C = slopes(self.loss, chosen, scores_C, truth=True)
            total += loss
            steps.step(eta_D, eta, *chosen.gradient(slope_C))
        self.weights.dense_D[:] = dense_D.cpu().numpy()
        self.weights.sparse_F[:] = sparse_F.cpu().numpy()
        steps.store(self.memory)
        return float(total), 0.0

    def end_epoch(self, scale: float) -> Weights:
        """The weights as they are, or the average of all they have been since the phase began, the start included."""
        s = self.settings
        learned = s.rule.learned(self.weights.dense_D, self.weights.sparse_F, self.memory)
        eta = s.eta_sparse * scale if s.train_sparse else 0.0
        dense_D, sparse_F = s.rule.result(learned, np.where(s.trained, s.eta * scale, 0.0), eta)
        if dense_D is self.weights.dense_D:
            return self.weights
        return Weights(dense_D, sparse_F, self.weights.dense_names)
