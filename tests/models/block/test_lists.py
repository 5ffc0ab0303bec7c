"""Lists as arrays against the derivations of the same paths, for both models over blocks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.models.small_models import TARGET, jumping, model_and_arpa, random_words
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import Draw, listed, under_templates
from xlate.errors import InputError
from xlate.kernels.pairs import NEUTRAL
from xlate.models.block.decoder import BlockDecoder, BlockSearch
from xlate.models.block.lists import with_units
from xlate.models.distortion import DistortionDecoder
from xlate.search.settings import DistortionSearch
from xlate.text.vocabulary import EncodedText, Numbering

SEARCH: dict[str, Any] = {"beam": 40, "threshold": 0.0, "nbest": 12}
SYSTEMS = ["mon", "swap", "swap_or", "distortion"]


def system(name: str, seed: int, **settings: Any) -> Any:
    if name == "distortion":
        return DistortionDecoder(jumping(seed)[0], DistortionSearch(**SEARCH, **settings))
    return BlockDecoder(model_and_arpa(seed)[0], BlockSearch(**SEARCH, mode=name, **settings))


def units(name: str, derivation: Any) -> Counter[tuple[int, int]]:
    """The block before each block, -1 where the model does not ask for it, and the block."""
    asks = [name == "distortion" or step.orientation != NEUTRAL for step in derivation.blocks]
    pairs = zip(derivation.blocks, asks, strict=True)
    return Counter((max(step.predecessor, -1) if asked else -1, step.unit) for step, asked in pairs)


def check(name: str, decoder: Any, words: list[str], found: list[Any], made: CandidateBatch) -> None:
    """What arrays say of the derivations, in their order."""
    numbering, columns = Numbering(TARGET, words), len(decoder.weights.dense_D)
    used_D = decoder.weights_D[:columns] != 0
    assert len(found) == len(made.dense_CD) > 0
    assert len(np.unique(made.unit_PU, axis=0)) == len(made.unit_PU)
    for n, derivation in enumerate(found):
        assert made.words[n].tolist() == numbering.ids(derivation.words).tolist()
        expected_D = derivation.features_D[:columns] * used_D
        np.testing.assert_allclose(made.dense_CD[n], expected_D, rtol=1e-5, atol=1e-5)
        a, b = made.candidate_part_offsets_C1[n : n + 2]
        assert Counter(map(tuple, made.unit_PU[made.candidate_parts_K[a:b]].tolist())) == units(name, derivation)


@pytest.mark.parametrize("name", SYSTEMS)
def test_lists_hold_what_the_derivations_do(name: str) -> None:
    for seed in range(4):
        decoder = system(name, seed, distinct=seed % 2 > 0)
        words = random_words(np.random.default_rng(seed), 5)
        made = with_units(decoder, words)
        check(name, decoder, words, decoder.translate(words), made)
        assert not made.draws_C.any()


@pytest.mark.parametrize("name", ["swap_or", "distortion"])
def test_drawn_lists_are_those_of_the_system(name: str) -> None:
    decoder, words = system(name, 2), random_words(np.random.default_rng(2), 5)
    draw = Draw(40, 0.5, 7)
    space, ((offsets_N1, labels_L), draws_C) = decoder.space(words), draw.paths(decoder.graph(words).arcs, words)
    paths = pairwise(offsets_N1.tolist())
    found = [decoder.derivation(space, labels_L[a:b].tolist()) for a, b in paths]
    made = with_units(decoder, words, draw)
    check(name, decoder, words, found, made)
    assert made.draws_C.tolist() == draws_C.tolist()


@pytest.mark.parametrize("name", ["swap", "distortion"])
def test_ids_of_pairs_weigh_what_the_decoder_charged(name: str) -> None:
    """Of all features: those of weight 0 are there, too, so that they may get one."""
    decoder = system(name, 4)
    index, some = decoder.features, [random_words(np.random.default_rng(n), 5) for n in range(8)]
    made = [with_units(decoder, words) for words in some]
    every = [derivation for words in some for derivation in decoder.translate(words)]
    sums_C = [sum(step.sparse_score for step in derivation.steps) for derivation in every]
    references = EncodedText.from_ids([np.array([3], np.int32)] * len(some))
    lists = under_templates(
        listed(made, references, np.arange(len(some) + 1)), index, np.zeros(made[0].dense_CD.shape[1]), 1.0
    )
    ids, offsets_C1, _ = lists.flat_ids()
    found_C = [decoder.model.feature_weights[ids[a:b]].sum() for a, b in pairwise(offsets_C1.tolist())]
    np.testing.assert_allclose(found_C, sums_C, atol=1e-6)
    assert np.any(np.abs(sums_C) > 0.1)
    none = decoder.with_weights(decoder.weights.__class__.zeros(decoder.weights.dense_names, len(index)))
    assert none.features.of_units(np.array([[-1, 0], [0, -2]], np.int32))[0].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(none.features.keys_F, index.keys_F)


def test_a_float_without_weight_is_left_out_and_no_sentence_is_refused() -> None:
    decoder = system("distortion", 3)
    weights = decoder.weights.copy()
    weights.dense_D[1] = 0.0
    made = with_units(decoder.with_weights(weights), ["a", "b"])
    assert not made.dense_CD[:, 1].any()
    assert made.dense_CD[:, 0].any()
    with pytest.raises(InputError, match="empty"):
        with_units(decoder, [])
