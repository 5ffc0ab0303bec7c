"""Online training over fixed hypotheses: a naive twin of the algorithm, and the same bits wherever it was stopped."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.learning.online import Online
from xlate.learning.online_learner import OnlineLearner
from xlate.learning.run import Checkpoint
from xlate.learning.settings import OnlineSourceConfig
from xlate.losses.loss import loss_of
from xlate.machine import Stopped
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.objective import OracleDocument
from xlate.scoring.weights import Weights
from xlate.updates.online import LossSteps, Mira, OnlineUpdate, TillmannZhang

SENTENCES, HYPOTHESES, FLOATS, SPARSE = 9, 25, 3, 6
NAMES = ("a", "b", "c")
Matrix = np.ndarray


class Toy:
    """A decoder over fixed hypotheses, some of which have the same words; the first float tells how good they are."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.dense = np.round(rng.normal(size=(SENTENCES, HYPOTHESES, FLOATS)), 2)
        self.bags = rng.integers(0, SPARSE, (SENTENCES, HYPOTHESES, 3))
        self.words = rng.integers(0, HYPOTHESES // 2, (SENTENCES, HYPOTHESES))
        # Equal words have equal statistics.
        good = np.take_along_axis(rng.integers(3, 10, (SENTENCES, HYPOTHESES)), self.words, axis=1)
        self.dense[..., 0] += good
        tens = np.full_like(good, 10)
        self.stats = np.stack([tens, tens, *[good] * 4, *[tens] * 4], -1)
        self.decoded = 0

    def scores(self, weights: Weights) -> Matrix:
        sparse_F = np.concatenate([weights.sparse_F, np.zeros(SPARSE - len(weights.sparse_F))])
        return self.dense @ weights.dense_D + sparse_F[self.bags].sum(axis=-1)

    def best(self, weights: Weights, i: int, size: int) -> list[int]:
        """The best hypotheses of different words."""
        found: list[int] = []
        for h in np.argsort(-self.scores(weights)[i], kind="stable").tolist():
            if self.words[i, h] not in self.words[i, found]:
                found.append(h)
        return found[:size]

    def decode(self, weights: Weights, rows: Matrix, size: int) -> CandidateBatch:
        self.decoded += 1
        picked = [(i, h) for i in rows.tolist() for h in self.best(weights, i, size)]
        at = tuple(np.array(picked).T)
        return CandidateBatch(
            offsets_of([len(self.best(weights, i, size)) for i in rows.tolist()]),
            self.dense[at].astype(np.float32),
            self.stats[at].astype(np.float32),
            np.arange(len(picked) + 1) * 3,
            self.bags[at].reshape(-1).astype(np.int32),
            word_offsets_C1=np.arange(len(picked) + 1),
            words_T=self.words[at].astype(np.int32),
        )


class ToyIndex:
    """Gives the numbers of bags ids in the order in which they are met."""

    def __init__(self) -> None:
        self.met: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.met)

    @property
    def described(self) -> Matrix:
        return np.array([[value, value] for value in self.met], np.int32).reshape(-1, 2)

    def extended(self, described: Matrix) -> None:
        for value, _ in described.tolist():
            self.met.setdefault(value, len(self.met))

    def of_units(self, units: Matrix) -> tuple[Matrix, Matrix]:
        ids = [self.met.setdefault(value, len(self.met)) for row in units.tolist() for value in row]
        return np.arange(len(units) + 1) * 3, np.array(ids, np.int32)


