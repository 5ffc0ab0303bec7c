"""The global model of every system: likelihood and gradient by enumeration, and rounds that raise the likelihood."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.kernels.search.lattices import validated
from tests.models.test_every_system import SYSTEMS, every_path
from xlate.learning.global_model import GlobalTraining
from xlate.learning.settings import BinaryConfig, GlobalConfig, GlobalLossConfig
from xlate.losses.lattice_softmax import LatticeSoftmax
from xlate.models.system import AnySystem
from xlate.scoring.linear import LinearScorer
from xlate.scoring.weights import Weights
from xlate.search.oracle import oracle_example

TRAINED = [name for name in SYSTEMS if name not in ("block partition", "block swap")]
WORDS = ["b", "zz", "a"]


def loss_of(system: AnySystem, weights: Weights, wanted: list[str]) -> float:
    """-ln p of a translation, by walking every path of the search space."""
    changed = system.with_weights(weights)
    space = changed.space(WORDS)
    scores, good = [], []
    for labels, score in every_path(space):
        scores.append(score)
        good.append([word for label in labels for word in space.words_of(label)] == wanted)
    share = np.exp(np.array(scores) - np.logaddexp.reduce(scores))
    return -math.log(share[np.array(good)].sum())


@pytest.mark.parametrize("name", TRAINED)
def test_likelihood_and_gradient_are_those_of_the_enumeration(name: str) -> None:
    system = SYSTEMS[name]()
    start = system.weights
    wanted = system.translate(WORDS)[1].words
    lattice = system.lattice(WORDS)
    example = validated(lattice.example(lattice.derivations_of(wanted)))
    scorer = LinearScorer(len(start.dense_D), len(start.sparse_F)).double()
    with torch.no_grad():
        scorer.dense.copy_(torch.as_tensor(start.dense_D))
        scorer.bag.weight[: len(start.sparse_F), 0] = torch.as_tensor(start.sparse_F)
    loss = LatticeSoftmax()(scorer(example.arcs), example.graph, example.target)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(loss_of(system, start, wanted), abs=1e-4)
    slopes_D, slopes_F = scorer.dense.grad.numpy(), scorer.bag.weight.grad.numpy()[:, 0]
    rng, seen = np.random.default_rng(1), np.unique(example.arcs.part_ids_N)
    chosen = [("dense", d) for d in np.flatnonzero(np.abs(slopes_D) > 1e-3)]
    chosen += [("sparse", f) for f in rng.permutation(seen)[:3]]
    assert chosen
    for part, place in chosen:
        losses = []
        for step in (1e-4, -1e-4):
            moved = start.copy()
            (moved.dense_D if part == "dense" else moved.sparse_F)[place] += step
            losses.append(loss_of(system, moved, wanted))
        slope = (slopes_D if part == "dense" else slopes_F)[place]
        assert (losses[0] - losses[1]) / 2e-4 == pytest.approx(slope, abs=2e-3), (part, place)


@pytest.mark.parametrize("name", ["block", "distortion more", "phrase placed sparse", "hierarchical structure", "lcs"])
def test_a_round_makes_references_more_probable(name: str) -> None:
    """References are the second best translations; every sort of weight moves."""
    system = SYSTEMS[name]()
    sentences = [["a", "b"], WORDS, ["d", "a"]]
    pairs = [(words, system.translate(words)[1].words) for words in sentences]

    def decode(weights: Weights):
        changed = system.with_weights(weights)
        for words, reference in pairs:
            example = oracle_example(changed.lattice(words), [reference])
            if example is not None:
                yield example

    settings = GlobalLossConfig(
        eta=0.005, binary=BinaryConfig(0.05), globally=GlobalConfig(rounds=2, epochs=4, rule="sgd")
    )
    after, figures = GlobalTraining(decode, None, settings).run(system.weights)
    assert figures[-1]["loss"] < figures[1]["loss"]
    assert (after.dense_D != system.weights.dense_D).any()
    assert not len(after.sparse_F) or (after.sparse_F != system.weights.sparse_F).any()


@pytest.mark.parametrize("name", ["phrase", "phrase wbe"])
def test_the_lattice_of_cube_pruning_is_that_of_stack_search(name: str) -> None:
    """Cube pruning makes its arcs in another order; without limits both searches find the same paths."""
    words, losses = ["d", "b", "zz", "a", "c"], []
    stack = SYSTEMS[name]()
    wanted = stack.translate(words)[3].words
    for system in (stack, stack.with_search(algorithm="cube", pop_limit=100_000)):
        lattice = system.lattice(words).pruned(20.0)
        example = validated(lattice.example(lattice.derivations_of(wanted)))
        scorer = LinearScorer(len(system.weights.dense_D), 0).double()
        with torch.no_grad():
            scorer.dense.copy_(torch.as_tensor(system.weights.dense_D))
            losses.append(float(LatticeSoftmax()(scorer(example.arcs), example.graph, example.target)))
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)
