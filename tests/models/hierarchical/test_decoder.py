"""The left-to-right decoder against the enumeration of all derivations of the grammar."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.models.hierarchical.small_hierarchical_models import (
    enumerate_rules,
    random_rule_weights,
    random_rules,
    with_structure,
)
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch
from xlate.models.hierarchical.derivations import steps_back, tree
from xlate.models.hierarchical.options import backtracks
from xlate.models.hierarchical.structure import facts_of

EXACT = {"stack": 10**9, "threshold": 0.0, "options": 1000, "pop_limit": 10**6, "nbest": 10**6, "distinct": False}
SENTENCES = ["a", "d", "b a", "c a b", "b a c a", "a b zz c a", "d a b c a"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_span", [2, 10])
@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_every_derivation_is_found(seed, max_span, algorithm):
    rng = np.random.default_rng(seed)
    model, weights_D = random_rules(rng), random_rule_weights(rng)
    decoder = HierarchicalDecoder(model, weights_D, RuleSearch(algorithm=algorithm, max_span=max_span, **EXACT))
    for sentence in SENTENCES:
        words = sentence.split()
        expected = enumerate_rules(model, weights_D, max_span, words)
        found = decoder.translate(words)
        assert [d.score for d in found] == pytest.approx([d.score for d in expected], abs=1e-6)
        # Derivations are scored anew from the definitions; this is what the search itself charged.
        charged = [score for score, _ in decoder.graph(words).best_paths(10**6)]
        assert charged == pytest.approx([d.score for d in expected], abs=1e-6)
        assert found[0].words == expected[0].words or found[0].score == pytest.approx(expected[1].score)
        best = decoder.with_search(nbest=1).translate(words)[0]
        assert best.score == pytest.approx(expected[0].score, abs=1e-6)


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_every_derivation_is_found_with_structure_features(algorithm):
    rng = np.random.default_rng(11)
    model, sparse_F = with_structure(rng, random_rules(rng, 2))
    weights_D = random_rule_weights(rng, model.size)
    decoder = HierarchicalDecoder(model, weights_D, RuleSearch(algorithm=algorithm, **EXACT), sparse_F=sparse_F)
    for sentence in SENTENCES[:-1]:
        words = sentence.split()
        expected = enumerate_rules(model, weights_D, 10, words, sparse_F)
        found = decoder.translate(words)
        assert [d.score for d in found] == pytest.approx([d.score for d in expected], abs=1e-6)
        # Derivations are scored anew from the definitions; this is what the search itself charged.
        charged = [score for score, _ in decoder.graph(words).best_paths(10**6)]
        assert charged == pytest.approx([d.score for d in expected], abs=1e-6)
        assert weights_D @ found[0].features_D == pytest.approx(found[0].score, abs=1e-6)
    without = decoder.changed(sparse_F=None).translate(words)
    assert [d.score for d in without] != pytest.approx([d.score for d in found], abs=1e-3)


def test_facts_of_lists_are_those_of_the_definitions():
    rng = np.random.default_rng(12)
    model, _ = with_structure(rng, random_rules(rng))
    decoder = HierarchicalDecoder(model, random_rule_weights(rng, model.size), RuleSearch(**EXACT))
    for words in (sentence.split() for sentence in SENTENCES):
        space, listed = decoder.space(words), decoder.nbest_list(words)
        offsets, facts = listed.facts
        ends, labels = listed.paths.offsets_N1.tolist(), listed.paths.labels_L.tolist()
        for a, b in pairwise(ends):
            expected = facts_of(model, words, space.steps(labels[a:b])).tolist()
            assert sorted(facts[offsets[a] : offsets[b]].tolist()) == sorted(expected)


def test_lists_have_the_features_of_the_definitions():
    rng = np.random.default_rng(5)
    model, weights_D = random_rules(rng), random_rule_weights(rng)
    decoder = HierarchicalDecoder(model, weights_D, RuleSearch(**EXACT))
    for words in (sentence.split() for sentence in SENTENCES):
        space = decoder.space(words)
        listed = decoder.nbest_list(words)
        ends, labels = listed.paths.offsets_N1.tolist(), listed.paths.labels_L.tolist()
        for row, (a, b) in enumerate(pairwise(ends)):
            expected = decoder.derivation(space, labels[a:b])
            np.testing.assert_allclose(listed.features_ND[row], expected.features_D, atol=1e-6)


def test_a_rule_goes_back_to_gaps_on_its_left():
    rng = np.random.default_rng(6)
    model = random_rules(rng)
    decoder = HierarchicalDecoder(model, random_rule_weights(rng), RuleSearch(algorithm="stack", **EXACT))
    space = decoder.space(["c", "a", "b", "a", "c"])
    table = backtracks(space.options.matches)
    seen = set()
    for labels in decoder.nbest_labels(space):
        for step, label in zip(space.steps(labels), labels, strict=False):
            match, _ = space.options.taken_apart(np.array([label]))
            assert table[match[0], int(step.swapped)].tolist() == steps_back(step).tolist()
            seen.add(tuple(steps_back(step).tolist()))
    assert len(seen) >= 3


def test_the_tree_of_a_derivation_nests_gaps():
    rng = np.random.default_rng(7)
    decoder = HierarchicalDecoder(random_rules(rng), random_rule_weights(rng), RuleSearch(**EXACT))
    for derivation in decoder.translate(["c", "a", "b", "a", "b"])[:200]:
        above = []
        for depth, step in tree(derivation.steps):
            del above[depth:]
            assert step.glued == (depth == 0)
            if above:
                assert step.span in above[-1].gaps
            above.append(step)
