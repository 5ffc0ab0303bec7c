"""Oracles against scoring every path of small lattices, and every choice from small lists."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.kernels.search.lattices import all_paths, validated
from tests.models.small_models import model_and_arpa, random_words
from tests.search.lattice_paths import nbest, nbest_oracle
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError
from xlate.metrics.bleu import bleu_scores
from xlate.models.block.decoder import BlockDecoder, BlockSearch
from xlate.search.lattice import Lattice
from xlate.search.oracle import OracleSearch, bleu_tangent, lattice_oracle, oracle, oracle_example


def cases(count: int, length: int = 5) -> list[tuple[Lattice, list[list[str]]]]:
    """Lattices of random models with references near to one of their paths."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        model, _ = model_and_arpa(seed, others=False)
        search = BlockSearch(beam=10, threshold=0.0)
        lattice = BlockDecoder(model, search).lattice(random_words(rng, length))
        paths = nbest(lattice, 500)
        references = []
        for _ in range(int(rng.integers(1, 3))):
            words = list(paths[int(rng.integers(len(paths)))].words)
            for place in rng.integers(0, len(words), size=2).tolist():
                words[place] = str(rng.choice(list("uvwxyq")))
            references.append(words)
        found.append((lattice, references))
    return found


def test_the_oracle_of_a_lattice_is_nearly_always_the_best_of_all_paths():
    """Exact in 15, 23 and 24 of 24 lattices with 1, 5 and 100 paths a tangent; n-best lists have 1, 3 and 16."""
    of_lattice, of_list = dict.fromkeys((1, 5, 100), 0), dict.fromkeys((1, 5, 100), 0)
    for lattice, references in cases(24, length=7):
        best = nbest_oracle(lattice, references, 10**9)[0].bleu
        for size in of_lattice:
            found = lattice_oracle(lattice, references, nbest=size)[0].bleu
            listed = nbest_oracle(lattice, references, size)[0].bleu
            assert listed <= found <= best
            of_lattice[size] += found == best
            of_list[size] += listed == best
    assert of_lattice[1] > of_list[1] + 8
    assert of_lattice[5] > of_list[5] + 14
    assert of_lattice[100] == 24 > of_list[100]


def test_several_oracles_are_the_best_derivations_of_distinct_translations():
    for lattice, references in cases(6, length=4):
        found = lattice_oracle(lattice, references, count=5, nbest=10**6)
        every = nbest_oracle(lattice, references, 10**6)
        assert [oracle.bleu for oracle in found] == [oracle.bleu for oracle in every[:5]]
        assert len({oracle.path.words for oracle in found}) == len(found)
        best = {path.words: path.score for path in reversed(nbest(lattice))}
        for one in found:
            assert one.path.score == pytest.approx(best[one.path.words])


def test_paths_by_gain_are_those_of_counting():
    for lattice, references in cases(6, length=4):
        search = OracleSearch(lattice, references)
        gain_n, word_gain = np.array([0.5, 0.7, 1.1, 1.3]), -0.45
        expected: dict[tuple[str, ...], float] = {}
        for path in nbest(lattice):
            gain = word_gain * len(path.words)
            for n in range(1, 5):
                known = {tuple(r[i : i + n]) for r in references for i in range(len(r) - n + 1)}
                grams = [path.words[i : i + n] for i in range(len(path.words) - n + 1)]
                gain += gain_n[n - 1] * sum(gram in known for gram in grams)
            expected[path.words] = gain
        found = [path.words for path in search.by_gain(gain_n, word_gain, 10**6)]
        assert sorted(found) == sorted(expected)
        assert [expected[words] for words in found] == pytest.approx(sorted(expected.values(), reverse=True))


