"""The aligner: finds an invented dictionary again, is repeatable, survives odd sentences."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from xlate.align.aligner import align
from xlate.align.direction import METHODS
from xlate.errors import InputError


def corpus(size, rng):
    """Sentences of an invented language whose word k means the English word k; the first word comes last."""
    source, target = [], []
    for _ in range(size):
        words = rng.choice(12, size=rng.integers(2, 6), replace=False).tolist()
        source.append([f"s{word}" for word in words])
        target.append([f"t{word}" for word in [*words[1:], words[0]]])
    return source, target


@pytest.mark.parametrize("method", sorted(METHODS))
def test_finds_the_dictionary(method, rng):
    source, target = corpus(120, rng)
    links = align(source, target, method, "intersection")
    found = [(source[s][i][1:], target[s][j][1:]) for s in range(len(links)) for i, j in links.pairs(s)]
    right = sum(i == j for i, j in found)
    assert right > 0.9 * len(found)
    assert right > 0.6 * sum(map(len, source))


def test_forward_gives_each_target_word_one_source_word(rng):
    source, target = corpus(60, rng)
    source = [[*sentence, "extra"] for sentence in source]
    forward = align(source, target, "ibm1", "forward")
    backward = align(source, target, "ibm1", "backward")
    for s in range(len(source)):
        targets = forward.sentence(s)[1].tolist()
        sources = backward.sentence(s)[0].tolist()
        assert len(targets) == len(set(targets))
        assert len(sources) == len(set(sources))
        assert all(j < len(target[s]) for j in targets)


def test_same_seed_same_links(rng):
    source, target = corpus(80, rng)
    one, two = (align(source, target, "eflomal", "union", seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.source_L, two.source_L)
    np.testing.assert_array_equal(one.target_L, two.target_L)
    np.testing.assert_array_equal(one.offsets_S1, two.offsets_S1)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_another_seed_draws_other_links(rng, direction):
    source, target = ([rng.choice(list("abcdefgh"), size=6).tolist() for _ in range(30)] for _ in range(2))
    one, two = (align(source, target, "eflomal", direction, seed=seed) for seed in (1, 2))
    assert [one.pairs(s) for s in range(30)] != [two.pairs(s) for s in range(30)]


def test_odd_sentences_get_no_links_and_do_no_harm(rng, caplog):
    source, target = corpus(60, rng)
    source[3], target[5], source[7] = [], [], ["s1"] * 1025
    source.append(["NULL", "UNKNOWN_WORD", "|||", "a b"])
    target.append(["NULL", "UNKNOWN_WORD", "|||", "a b"])
    with caplog.at_level(logging.WARNING):
        links = align(source, target, "fast_align", "union")
    assert len(links) == len(source)
    assert all(not links.pairs(s) for s in (3, 5, 7))
    assert caplog.text.count("left without links: 1") == 1
    assert links.pairs(60)


def test_nothing_to_align():
    links = align([[], ["a"]], [["b"], []], "fast_align")
    assert [links.pairs(s) for s in range(len(links))] == [[], []]
    assert len(align([], [], "eflomal")) == 0


def test_refusals():
    with pytest.raises(InputError, match="unknown alignment method") as caught:
        align([["a"]], [["b"]], "efflomal")
    assert "fast_align" in str(caught.value)
    with pytest.raises(InputError, match="unknown symmetrisation"):
        align([["a"]], [["b"]], "ibm1", "grown")
    with pytest.raises(InputError, match="differ in number of sentences") as caught:
        align([["a"]], [], "ibm1")
    assert caught.value.seen == "1 source and 0 target sentences"
