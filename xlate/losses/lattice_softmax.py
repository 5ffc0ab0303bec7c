"""The loss of the global model: -ln of the probability of the wanted paths among all paths of a lattice.

With score s(π) = Σ s_a over the arcs a of a path π, all paths Π and the wanted ones Π+ (Tillmann & Zhang 2007, Eq. 4,
whose sequences are the paths of a translation graph here; derivations of one translation are summed as by Blunsom, Cohn
& Osborne 2008):

    L = ln Σ_{π in Π} exp s(π) - ln Σ_{π in Π+} exp s(π)

Its derivative by s_a is the posterior of arc a among all paths minus that among the wanted ones; forward-backward
computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from xlate.kernels.search.lattice_passes import ArcGraph, SubLattice, arc_posteriors
from xlate.losses.loss import Loss, Needs


class LatticeSoftmax(Loss):
    """The loss as an autograd module; infinite if there is no wanted path."""

    name = "lattice_softmax"
    needs = Needs.LATTICE

    def forward(self, scores_A: Tensor, graph: ArcGraph, target: SubLattice) -> Tensor:  # type: ignore[override]
        """-ln p(wanted paths) in nats; scalar.

        Args:
            scores_A: finite scores of the A arcs.
            graph: the lattice, which has at least one path.
            target: the wanted paths.
        """
        arc_B = torch.as_tensor(target.arc_B, device=scores_A.device).to(torch.int64)
        return lattice_log_sum(scores_A, graph) - lattice_log_sum(scores_A[arc_B], target.graph)


def lattice_log_sum(scores_A: Tensor, graph: ArcGraph) -> Tensor:
    """ln Σ exp score over all paths; scalar, minus infinity if there is none.

    A kernel computes the gradient. If the gradient is differentiated in turn (`create_graph=True`), the far slower
    `plain_log_sum` computes it.
    """
    total: Tensor = _LogSum.apply(scores_A, graph)  # type: ignore[no-untyped-call]
    return total


class _LogSum(torch.autograd.Function):
    """Forward-backward by the kernel, in float64 on the CPU, whatever the device of the scores."""

    @staticmethod
    def forward(ctx: Any, scores_A: Tensor, graph: ArcGraph) -> Tensor:
        total, posterior_A = arc_posteriors(graph, scores_A.detach().cpu().to(torch.float64).contiguous().numpy())
        ctx.save_for_backward(scores_A, torch.as_tensor(posterior_A).to(scores_A))
        ctx.graph = graph
        return scores_A.new_tensor(total)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        scores_A, posterior_A = ctx.saved_tensors
        if torch.is_grad_enabled():
            total = plain_log_sum(scores_A, ctx.graph)
            if total.requires_grad:
                (posterior_A,) = torch.autograd.grad(total, scores_A, create_graph=True)
        return gradient * posterior_A, None


def plain_log_sum(scores_A: Tensor, graph: ArcGraph) -> Tensor:
    """`lattice_log_sum` in plain PyTorch, node by node: the reference, differentiable any number of times."""
    nothing = scores_A.new_full((), float("-inf"))
    sums = [scores_A.new_zeros(())] + [nothing] * (graph.nodes - 1)
    for node in range(1, graph.nodes):
        into = [
            sums[graph.source_A[arc]] + scores_A[arc]
            for arc in np.flatnonzero(graph.target_A == node).tolist()
            if sums[graph.source_A[arc]] is not nothing
        ]
        if into:
            sums[node] = torch.logsumexp(torch.stack(into), dim=0)
    return sums[-1]