class GrowingToy(Toy):
    """The same whose lists have units in place of ids, in the order of whose index weights are."""

    def __init__(self) -> None:
        super().__init__()
        self.index = ToyIndex()

    def scores(self, weights: Weights) -> Matrix:
        sparse_F = np.zeros(SPARSE)
        for value, feature in self.index.met.items():
            if feature < len(weights.sparse_F):
                sparse_F[value] = weights.sparse_F[feature]
        return super().scores(replace(weights, sparse_F=sparse_F))

    def decode(self, weights: Weights, rows: Matrix, size: int) -> CandidateBatch:
        lists = super().decode(weights, rows, size)
        parts = np.diff(lists.candidate_offsets_I1)
        return replace(
            lists,
            part_id_offsets_P1=np.zeros(lists.candidates + 1, np.int64),
            part_ids_N=np.zeros(0, np.int32),
            part_offsets_I1=lists.candidate_offsets_I1,
            candidate_part_offsets_C1=np.arange(lists.candidates + 1),
            candidate_parts_K=np.concatenate([np.arange(n) for n in parts]).astype(np.int32),
            unit_PU=lists.part_ids_N.reshape(-1, 3),
            between_offsets_P1=np.zeros(lists.candidates + 1, np.int64),
            between_T=np.zeros(0, np.int32),
        )


def start(sparse: int = SPARSE) -> Weights:
    return Weights(np.array([-0.1, -0.2, 0.3]), np.zeros(sparse), NAMES)


UPDATES: dict[str, Callable[[], OnlineUpdate]] = {
    "mira": lambda: Mira(1.0, 0.05),
    "tillmann_zhang": lambda: TillmannZhang(1.0, 0.02),
    "pro": lambda: LossSteps(loss_of("pro", pairs=4, least_difference=0.01), 0.02, 3),
}


def online(
    folder: Path, update: OnlineUpdate, toy: Toy | None = None, sparse: int = SPARSE, seconds: float = 0.0, **given: Any
) -> Online:
    told = {"k": 4, "m": 3, "rate": 0.5, "dense_rate": 0.8, "iterations": 3, "nbest": 8, "seed": 5}
    settings = OnlineSourceConfig(**{**told, **given})
    folder.mkdir(exist_ok=True)
    document = OracleDocument(np.zeros((SENTENCES, 10)))
    growing = toy.index if isinstance(toy, GrowingToy) else None
    learner = OnlineLearner(
        start(0 if growing else sparse), np.array([True, True, False]), update, settings, document, growing
    )
    checkpoint = Checkpoint(folder / "latest.safetensors", "this one", seconds)
    return Online(learner, (toy or Toy()).decode, checkpoint)


def whole(made: Online, stop: Callable[[], bool] = lambda: False) -> tuple[Matrix, list[dict[str, Any]]]:
    weights, figures = made.run(stop)
    return np.concatenate([weights.dense_D, weights.sparse_F]), figures


def naive(toy: Toy, eta: float, k: int, m: int, batch: int, hope: float) -> tuple[Matrix, list[int]]:
    """Algorithm 1 with the α of Tillmann & Zhang, in plain Python; the average, and the number of violated pairs."""
    w = np.concatenate([start().dense_D, np.zeros(SPARSE)])
    rates = np.array([0.8, 0.8, 0.0, *[0.5] * SPARSE])

    def features(i: int, h: int) -> Matrix:
        return np.concatenate([toy.dense[i, h].astype(np.float32), np.bincount(toy.bags[i, h], minlength=SPARSE)])

    oracles: dict[int, list[int]] = {}
    history, violated = [w], []
    for iteration in range(3):
        order = np.random.default_rng([5, iteration]).permutation(SENTENCES)
        violated.append(0)
        for place in range(0, SENTENCES, batch):
            now = Weights(w[:FLOATS], w[FLOATS:], NAMES)
            lists = {int(i): toy.best(now, i, 8) for i in order[place : place + batch]}
            for i, found in lists.items():
                pooled = [*found, *(h for h in oracles.get(i, []) if toy.words[i, h] not in toy.words[i, found])]
                others = 1.0 + sum((toy.stats[j, best[0]] for j, best in oracles.items() if j != i), np.zeros(10))
                sentences = len(oracles.keys() | {i})
                gain = {h: sentences * float(bleu_scores((others + toy.stats[i, h])[None])[0]) / 100 for h in pooled}
                worth = {h: gain[h] + hope * float(w @ features(i, h)) for h in pooled}
                oracles[i] = sorted(pooled, key=lambda h: -worth[h])[:m]
                step = np.zeros(len(w))
                for o in oracles[i]:
                    for h in found[:k]:
                        delta = features(i, o) - features(i, h)
                        loss, lead = gain[o] - gain[h], float(w @ delta)
                        if loss > 1e-12 and lead < 1:
                            step += eta * loss * (1 - lead) * delta
                            violated[-1] += 1
                w = w + rates * step
                history.append(w)
    return np.mean(history, axis=0), violated


