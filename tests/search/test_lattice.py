"""Lattices: their paths, pruning, and examples of the global model; those of cube pruning and of stack search."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.kernels.search.lattices import all_paths, is_empty, validated
from tests.models.small_models import model_and_arpa, random_words
from tests.models.test_every_system import SYSTEMS
from tests.search.lattice_paths import nbest, rescored
from xlate.errors import InputError
from xlate.models.block.decoder import BlockDecoder, BlockModel, BlockSearch
from xlate.search.lattice import first_paths

EXACT = BlockSearch(beam=10**9, threshold=0.0, options=3)


def weights_of(model: BlockModel) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([model.linked, model.neutral]), model.feature_weights


@pytest.mark.parametrize("most", [1, 7, 10**6])
def test_the_first_paths_are_the_best_of_each_text(most):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model, _ = model_and_arpa(seed, others=False)
        lattice = BlockDecoder(model, EXACT).lattice(random_words(rng, 4))
        every = [lattice.path(arcs) for arcs in all_paths(lattice.graph)]
        # Under the scores of the model, and under others, as an oracle looks for paths.
        for scores_A in (lattice.score_A, rng.normal(size=len(lattice)), np.zeros(len(lattice))):
            best: dict[tuple[str, ...], float] = {}
            for path in every:
                total = float(scores_A[path.arcs].sum())
                best[path.words] = max(best.get(path.words, -math.inf), total)
            found = first_paths(lattice, lattice.graph, scores_A, np.arange(len(lattice)), most)
            totals = [float(scores_A[path.arcs].sum()) for path in found]
            assert totals == pytest.approx(sorted(best.values(), reverse=True)[:most])
            assert totals == pytest.approx([best[path.words] for path in found])
            assert len({path.words for path in found}) == len(found)


def test_pruning_keeps_the_paths_near_the_best_one():
    model, _ = model_and_arpa(3, others=False)
    lattice = BlockDecoder(model, EXACT).lattice(list("abca"))
    every = nbest(lattice, distinct=False)
    for margin in (8.0, 3.0, 1.0, 0.0):
        pruned = lattice.pruned(margin)
        near = [path for path in every if path.score > every[0].score - margin - 1e-9]
        assert len(pruned) == len({arc for path in near for arc in path.arcs.tolist()})
        assert {path.words for path in near} <= {path.words for path in nbest(pruned)}
        np.testing.assert_allclose(rescored(pruned, *weights_of(model)).score_A, pruned.score_A, atol=1e-12)
    assert len(nbest(pruned)) == 1
    assert nbest(lattice.pruned(0.0, keep=every[-1].arcs))[-1].words == every[-1].words


def test_the_example_of_a_lattice():
    model, _ = model_and_arpa(3, others=False)
    lattice = BlockDecoder(model, EXACT).lattice(list("abc"))
    example = validated(lattice.example(lattice.derivations_of(lattice.best().words)))
    ids, offsets_C1, _ = example.arcs.flat_ids()
    assert ids.tolist() == lattice.arcs.sparse_ids_M.tolist()
    assert offsets_C1.tolist() == lattice.arcs.sparse_offsets_A1.tolist()
    for words in (["q"], []):
        assert is_empty(lattice.derivations_of(words))
    local = BlockDecoder(model, replace(EXACT, partition="local")).lattice(list("abc"))
    with pytest.raises(InputError, match="linear in the weights"):
        local.example(local.derivations_of(local.best().words))


def test_no_words_have_no_lattice():
    with pytest.raises(InputError, match="without words"):
        BlockDecoder(model_and_arpa(0)[0], EXACT).lattice([])


@pytest.mark.parametrize("name", ["phrase", "phrase wbe"])
def test_the_lattice_of_cube_pruning_is_that_of_stack_search(name):
    """Cube pruning makes its arcs in another order; without limits both searches find the same paths."""
    stack, words = SYSTEMS[name](), ["d", "b", "zz", "a"]
    lattices = [one.lattice(words) for one in (stack, stack.with_search(algorithm="cube", pop_limit=100_000))]
    scores = [[path.score for path in nbest(lattice, distinct=False)] for lattice in lattices]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9)
