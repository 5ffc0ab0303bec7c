"""The steps of an `UpdateRule` on tensors of any device; each step changes every weight, as the rule is written.

This is the reference of the compiled form, whose steps touch only some weights and are faster on a processor.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyArray
from xlate.updates.rule import Arrays, UpdateRule

EPSILON = 1e-8
# What is remembered, by its names in `UpdateRule.memory`.
KEPT = ("dense_squares_D", "sparse_squares_F", "dense_sum_D", "sparse_sum_F")


class TensorSteps:
    """Weights on a device, and what steps remember.

    Args:
        rule: how steps are made.
        dense_D, sparse_F: the weights, changed in place.
        memory: what earlier steps remembered, or `UpdateRule.memory`; `store` writes back into it.
    """

    def __init__(self, rule: UpdateRule, dense_D: Tensor, sparse_F: Tensor, memory: Arrays) -> None:
        self.rule = rule
        self.dense_D, self.sparse_F = dense_D, sparse_F
        self._kept = {
            name: torch.as_tensor(memory[name].copy(), device=dense_D.device) for name in KEPT if name in memory
        }
        self.clock = int(memory["clock_1"][0]) if "clock_1" in memory else 0

    def begin(self, eta: float) -> None:
        """Does what comes before a step: adds to the sums for averages and applies penalties on every sparse weight."""
        rule = self.rule
        self.clock += 1
        if "dense_sum_D" in self._kept:
            self._kept["dense_sum_D"] += self.dense_D
            self._kept["sparse_sum_F"] += self.sparse_F
        if not rule.every or not (rule.l1 or rule.l2):
            return
        rate = self._rate(eta, self._kept.get("sparse_squares_F"))
        size_F = (self.sparse_F.abs() - rate * rule.l1).clamp(min=0.0)
        self.sparse_F.copy_(self.sparse_F.sign() * size_F * (1.0 - rate * rule.l2))

    def step(self, eta_D: Tensor, eta: float, uphill_D: Tensor, ids_U: Tensor, uphill_U: Tensor) -> None:
        """Moves all dense weights and U distinct sparse weights by their gradients."""
        rule, squares, squares_D = self.rule, self._kept.get("sparse_squares_F"), self._kept.get("dense_squares_D")
        if squares_D is not None:
            squares_D += torch.where(eta_D != 0, uphill_D**2, torch.zeros_like(uphill_D))
        rate_D = self._rate(eta_D, squares_D)
        moved_D = self.dense_D + rate_D * uphill_D
        if rule.project:
            moved_D = torch.where(eta_D != 0, moved_D.clamp(max=0.0), moved_D)
        self.dense_D.copy_(moved_D)
        # Penalties of a step concern the weights that it moves.
        moved_U = uphill_U != 0
        ids_U, uphill_U = ids_U[moved_U], uphill_U[moved_U]
        if eta == 0.0 or not len(ids_U):
            return
        weight_U = self.sparse_F[ids_U]
        if not rule.every:
            uphill_U = uphill_U - rule.l2 * weight_U
        if squares is not None:
            squares.index_copy_(0, ids_U, squares[ids_U] + (uphill_U**2).to(squares.dtype))
        rate = self._rate(eta, None if squares is None else squares[ids_U])
        weight_U = weight_U + rate * uphill_U
        if rule.l1 and not rule.every:
            weight_U = weight_U.sign() * (weight_U.abs() - rate * rule.l1).clamp(min=0.0)
        self.sparse_F.index_copy_(0, ids_U, weight_U.to(self.sparse_F.dtype))

    def store(self, memory: Arrays) -> None:
        """Writes back what steps remember."""
        for name, kept in self._kept.items():
            memory[name][:] = kept.cpu().numpy()
        if "clock_1" in memory:
            # Nothing is put off here, so no weight must be caught up with.
            memory["clock_1"][0] = self.clock
            memory["touched_F"][:] = self.clock

    def arrays(self) -> dict[str, AnyArray]:
        """Copies of the weights and of all that is remembered."""
        found = {name: tensor.detach().cpu().numpy().copy() for name, tensor in self._tensors().items()}
        return {**found, "clock_1": np.array([self.clock])}

    def restore(self, kept: Mapping[str, AnyArray]) -> None:
        """Restores what `arrays` returned."""
        for name, tensor in self._tensors().items():
            tensor.copy_(torch.as_tensor(np.array(kept[name])).reshape(tensor.shape))
        self.clock = int(np.array(kept["clock_1"]).reshape(-1)[0])

    def _tensors(self) -> dict[str, Tensor]:
        held = {"dense_D": self.dense_D, "sparse_F": self.sparse_F, **self._kept}
        return {name: tensor for name, tensor in held.items() if len(tensor)}

    def _rate(self, eta: float | Tensor, squares: Tensor | None) -> float | Tensor:
        if squares is None:
            return eta
        return eta / (squares.to(self.sparse_F.dtype).sqrt() + EPSILON)