@pytest.mark.parametrize(("k", "m", "batch", "hope"), [(1, 1, 1, 0.0), (4, 3, 4, 0.3), (8, 8, 20, 0.3)])
def test_it_is_the_naive_twin(tmp_path: Path, k: int, m: int, batch: int, hope: float) -> None:
    expected, violated = naive(Toy(), 0.02, k, m, batch, hope)
    found, figures = whole(online(tmp_path, TillmannZhang(1.0, 0.02), k=k, m=m, batch=batch, hope=hope))
    assert found == pytest.approx(expected, abs=1e-6)
    assert [one["violated"] for one in figures] == violated


@pytest.mark.parametrize(
    ("name", "kind", "given"),
    [
        ("tillmann_zhang", Toy, {"batch": 4, "select": "best", "heldout_every": 3}),
        ("pro", Toy, {}),
        ("pro", Toy, {"shards": 2}),
        ("mira", GrowingToy, {}),
    ],
)
def test_stopped_at_any_moment_it_ends_with_the_same_bits(
    tmp_path: Path, name: str, kind: type[Toy], given: dict[str, Any]
) -> None:
    expected = whole(online(tmp_path / "whole", UPDATES[name](), kind(), **given))
    choose, runs = random.Random(1), 0
    while True:
        left = choose.randint(1, 9)

        def stop() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        made = online(tmp_path, UPDATES[name](), kind(), seconds=choose.choice([0.0, 20.0]), **given)
        runs += 1
        with contextlib.suppress(Stopped):
            found = whole(made, stop)
            break
    assert runs > 1 or "shards" in given
    assert np.array_equal(found[0], expected[0])
    assert found[1] == expected[1]


def test_mixing_is_the_mean_of_learning_apart(tmp_path: Path) -> None:
    """One iteration in two shards: the last weights are the mean, and the average that of both averages."""
    made = online(tmp_path, TillmannZhang(1.0, 0.02), shards=2, iterations=1, select="last")
    last, _ = whole(made)
    order = np.random.default_rng([5, 0]).permutation(SENTENCES)
    ends, averages = [], []
    for shard in range(2):
        toy = Toy()
        alone = online(tmp_path, TillmannZhang(1.0, 0.02), toy)
        history = [alone.learner.weights.copy()]
        for sentence in order[shard::2].tolist():
            lists = toy.decode(alone.learner.weights, np.array([sentence]), 8)
            alone.learner.learn(sentence, lists)
            history.append(alone.learner.weights.copy())
        # The shorter shard stands still for a step.
        history += [history[-1]] * (6 - len(history))
        both = [np.concatenate([one.dense_D, one.sparse_F]) for one in history]
        ends.append(both[-1])
        averages.append(np.mean(both, axis=0))
    assert last == pytest.approx(np.mean(ends, axis=0), abs=1e-12)
    average = made.learner.average
    both = np.concatenate([average.dense_D, average.sparse_F])
    assert both == pytest.approx(np.mean(averages, axis=0), abs=1e-12)


def test_a_feature_of_a_later_shard_is_averaged_from_the_mixture_on(tmp_path: Path) -> None:
    learner, toy = online(tmp_path, TillmannZhang(1.0, 0.02), sparse=0).learner, Toy()
    toy.bags[0], toy.bags[1] = toy.bags[0] % 2, 4 + toy.bags[1] % 2
    before = learner.weights.copy()
    found = [toy.decode(before, np.array([i]), 8) for i in range(2)]
    parts = [learner.apart(lambda i=i: learner.learn(i, found[i]), shard=i)[1] for i in range(2)]
    learner.mix(parts)
    after, average = learner.weights.sparse_F, learner.average.sparse_F
    assert [len(part["sparse_F"]) for part in parts] == [2, 6]
    assert (after[[0, 1, 4, 5]] != 0).all()
    # The weights were 0 before the only step.
    assert average == pytest.approx(after / 2)


