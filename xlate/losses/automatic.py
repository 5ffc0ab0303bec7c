"""The slopes of any loss on any device, by automatic differentiation of its module."""

from __future__ import annotations

import torch
from torch import Tensor

from xlate.losses.loss import Loss, Needs
from xlate.scoring.resident import Resident


def slopes(loss: Loss, candidates: Resident, scores_C: Tensor, *, truth: bool) -> tuple[Tensor, Tensor]:
    """The loss of some candidates, and minus its derivative by each of their scores, (C,).

    With `truth`, gains above 0 mark true candidates; as in the compiled pass, each of them is compared with all untrue
    ones of its instance.
    """
    leaf_C = scores_C.detach().requires_grad_()
    if truth and loss.needs is not Needs.TRUTH:
        rows, true, offsets = candidates.one_truth_each()
        value = loss(leaf_C[rows], true.to(leaf_C.dtype), offsets)
    else:
        value = loss(leaf_C, candidates.gain_C.to(leaf_C.dtype), candidates.candidate_offsets_I1)
    (gradient_C,) = torch.autograd.grad(value, leaf_C, allow_unused=True)
    return value.detach(), torch.zeros_like(leaf_C) if gradient_C is None else -gradient_C
