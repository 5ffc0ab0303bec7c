"""N-best lists as arrays: the compiled paths, features and parts are those of the readable definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.models.phrase.definition import score_steps, sparse_ids
from tests.models.phrase.small_phrase_models import SPARSE_CASES, random_case
from tests.models.small_models import random_words
from xlate.kernels.search.best_paths import GraphArcs, Texts, k_best_paths
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.training import TunedPhrases
from xlate.text.vocabulary import Numbering


def words_of(decoder: PhraseDecoder, words: list[str]) -> list[list[str]]:
    """The target words of every hypothesis, from their numbers."""
    found = TunedPhrases(decoder).listing(decoder.weights, decoder, words)
    numbering = Numbering(decoder.model.target_vocabulary, words)
    return [numbering.words(found.words_T[a:b]) for a, b in pairwise(found.word_offsets_C1.tolist())]


@pytest.mark.parametrize(("kind", "templates"), SPARSE_CASES)
def test_features_and_parts_are_those_of_the_definitions(kind, templates):
    rng, model, weights_D, sparse_F = random_case([1, 2], kind, templates)
    search = PhraseSearch(algorithm="stack", stack=30, nbest=40, distinct=False, distortion_limit=4)
    decoder = PhraseDecoder(model, weights_D, search, sparse_F=sparse_F)
    for length in (1, 8, 66):
        words = random_words(rng, length)
        space = decoder.space(words)
        found = decoder.space_list(space)
        offsets_P1, ids_M = model.sparse.ids(found.parts[1])
        step = 0
        for derivation, target in zip(decoder.derivations(space, found), words_of(decoder, words), strict=True):
            expected = score_steps(model, weights_D, words, derivation.steps, sparse_F)
            assert derivation.features_D == pytest.approx(expected.features_D, abs=1e-9)
            assert derivation.score == pytest.approx(expected.score, abs=1e-9)
            assert derivation.words == expected.words == target
            offsets_N1, expected_ids = sparse_ids(model, words, derivation.steps)
            parts = found.parts[0][step : step + len(derivation.steps)]
            ids = [ids_M[offsets_P1[p] : offsets_P1[p + 1]].tolist() for p in parts]
            assert ids == [expected_ids[a:b].tolist() for a, b in pairwise(offsets_N1)]
            step += len(derivation.steps)


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_paths_are_distinct_by_the_words_of_their_labels(distinct, seed):
    rng, model, weights_D, _ = random_case(seed, "hier", "local")
    decoder = PhraseDecoder(model, weights_D, PhraseSearch(algorithm="stack", stack=20, nbest=300, distinct=distinct))
    words = ["zz", *random_words(rng, 7), "qq", "zz"]
    moves, graph = decoder.space(words), decoder.graph(words)
    expected = graph.best_paths(300, moves.words_of if distinct else None)
    found = decoder.space_list(moves)
    for n, (_, labels) in enumerate(expected):
        ends = found.paths.offsets_N1[n : n + 2]
        assert found.paths.labels_L[ends[0] : ends[1]].tolist() == labels[:-1]
    assert len(found) == n + 1


def test_no_goal_no_paths():
    arcs, costs = np.zeros(2, np.int32), np.zeros(2)
    texts = Texts(np.zeros(1, np.int64), np.zeros(0, np.int32), True)
    offsets_N1, labels_L, score_N = k_best_paths(GraphArcs(arcs, arcs, arcs, costs, -1, 1), texts, 5)
    assert offsets_N1.tolist() == [0]
    assert len(labels_L) == len(score_N) == 0
