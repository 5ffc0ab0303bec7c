"""Lattices against the enumeration of all derivations, and their features against their scores."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.kernels.search.lattices import all_paths, is_empty, validated
from tests.models.small_models import enumerate_all, model_and_arpa, random_words
from tests.search.lattice_paths import nbest, rescored
from xlate.errors import InputError
from xlate.models.block.decoder import BlockDecoder, BlockModel, BlockSearch
from xlate.search.lattice import chosen_arcs, first_paths

EXACT = BlockSearch(beam=10**9, threshold=0.0, options=3)
MODES = ("mon", "swap", "swap_or")


def weights_of(model: BlockModel) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([model.linked, model.neutral]), model.feature_weights


@pytest.mark.parametrize("mode", MODES)
def test_paths_are_all_derivations(mode):
    for seed in range(4):
        model, arpa = model_and_arpa(seed, most=2, others=False)
        words, search = random_words(np.random.default_rng(seed), 4), replace(EXACT, mode=mode)
        lattice = BlockDecoder(model, search).lattice(words)
        expected = enumerate_all(model, search, words, arpa)
        found = nbest(lattice, distinct=False)
        assert [path.score for path in found] == pytest.approx([oracle.score for oracle in expected], abs=1e-5)
        assert sorted(path.words for path in found) == sorted(oracle.words for oracle in expected)
        assert lattice.best().words == expected[0].words


@pytest.mark.parametrize("mode", MODES)
def test_a_path_has_the_features_of_its_derivation(mode):
    """Also bigrams of weight 0, for which the decoder keeps no hypotheses apart."""
    silent = 0
    for seed in range(6):
        model, _ = model_and_arpa(seed, others=False)
        weights_U = model.feature_weights * (np.random.default_rng(seed).random(len(model.feature_weights)) < 0.3)
        model = replace(model, feature_weights=weights_U)
        decoder = BlockDecoder(model, replace(EXACT, mode=mode, beam=30))
        words = random_words(np.random.default_rng(seed), 5)
        lattice, moves = decoder.lattice(words), decoder.space(words)
        ids = {key: number for number, key in enumerate(model.feature_keys.tolist())}
        for path in nbest(lattice, 300, distinct=False):
            derivation = decoder.derivation(moves, lattice.arcs.label_A[path.arcs].tolist())
            assert tuple(derivation.words) == path.words
            assert derivation.score == pytest.approx(path.score, abs=1e-9)
            floats_D = derivation.features_D[:10].copy()
            if mode == "swap":
                floats_D[1] = 0.0
            np.testing.assert_allclose(lattice.arcs.dense_AD[path.arcs].sum(axis=0), floats_D, atol=1e-9)
            steps = [step for step in derivation.steps if step.predecessor >= 0 and step.orientation != 2]
            seen = [ids.get((step.predecessor << 31) | step.unit, -1) for step in steps if step.unit >= 0]
            found = chosen_arcs(lattice.arcs, path.arcs, lattice.graph).sparse_ids_M
            assert found.tolist() == [number for number in seen if number >= 0]
            silent += int((weights_U[found] == 0).sum())
    assert silent > 100


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
            for path in found:
                ends = lattice.graph.target_A[path.arcs]
                assert ends[-1] == lattice.graph.nodes - 1
                assert lattice.graph.source_A[path.arcs].tolist() == [0, *ends[:-1].tolist()]


def test_derivations_of_words():
    model, _ = model_and_arpa(2, others=False)
    lattice = BlockDecoder(model, EXACT).lattice(list("abab"))
    by_words: dict[tuple[str, ...], list[list[int]]] = {}
    for path in nbest(lattice, distinct=False):
        by_words.setdefault(path.words, []).append(path.arcs.tolist())
    assert max(map(len, by_words.values())) > 1
    for words, paths in by_words.items():
        found = lattice.derivations_of(words)
        assert sorted(found.arc_B[path].tolist() for path in all_paths(found.graph)) == sorted(paths)
    assert is_empty(lattice.derivations_of(["q"]))
    assert is_empty(lattice.derivations_of([]))


def test_pruning_keeps_the_paths_near_the_best_one():
    model, _ = model_and_arpa(3, others=False)
    lattice = BlockDecoder(model, EXACT).lattice(list("abca"))
    every = nbest(lattice, distinct=False)
    sizes = [len(lattice)]
    for margin in (8.0, 3.0, 1.0, 0.0):
        pruned = lattice.pruned(margin)
        found = [(path.words, path.score) for path in nbest(pruned, distinct=False)]
        near = [(path.words, path.score) for path in every if path.score > every[0].score - margin + 1e-9]
        assert set(near) <= set(found)
        on_near = {arc for path in every if path.score > every[0].score - margin - 1e-9 for arc in path.arcs.tolist()}
        assert len(pruned) == max(len(on_near), len(every[0].arcs))
        sizes.append(len(pruned))
        np.testing.assert_allclose(rescored(pruned, *weights_of(model)).score_A, pruned.score_A, atol=1e-12)
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) > 3
    assert len(nbest(pruned)) == 1
    assert nbest(lattice.pruned(0.0, keep=every[-1].arcs))[-1].words == every[-1].words


def test_the_example_of_a_lattice():
    model, _ = model_and_arpa(3, others=False)
    lattice = BlockDecoder(model, EXACT).lattice(list("abc"))
    example = validated(lattice.example(lattice.derivations_of(lattice.best().words)))
    ids, offsets_C1, _ = example.arcs.flat_ids()
    assert ids.tolist() == lattice.arcs.sparse_ids_M.tolist()
    assert offsets_C1.tolist() == lattice.arcs.sparse_offsets_A1.tolist()
    local = BlockDecoder(model, replace(EXACT, partition="local")).lattice(list("abc"))
    with pytest.raises(InputError, match="linear in the weights"):
        local.example(local.derivations_of(local.best().words))


def test_a_word_that_is_copied_and_no_words():
    model, _ = model_and_arpa(0, others=False)
    [path] = nbest(BlockDecoder(model, EXACT).lattice(["zz"]), distinct=False)
    assert path.words == ("zz",)
    with pytest.raises(InputError, match="without words"):
        BlockDecoder(model, EXACT).lattice([])
