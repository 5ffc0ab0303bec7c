"""The global model: its gradient by enumeration, and training on small models from disturbed weights."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.kernels.search.lattices import all_paths
from tests.models.small_models import model_and_arpa, random_words
from tests.search.lattice_paths import nbest
from xlate.candidates.store import epoch_order
from xlate.errors import InputError
from xlate.learning.global_model import GlobalTraining
from xlate.learning.run import Checkpoint
from xlate.learning.settings import BinaryConfig, GlobalConfig, GlobalLossConfig
from xlate.machine import Stopped
from xlate.models.block.decoder import BlockDecoder, BlockModel, BlockSearch
from xlate.scoring.weights import Weights
from xlate.search.lattice import Lattice, LatticeExample, chosen_arcs
from xlate.search.oracle import oracle_example

SEARCH = BlockSearch(beam=30, threshold=0.0)


def steps(rounds: int, epochs: int, eta: float, eta_sparse: float, rule: str = "sgd", **given: Any) -> GlobalLossConfig:
    """How the global model is trained; what is given more is about its rounds."""
    binary, rounds_of = BinaryConfig(eta_sparse), GlobalConfig(rounds=rounds, epochs=epochs, rule=rule, **given)
    return GlobalLossConfig(eta=eta, binary=binary, globally=rounds_of)


@dataclass
class Task:
    """Sentences whose references are what the model says of them; `decode` is under any weights."""

    model: BlockModel
    sentences: list[list[str]]
    references: list[list[str]]

    def lattices(self, weights: Weights) -> Iterator[Lattice]:
        decoder = BlockDecoder(self.model, SEARCH).with_weights(weights)
        for words in self.sentences:
            yield decoder.lattice(words)

    def decode(self, weights: Weights) -> Iterator[LatticeExample]:
        for lattice, reference in zip(self.lattices(weights), self.references, strict=True):
            example = oracle_example(lattice, [reference], count=2)
            if example is not None:
                yield example


def task(sentences: int) -> tuple[Task, Task, Weights]:
    """Training and held-out task, and weights that are disturbed from those that made the references."""
    model, _ = model_and_arpa(11, others=False)
    rng = np.random.default_rng(5)
    words = [random_words(rng, 5) for _ in range(2 * sentences)]
    best = [BlockDecoder(model, SEARCH).translate(w)[0].words for w in words]
    true = Weights(np.concatenate([model.linked, model.neutral]), model.feature_weights.copy(), model.dense_names)
    disturbed = Weights(true.dense_D + rng.normal(0, 0.3, size=10), 0 * true.sparse_F, model.dense_names)
    parts = (slice(0, sentences), slice(sentences, None))
    first, second = (Task(model, words[part], best[part]) for part in parts)
    return first, second, disturbed


def test_one_step_is_the_difference_of_expectations():
    """Gradient descent with eta 1 moves the weights by wanted less expected features, here by enumeration."""
    train, _, start = task(1)
    lattice = next(train.lattices(start))
    example = next(train.decode(start))
    paths = nbest(lattice, distinct=False)
    features = []
    for path in paths:
        arcs = chosen_arcs(lattice.arcs, path.arcs, lattice.graph)
        sparse_F = np.bincount(arcs.sparse_ids_M, minlength=len(start.sparse_F))
        features.append(np.concatenate([arcs.dense_AD.sum(axis=0), sparse_F]))
    wanted = {lattice.path(example.target.arc_B[arcs]).words for arcs in all_paths(example.target.graph)}
    scores = np.array([path.score for path in paths])
    good = np.array([path.words in wanted for path in paths])
    share, share_good = (np.exp(s - np.logaddexp.reduce(s)) for s in (scores, np.where(good, scores, -np.inf)))
    settings = steps(1, 1, 1.0, 1.0)
    after, figures = GlobalTraining(lambda _: [example], None, settings).run(start)
    moved = np.concatenate([after.dense_D - start.dense_D, after.sparse_F - start.sparse_F])
    np.testing.assert_allclose(moved, (share_good - share) @ np.array(features), atol=1e-4)
    assert figures[1]["loss"] == pytest.approx(-math.log(share[good].sum()), abs=1e-4)
    assert np.abs(moved[:10]).max() > 0.01


def test_the_round_ends_with_the_lowest_heldout_loss():
    """Steps far too long: nothing is better than the start, which therefore stays."""
    train, heldout, start = task(4)
    settings = steps(1, 3, 30.0, 30.0)
    after, figures = GlobalTraining(train.decode, heldout.decode, settings).run(start)
    assert min(f["valid_loss"] for f in figures) == figures[0]["valid_loss"]
    np.testing.assert_array_equal(after.dense_D, start.dense_D)
    np.testing.assert_array_equal(after.sparse_F, start.sparse_F)


def test_each_round_has_an_order_of_its_own():
    """Every sentence is a training of one step, in the order drawn for the round."""
    train, _, start = task(5)
    examples = list(train.decode(start))
    settings = steps(2, 1, 0.05, 0.05)
    found, _ = GlobalTraining(lambda _: examples, None, settings).run(start)
    orders = [epoch_order(len(examples), 1, 1, name=f"global.{number}").tolist() for number in range(2)]
    assert orders[0] != orders[1]
    expected, single = start, steps(1, 1, 0.05, 0.05)
    for example in (examples[i] for order in orders for i in order):
        expected, _ = GlobalTraining(lambda _, one=example: [one], None, single).run(expected)
    np.testing.assert_array_equal(found.dense_D, expected.dense_D)
    np.testing.assert_array_equal(found.sparse_F, expected.sparse_F)


def test_the_pull_holds_weights_near_their_start():
    train, _, start = task(6)
    away = []
    for pull in (0.0, 1.0, 100.0):
        settings = steps(1, 5, 0.005, 0.005, pull=pull)
        after, _ = GlobalTraining(train.decode, None, settings).run(start)
        away.append(np.linalg.norm(after.dense_D - start.dense_D) + np.linalg.norm(after.sparse_F - start.sparse_F))
    assert away[0] > away[1] > 2 * away[2] > 0


def test_projection_and_steps_of_zero():
    train, _, start = task(4)
    start = replace(start, dense_D=np.full(10, -0.001))
    settings = replace(steps(1, 3, 0.1, 0.0), project_sign=True)
    after, _ = GlobalTraining(train.decode, None, settings).run(start)
    assert (after.dense_D <= 0).all()
    assert (after.dense_D == 0).any()
    assert not after.sparse_F.any()


def test_weights_that_explode_are_refused():
    train, _, start = task(2)
    with pytest.raises(InputError, match="no longer finite"):
        GlobalTraining(train.decode, None, steps(3, 3, 1e308, 0.1)).run(start)


@pytest.mark.parametrize(("rule", "held"), [("sgd", False), ("adagrad", True)])
def test_stopped_anywhere_it_ends_with_the_same_bits(tmp_path, rule, held):
    """Stopped at every look at the signal in turn: while decoding, between epochs, between rounds."""
    train, heldout, start = task(4)
    settings = steps(2, 2, 0.05, 0.05, rule)
    decode = heldout.decode if held else None
    whole, expected = GlobalTraining(train.decode, decode, settings).run(start)
    stops, found = 0, None
    while found is None:
        looks = itertools.count()

        def stop(looks=looks, stops=stops):
            return next(looks) > stops

        checkpoint = Checkpoint(tmp_path / "latest.safetensors", "this")
        training = GlobalTraining(train.decode, decode, settings, checkpoint=checkpoint)
        with contextlib.suppress(Stopped):
            found = training.run(start, stop)
        stops += 1
    assert stops > 5
    np.testing.assert_array_equal(found[0].dense_D, whole.dense_D)
    np.testing.assert_array_equal(found[0].sparse_F, whole.sparse_F)
    assert repr(found[1]) == repr(expected)
    with pytest.raises(InputError, match="another training"):
        GlobalTraining(train.decode, decode, settings, checkpoint=replace(checkpoint, identity="other")).run(start)


def test_no_sentences_change_nothing():
    _, _, start = task(1)
    after, figures = GlobalTraining(lambda _: [], lambda _: [], steps(1, 1, 0.01, 0.1)).run(start)
    np.testing.assert_array_equal(after.dense_D, start.dense_D)
    assert figures[1]["loss"] == 0.0
