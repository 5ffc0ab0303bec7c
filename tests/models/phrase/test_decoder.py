"""The phrase decoder: enumeration, the readable search, and Moses's own output."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from tests.models.phrase.definition import force
from tests.models.phrase.moses_system import read_packed
from tests.models.phrase.small_phrase_models import KINDS, SPARSE_CASES, enumerate_derivations, random_case
from tests.models.small_models import random_words
from xlate.formats.moses_ini import read_moses_ini
from xlate.formats.moses_table import phrases_in
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.model import LM
from xlate.models.phrase.moses import moses_model

CASES = [*((kind, None) for kind in KINDS), *SPARSE_CASES]
WHOLE = {"stack": 10**9, "threshold": 0.0}


def decoders(model, weights_D, sparse_F=None, **settings):
    """The readable stack search, the compiled one, and cube pruning without a limit that matters."""
    stacks = PhraseDecoder(model, weights_D, PhraseSearch(algorithm="stack", **settings), sparse_F=sparse_F)
    return stacks.changed(fast=False), stacks, stacks.with_search(algorithm="cube", pop_limit=10**9)


@pytest.mark.parametrize(
    ("kind", "templates", "limit"),
    [*((kind, None, limit) for kind, limit in zip(KINDS, (-1, 0, 1, 2), strict=True)), *((*case, 3) for case in CASES)],
)
def test_lists_without_limits_are_the_sorted_enumeration(kind, templates, limit):
    _, model, weights_D, sparse_F = random_case(5, kind, templates)
    words = ["a", "zz", "a", "b"] if limit == 3 else ["a", "b", "c", "zz"]
    # Which options are kept must not matter where the enumeration ranks them without what is added here.
    limits = {"options": 10, "distortion_limit": 3} if limit == 3 else {"options": 2, "distortion_limit": limit}
    settings = {"future_cost": limit != 0, "distortion_future": limit > 1, **limits, **WHOLE}
    every = enumerate_derivations(model, weights_D, PhraseSearch(**settings), words, sparse_F)
    assert limit < 3 or len(every) > 50
    for decoder in decoders(model, weights_D, sparse_F, nbest=10**6, distinct=False, **settings):
        found = decoder.translate(words)
        assert [d.score for d in found] == pytest.approx([d.score for d in every], abs=1e-9)
        graph, one = decoder.graph(words), decoder.with_search(nbest=1).translate(words)[0]
        assert [graph.score_N[graph.goal], one.score] == pytest.approx([every[0].score] * 2, abs=1e-9)
        assert {d.steps for d in found} == {d.steps for d in every}


@pytest.mark.parametrize(("kind", "templates"), CASES)
def test_the_compiled_search_equals_the_readable_one(kind, templates):
    rng, model, weights_D, sparse_F = random_case(7, kind, templates)
    for length, stack in ((6, 20), (65, 3), (130, 2)):
        words = random_words(rng, length)
        settings = {"stack": stack, "threshold": 0.01, "distortion_limit": 3, "distortion_future": length == 6}
        slow, fast, cube = decoders(model, weights_D, sparse_F, **settings)
        expected, found = slow.translate(words)[0], fast.translate(words)[0]
        assert found.score == pytest.approx(expected.score, abs=1e-9)
        assert found.steps == expected.steps
        if length == 6 and templates is None:
            assert cube.translate(words)[0].score == pytest.approx(found.score, abs=1e-9)


def test_only_what_the_readable_search_expands_is_expanded():
    """Not only the best path: dropping early what cannot survive leaves the stacks as they are."""
    rng, model, weights_D, _ = random_case(11, "wbe", None)
    words = random_words(rng, 8)
    graphs = [decoder.graph(words) for decoder in decoders(model, weights_D, stack=4, threshold=0.01)[:2]]
    slow, fast = ([round(float(x), 9) for x in graph.score_N[np.unique(graph.source_A)]] for graph in graphs)
    assert set(fast) <= set(slow)
    assert len(fast) > len(slow) * 0.8


@pytest.mark.parametrize("key", ["future_cost", "distortion_future"])
def test_a_narrow_search_finds_more_with_estimates_of_what_is_left(key):
    rng, model, weights_D, _ = random_case(7, "wbe", None)
    sentences, found = [random_words(rng, 12) for _ in range(20)], []
    for given in (True, False):
        search = PhraseSearch(**{"algorithm": "stack", "stack": 2, "threshold": 0.0, "distortion_limit": 6, key: given})
        found.append(sum(PhraseDecoder(model, weights_D, search).translate(words)[0].score for words in sentences))
    assert found[0] > found[1]


def test_fewer_pops_find_less():
    rng, model, weights_D, _ = random_case(17, "wbe", None)
    words = random_words(rng, 10)
    scores = []
    for pops in (1, 10, 100_000):
        search = PhraseSearch(algorithm="cube", stack=50, threshold=0.0, pop_limit=pops)
        decoder = PhraseDecoder(model, weights_D, search)
        # The end of the sentence takes what the last level has.
        assert (decoder.graph(words).label_A != -1).sum() <= pops * len(words)
        scores.append(decoder.translate(words)[0].score)
    assert scores[0] < scores[-1] == max(scores)


def test_early_pruning_asks_less_and_finds_as_much_or_less():
    rng, model, weights_D, _ = random_case(19, "wbe", None)
    weights_D[LM] = 1.0
    words = random_words(rng, 10)
    arcs, scores = [], []
    for early in (0.0, 1e-30, 0.999999):
        decoder = PhraseDecoder(
            model, weights_D, PhraseSearch(algorithm="stack", stack=5, threshold=0.0, early_threshold=early)
        )
        arcs.append(len(decoder.graph(words).label_A))
        scores.append(decoder.translate(words)[0].score)
    assert arcs[0] == arcs[1] > arcs[2]
    assert scores[0] == scores[1] >= scores[2]


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{"stack": 200}, {"algorithm": "cube", "stack": 200, "pop_limit": 1000}], ids=["stack", "cube"]
)
def test_scores_are_at_least_those_of_moses(shared_data, settings):
    moses = shared_data / "moses"
    sources = [line.split() for line in read_packed(moses / "corpus" / "test_2016_flickr.tok.de.gz")][::40]
    model, weights_D = moses_model(read_moses_ini(moses / "moses.ini"), phrases_in(sources, 7))
    decoder = PhraseDecoder(model, weights_D, PhraseSearch(**{"algorithm": "stack", **settings}))
    best: dict[int, float] = {}
    with gzip.open(moses / "nbest" / "test_2016_flickr.100best.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            number, _, _, total, *_ = line.split("|||")
            best[int(number)] = max(float(total), best.get(int(number), -np.inf))
    found = [decoder.translate(words)[0] for words in sources]
    assert np.mean([d.score for d in found]) >= np.mean([best[40 * s] for s in range(len(sources))]) - 1e-3
    for words, derivation in zip(sources, found, strict=True):
        cuts = list(zip([step.source_span for step in derivation.steps], derivation.target_spans, strict=True))
        again = force(model, weights_D, words, derivation.words, cuts)
        np.testing.assert_allclose(again.features_D, derivation.features_D)