def test_every_shard_and_every_mixture_draws_pairs_of_its_own(tmp_path: Path) -> None:
    update = LossSteps(loss_of("pro", pairs=1, least_difference=0.01), 0.02, 3)
    learner = online(tmp_path, update, k=8, m=8).learner
    lists = Toy().decode(learner.weights, np.array([0]), 8)

    def drawn() -> list[list[float]]:
        steps = (learner.apart(lambda: learner.learn(0, lists), shard)[0] for shard in range(8))
        return [step.slope_C.tolist() for step in steps]

    before, again = drawn(), drawn()
    assert before == again
    assert any(one != before[0] for one in before)
    unchanged = learner.apart(lambda: None, 0)[1]
    learner.mix([unchanged, unchanged])
    assert drawn() != before


@pytest.mark.parametrize("given", [{}, {"batch": 4, "hope": 0.5}, {"shards": 3}, {"shards": 3, "processes": 2}])
def test_features_that_are_numbered_when_they_are_met_weigh_as_much(tmp_path: Path, given: dict[str, Any]) -> None:
    """Nor does the number of processes change anything."""
    expected, figures = whole(online(tmp_path / "whole", Mira(1.0, 0.05), **{**given, "processes": 1}))
    toy = GrowingToy()
    grown, again = whole(online(tmp_path / "grown", Mira(1.0, 0.05), toy, **given))
    assert [one["violated"] for one in again] == [one["violated"] for one in figures]
    assert sorted(toy.index.met) == list(range(SPARSE))
    by_value = grown[FLOATS:][[toy.index.met[value] for value in range(SPARSE)]]
    assert np.concatenate([grown[:FLOATS], by_value]) == pytest.approx(expected, abs=1e-12)


def test_what_is_held_out_is_not_learned_from(tmp_path: Path) -> None:
    made = online(tmp_path, Mira(1.0, 0.05), heldout_every=3, select="best")
    found, figures = whole(made)
    assert [one is None for one in made.learner.oracles] == [False, False, True] * 3
    best = max(one["average_bleu"] for one in figures)
    toy, weights = Toy(), Weights(found[:FLOATS], found[FLOATS:], NAMES)
    rows = [toy.stats[i, toy.best(weights, i, 1)[0]] for i in (2, 5, 8)]
    assert float(bleu_scores(np.sum(rows, axis=0)[None])[0]) == pytest.approx(best)


class SteadyToy(Toy):
    """The same, but what is measured, the best of each sentence alone, is the same under all weights."""

    def decode(self, weights: Weights, rows: Matrix, size: int) -> CandidateBatch:
        return super().decode(start() if size == 1 else weights, rows, size)


def test_of_equal_iterations_the_first_is_the_best(tmp_path: Path) -> None:
    first, last = (
        whole(online(tmp_path / str(n), TillmannZhang(1.0, 0.02), SteadyToy(), select="best", iterations=n))
        for n in (1, 3)
    )
    assert len(last[1]) == 3
    assert {one["average_bleu"] for one in last[1]} == {first[1][0]["average_bleu"]}
    assert np.array_equal(first[0], last[0])


def test_a_list_without_translations_is_no_step(tmp_path: Path) -> None:
    learner = online(tmp_path, Mira()).learner
    nothing = Toy().decode(learner.weights, np.array([0]), 8).taken({"I": np.zeros(0, int), "C": [], "P": []})
    step = learner.learn(0, replace(nothing, candidate_offsets_I1=np.zeros(2, np.int64)))
    assert not len(step.slope_C)
    assert learner.oracles[0] is None


def test_too_few_sentences_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few sentences"):
        online(tmp_path, Mira(), heldout_every=20).run()
