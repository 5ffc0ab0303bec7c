"""Distances of translations from their places against the paper's formula, word by word."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from xlate.align.links import Links
from xlate.features import distances
from xlate.features.distances import UNLINKED, Distances, distance_classes, first_links
from xlate.models.phrase import sentence_scores
from xlate.text.encoded import EncodedText


def text(lengths: list[int]) -> EncodedText:
    return EncodedText.from_ids(np.zeros(length, np.int32) for length in lengths)


def by_definition(links: list[tuple[int, int]], span: tuple[int, int], m: int, n: int, reach: int) -> int:
    """Section 3.1.2: r = round(i · m / n - j), halves upwards; the class behind all where nothing is linked."""
    targets = [target for source, target in links if span[0] <= source < span[1]]
    if not targets:
        return 2 * reach + 1
    r = math.floor(min(targets) * m / n - span[0] + 0.5)
    return max(-reach, min(reach, r)) + reach


@pytest.mark.parametrize("reach", [1, 3])
def test_classes_are_those_of_the_formula(reach: int) -> None:
    rng = np.random.default_rng(reach)
    lengths = [rng.integers(1, 9, 40).tolist() for _ in range(2)]
    links = [[(s, t) for s in range(m) for t in range(n) if rng.random() < 0.2] for m, n in zip(*lengths, strict=True)]
    spans = [(k, a, b) for k, m in enumerate(lengths[0]) for a in range(m) for b in range(a + 1, m + 1)]
    texts = text(lengths[0]), text(lengths[1])
    first_T = first_links(texts[0], Links.from_pairs(links))
    sentence_I, start_I, end_I = np.array(spans).T
    found = distance_classes(Distances(reach), first_T, texts, sentence_I, start_I, end_I)
    expected = [by_definition(links[k], (a, b), lengths[0][k], lengths[1][k], reach) for k, a, b in spans]
    assert found.tolist() == expected
    assert set(expected) == set(range(2 * reach + 2)), "every class occurs"


def test_the_first_link_of_each_word() -> None:
    source = text([2, 0, 3])
    links = Links.from_pairs([[(1, 4), (1, 2)], [], [(0, 0), (2, 1)]])
    assert first_links(source, links).tolist() == [UNLINKED, 2, 0, UNLINKED, 1]


def test_shares_add_up_and_lean_on_all_phrases() -> None:
    shares = np.exp(Distances(1).log_shares(np.array([[5, 0, 0, 0], [0, 0, 0, 0]])))
    assert shares.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert shares[1].argmax() == 0
    assert shares[0, 0] > shares[1, 0]


def test_names() -> None:
    assert list(Distances(2).names(np.arange(6))) == ["-2…", "-1", "0", "+1", "+2…", "nowhere"]


@pytest.mark.parametrize("module", [distances, sentence_scores])
def test_examples_of_the_docstrings(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried
    assert not failed