def test_the_tangent_is_the_slope_of_bleu():
    """Against differences of ln BLEU+1 for statistics that need not be whole numbers."""
    for length, reference in ((9, 12), (12, 9)):
        stats_K = np.array([length, reference, 7, 4, 2, 0, *(length - n for n in range(4))])
        gain_n, word_gain = bleu_tangent(stats_K)
        longer_K = np.array([1, 0, 0, 0, 0, 0, 1, 1, 1, 1])
        for slope, step_K in [(word_gain, longer_K), *zip(gain_n, np.eye(10)[2:6], strict=True)]:
            both = bleu_scores(stats_K + np.outer([1e-6, -1e-6], step_K), smooth="add-1")
            assert (math.log(both[0]) - math.log(both[1])) / 2e-6 == pytest.approx(slope, rel=1e-5)


def test_references_with_no_word_of_the_lattice_and_none():
    lattice, _ = cases(1)[0]
    assert lattice_oracle(lattice, [["q", "q"]])[0].bleu == 0.0
    assert lattice_oracle(lattice, [[]])[0].bleu == 0.0
    with pytest.raises(InputError, match="needs a reference"):
        lattice_oracle(lattice, [])


def test_an_example_wants_all_derivations_of_its_oracles():
    for lattice, references in cases(6, length=4):
        example = oracle_example(lattice, references, count=3)
        words = {oracle.path.words for oracle in lattice_oracle(lattice, references, count=3) if oracle.bleu > 0}
        expected = [path.arcs.tolist() for path in nbest(lattice, distinct=False) if path.words in words]
        target = validated(example).target
        assert sorted(target.arc_B[path].tolist() for path in all_paths(target.graph)) == sorted(expected)
        small = oracle_example(lattice, references, count=3, margin=0.0)
        assert len(all_paths(validated(small).target.graph)) == len(expected)
        assert small.arcs.candidates <= example.arcs.candidates
    assert oracle_example(lattice, [["q"]]) is None


# Lengths and matches of hypotheses as they can be: correct below total, totals falling with the order.
LENGTHS = st.tuples(st.integers(0, 12), st.integers(1, 12), st.lists(st.floats(0, 1), min_size=4, max_size=4))
LISTS = st.lists(st.lists(LENGTHS, min_size=1, max_size=4), min_size=1, max_size=4)


def statistics(rows: list[tuple[int, int, list[float]]]) -> NDArray[np.float64]:
    table = []
    for length, reference, shares in rows:
        total = [max(0, length - n) for n in range(4)]
        correct = [int(np.prod(shares[: n + 1]) * total[n]) for n in range(4)]
        table.append([length, reference, *correct, *total])
    return np.array(table, np.float64)


@given(LISTS)
def test_between_start_and_the_best_of_all_choices(lists: list[list[tuple[int, int, list[float]]]]) -> None:
    stats = statistics([row for rows in lists for row in rows])
    offsets = offsets_of([len(rows) for rows in lists])
    every = [
        bleu_scores(stats[list(chosen)].sum(axis=0, keepdims=True))[0]
        for chosen in product(*(range(a, b) for a, b in pairwise(offsets)))
    ]
    best, worst = oracle(stats, offsets), oracle(stats, offsets, worst=True)
    greedy = bleu_scores(stats, smooth="add-1")
    for found, sign in ((best, 1), (worst, -1)):
        start = [a + int((sign * greedy[a:b]).argmax()) for a, b in pairwise(offsets)]
        begun = bleu_scores(stats[start].sum(axis=0, keepdims=True))[0]
        assert sign * found.bleu >= sign * begun - 1e-9
        # No single change makes it better.
        for i, (a, b) in enumerate(pairwise(offsets)):
            for c in range(a, b):
                changed = found.chosen_I.copy()
                changed[i] = c
                assert sign * bleu_scores(stats[changed].sum(axis=0, keepdims=True))[0] <= sign * found.bleu + 1e-9
    assert min(every) - 1e-9 <= worst.bleu <= best.bleu <= max(every) + 1e-9
    if len(lists) == 1:
        assert np.isclose(best.bleu, max(every))
        assert np.isclose(worst.bleu, min(every))
