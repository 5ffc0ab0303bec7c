"""Features of phrases in their sentence, by hand, and their names.

Distances of translations from their places against the paper's formula, word by word.
"""

from __future__ import annotations

import doctest
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.phrases.small_corpora import encoded, table_of
from xlate.align.links import Links
from xlate.features import context
from xlate.features.context import (
    ContextFeatures,
    Distances,
    TargetFeatures,
    distance_classes,
    first_links,
)
from xlate.features.word_values import NO_WORDS, every_word, word_classes
from xlate.kernels.search.predictions import PhraseSpans
from xlate.models.phrase import model as phrase_model
from xlate.text.vocabulary import EncodedText, Vocabulary

WORDS = Vocabulary.build([["a", "b", "c", "d"]])
A, B, C, D = WORDS.ids(["a", "b", "c", "d"]).tolist()
ALL = every_word(WORDS.words)
POS = replace(NO_WORDS, name="pos", labels=("N", "V"))
TEXT = encoded([[A, B, C], [D]])
PHRASES = encoded([[A], [B], [B, C], [D]])


def names(
    features: ContextFeatures, *spans: tuple[int, ...], factors: Sequence[np.ndarray] = (), members: int = 0
) -> list[str]:
    """The features of spans, each given as its sentence, start, end and phrase."""
    offsets, ids = features.of(TEXT, factors, PhraseSpans(*map(np.array, zip(*spans, strict=True))))
    found = list(features.names(ids, PHRASES, WORDS, members))
    assert (ids < len(features)).all()
    return [" ".join(found[a:b]) for a, b in pairwise(offsets)]


def test_word_classes_are_named_with_their_words() -> None:
    classes = word_classes("class2", WORDS.words, {"a": "0", "b": "1", "c": "1", "d": "1"})
    features, begin = ContextFeatures((classes,), 1, "distance", 4), "always phrase=a class2[-1]=<begin>"
    assert names(features, (0, 0, 1, 0)) == [f"{begin} class2[first]=0 class2[last]=0 class2[+1]=1"]
    shown = f"{begin} class2[first]=0{{a}} class2[last]=0{{a}} class2[+1]=1{{b c …}}"
    assert names(features, (0, 0, 1, 0), members=2) == [shown]


def test_words_around_a_phrase_as_a_bag() -> None:
    found = names(ContextFeatures((ALL,), 2, "bag", 4), (0, 2, 3, 0))
    assert found == ["always phrase=a all[-]=b all[-]=a all[first]=c all[last]=c all[+]=<end>"]


def test_factors_are_values_of_tokens() -> None:
    values = [np.array([0, 1, -1, 1], np.int32)]
    assert names(ContextFeatures((POS,), 1, "distance", 4), (0, 1, 2, 1), (1, 0, 1, 3), factors=values) == [
        "always phrase=b pos[-1]=N pos[first]=V pos[last]=V",
        "always phrase=d pos[-1]=<begin> pos[first]=V pos[last]=V pos[+1]=<end>",
    ]


def test_different_features_have_different_ids() -> None:
    features = ContextFeatures((ALL, POS), 3, "distance", 4)
    every = list(features.names(np.arange(len(features)), PHRASES, WORDS))
    assert len(set(every)) == len(every) == 1 + 4 + 8 * (ALL.size + POS.size + 4)


def test_targets_by_pair_phrase_and_words() -> None:
    table = table_of([([A], [A, B]), ([A], [C]), ([B], [C])])
    every = TargetFeatures(table, ("pair", "phrase", "words"), len(WORDS))
    offsets, ids = every.of(np.array([2, 0]))
    assert offsets.tolist() == [0, 3, 7]
    assert list(every.names(ids, WORDS)) == [
        *("pair=c", "phrase=c", "word=c"),
        *("pair=a b", "phrase=a b", "word=a", "word=b"),
    ]
    # Pairs of one target phrase share all but the first.
    _, first = every.of(np.array([1]))
    assert set(ids[:3].tolist()) & set(first.tolist()) == set(ids[1:3].tolist())
    assert (ids < len(every)).all()


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


def test_shares_add_up_and_lean_on_all_phrases() -> None:
    shares = np.exp(Distances(1).log_shares(np.array([[5, 0, 0, 0], [0, 0, 0, 0]])))
    assert shares.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert shares[1].argmax() == 0
    assert shares[0, 0] > shares[1, 0]


@pytest.mark.parametrize("module", [context, phrase_model])
def test_examples_of_the_docstrings(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried
    assert not failed
