"""The lattice of words has the paths of the lattice of phrases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.search.lattices import all_paths
from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights
from tests.models.small_models import model_and_arpa, random_words
from tests.search.lattice_paths import nbest
from xlate.errors import InputError
from xlate.formats.lattice import spelled_out
from xlate.models.block.decoder import BlockDecoder, BlockSearch
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch


def test_paths_and_scores_are_the_same():
    for seed in range(5):
        model, _ = model_and_arpa(seed, others=False)
        words = random_words(np.random.default_rng(seed), 4)
        lattice = BlockDecoder(model, BlockSearch()).lattice(words)
        made = spelled_out(lattice.graph, lattice.score_A, [lattice.arc_words(arc) for arc in range(len(lattice))])
        assert (made.graph.source_A < made.graph.target_A).all()
        assert (np.diff(made.graph.source_A) >= 0).all()
        found = sorted(
            (tuple(made.words[arc] for arc in path if made.words[arc]), float(made.score_A[path].sum()))
            for path in all_paths(made.graph)
        )
        expected = sorted((path.words, path.score) for path in nbest(lattice, distinct=False))
        assert [words for words, _ in found] == [words for words, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected])


@pytest.mark.parametrize("kind", [None, "wbe", "hier5"])
def test_a_phrase_lattice_has_the_derivations(kind):
    rng = np.random.default_rng(3)
    model = random_phrase_model(rng, kind)
    weights_D = random_weights(rng, model.size)
    decoder = PhraseDecoder(
        model, weights_D, PhraseSearch(algorithm="stack", nbest=10**6, distinct=False, distortion_limit=2)
    )
    words = ["a", "zz", "b"]
    arcs, arc_words = decoder.plain_lattice(words)
    made = spelled_out(arcs.graph, arcs.score_A, arc_words)
    found = sorted(
        (tuple(made.words[arc] for arc in path if made.words[arc]), float(made.score_A[path].sum()))
        for path in all_paths(made.graph)
    )
    expected = sorted((tuple(d.words), d.score) for d in decoder.translate(words))
    assert [spelled for spelled, _ in found] == [spelled for spelled, _ in expected]
    assert sorted(score for _, score in found) == pytest.approx(sorted(score for _, score in expected))
    with pytest.raises(InputError, match="without words"):
        decoder.plain_lattice([])
