"""The global model's loss: against enumeration, and its derivatives against plain PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.autograd.functional import hessian, jacobian

from tests.kernels.search.lattices import all_paths, arc_graphs, marked_paths, scores_of
from xlate.kernels.search.lattice_passes import ArcGraph, SubLattice
from xlate.losses.lattice_softmax import LatticeSoftmax, lattice_log_sum, plain_log_sum
from xlate.search.lattice import joined

SEEDS = st.integers(0, 2**32 - 1)


def chain(path: list[int]) -> SubLattice:
    steps = np.arange(len(path) + 1, dtype=np.int32)
    return SubLattice(ArcGraph(steps[:-1], steps[1:], len(steps)), np.array(path, np.int32))


@settings(deadline=None, max_examples=40)
@given(arc_graphs(), SEEDS, st.data())
def test_loss_equals_the_enumeration(graph, seed, data):
    paths = [path for path in all_paths(graph) if path]
    assume(paths)
    wanted = data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=4, unique_by=tuple))
    score_A = scores_of(graph, seed)
    share = sum(math.exp(score_A[path].sum()) for path in wanted)
    whole = sum(math.exp(score_A[path].sum()) for path in paths)
    loss = LatticeSoftmax()(torch.tensor(score_A), graph, joined([chain(path) for path in wanted]))
    assert loss.item() == pytest.approx(-math.log(share / whole), abs=1e-12)


@settings(max_examples=12)
@given(arc_graphs(), SEEDS)
def test_derivatives_are_those_of_finite_differences_and_of_plain_pytorch(graph, seed):
    target = marked_paths(graph, np.random.default_rng(seed).random(len(graph.source_A)) < 0.8)
    assume(all_paths(target.graph) and graph.nodes > 1)
    scores = torch.tensor(scores_of(graph, seed), requires_grad=True)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda s: LatticeSoftmax()(s, graph, target), (scores,))
    fast, plain = (
        [derived(lambda s, f=f: f(s, graph), scores.detach()) for derived in (jacobian, hessian)]
        for f in (lattice_log_sum, plain_log_sum)
    )
    torch.testing.assert_close(fast, plain)
    torch.testing.assert_close(lattice_log_sum(scores, graph), plain_log_sum(scores, graph))


def test_without_a_wanted_path_the_loss_is_infinite():
    graph = ArcGraph(np.zeros(1, np.int32), np.ones(1, np.int32), 2)
    none = marked_paths(graph, np.zeros(1, bool))
    assert float(LatticeSoftmax()(torch.zeros(1), graph, none)) == math.inf
