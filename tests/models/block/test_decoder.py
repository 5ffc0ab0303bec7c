"""Decoders over blocks against the enumeration of all they may output; their kernels against the readable search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.small_models import (
    LETTERS,
    REACH,
    SOURCE,
    block_set,
    enumerate_all,
    jumping,
    model_and_arpa,
    random_words,
    with_more,
)
from tests.parts import from_python
from xlate.errors import InputError
from xlate.kernels.features.blocks import jump_costs
from xlate.kernels.search import distortion_decoder
from xlate.models.block.decoder import BlockDecoder
from xlate.models.block.model import BlockModel
from xlate.models.distortion import DistortionDecoder, DistortionModel
from xlate.search.settings import BlockSearch, DistortionSearch
from xlate.text.vocabulary import EncodedText, Vocabulary

EVERYTHING: dict[str, Any] = {"beam": 10**9, "threshold": 0.0, "option_order": "count", "options": 2}
MODES = ["mon", "swap", "swap_or"]
rest_estimate = from_python(distortion_decoder.rest_estimate)
jumps_cost = from_python(jump_costs)
EACH_MODEL = pytest.mark.parametrize("name", [*MODES, "distortion"])


def decoder_of(name: str, seed: int, more: bool = False, fast: bool = True, **search: Any):
    """The decoder of a small random model."""
    if name == "distortion":
        model, _ = jumping(seed)
        search = {"unknown_direct": 3.0, "unknown_model1": 7.0, **search}
        return DistortionDecoder(with_more(model, seed) if more else model, DistortionSearch(**search), fast)
    model, _ = model_and_arpa(seed)
    search = {"unknown_unigram": 3.0, "unknown_lexical": 7.0, **search}
    return BlockDecoder(with_more(model, seed) if more else model, BlockSearch(mode=name, **search), fast)


def limits_of(name: str, seed: int) -> dict[str, Any]:
    """What a model may do, varied by a number."""
    search = {"end_of_sentence": seed % 3 > 0, "future_cost": seed % 5 > 0, "max_phrase": 1 + seed % 4}
    if name == "distortion":
        return {**search, "max_skips": seed % 3, "window": 2 + seed % 4}
    return {**search, "partition": ["off", "local"][seed % 2], "min_left_count": seed % 4}


def model_of(blocks: dict[tuple[str, str], tuple[int, int, int, float]], lexical: float, **features: Any) -> BlockModel:
    """A model of some blocks, whose only cost is the lexical one."""
    lm, weights = model_and_arpa(1)[0].lm, np.array([0.0, 0.0, 0.0, 0.0, lexical])
    return BlockModel(block_set(blocks), lm, SOURCE, lm.vocabulary, weights, weights, **features)


def decode(model: BlockModel, words: list[str], **search: Any):
    return BlockDecoder(model, BlockSearch(**search)).translate(words)


def parts(derivation) -> tuple:
    return tuple((*s.source_span, LETTERS[s.orientation], s.unit) for s in derivation.blocks)


@EACH_MODEL
def test_lists_without_limits_are_the_enumeration(name):
    """All derivations with their scores, and the best alone."""
    every = {**EVERYTHING, "coverage_beam": 10**9} if name == "distortion" else EVERYTHING
    sizes = []
    for seed in range(10):
        decoder = decoder_of(name, seed, seed // 2 % 2 > 0, **{**every, **limits_of(name, seed)})
        for length in (1, 2, 3, 6 if seed == 9 else 4):
            words = random_words(np.random.default_rng(100 * seed + length), length)
            oracle = enumerate_all(decoder.model, decoder.search, words)
            sizes.append(len(oracle))
            found = decoder.with_search(nbest=10**6, distinct=False).translate(words)
            assert [d.score for d in found] == pytest.approx([o.score for o in oracle], abs=1e-9)
            assert {(parts(d), tuple(d.words)) for d in found} == {(o.parts, o.words) for o in oracle}
            assert decoder.translate(words)[0].score == pytest.approx(oracle[0].score, abs=1e-9)
    assert max(sizes) > (20 if name == "mon" else 40)


@EACH_MODEL
def test_kernel_equals_readable_search(name):
    """The same graphs, and derivations step by step to the last bit of the score, with every kind of pruning."""
    swapped = 0
    for seed in range(8):
        search = {
            "beam": [1, 3, 10, 100][seed % 4],
            "threshold": [0.0, 1e-5, 0.1][seed % 3],
            "option_order": ["count", "score"][seed // 2 % 2],
            "options": [2, 20][seed % 2],
            "nbest": 3,
            "distinct": seed % 2 == 0,
            **limits_of(name, seed),
        }
        if name == "distortion":
            search |= {"coverage_beam": 1 + seed % 3}
        fast = decoder_of(name, seed, more=seed % 2 > 0, **search)
        slow = fast.changed(fast=False)
        for length in (1, 5, 9):
            words = random_words(np.random.default_rng(seed), length)
            found = fast.translate(words)
            assert found == slow.translate(words)
            assert_graphs_are_equal(slow, fast, words)
            expanded = len(np.unique(fast.graph(words).source_A))
            assert expanded <= search["beam"] * length + 1
            for derivation in found:
                assert_steps_add_up(derivation)
                swapped += any(LETTERS[step.orientation] == "L" for step in derivation.steps)
    assert (swapped > 3) == (name != "mon")


@pytest.mark.parametrize(
    ("name", "limit"),
    [("swap_or", {"threshold": 0.5}), ("distortion", {"threshold": 0.5}), ("distortion", {"coverage_beam": 1})],
)
def test_each_limit_leaves_fewer_hypotheses(name, limit):
    """That the beam does is seen where kernels are compared."""
    wide = {"beam": 10**9, "threshold": 0.0} | ({"coverage_beam": 10**9} if name == "distortion" else {})
    words = random_words(np.random.default_rng(2), 6)
    sizes = [len(decoder_of(name, 2, **wide | one).graph(words).label_A) for one in ({}, limit)]
    assert 0 < sizes[1] < sizes[0] / 2


def assert_steps_add_up(derivation) -> None:
    for step in derivation.steps:
        score = float(np.dot(step.floats, step.weights)) + step.sparse_score - step.normalizer
        assert step.score == pytest.approx(score, abs=1e-9)
        assert all(weight != 0 for _, weight in step.sparse)
    assert derivation.score == pytest.approx(sum(step.score for step in derivation.steps), abs=1e-9)


def assert_graphs_are_equal(slow, fast, words: list[str]) -> int:
    """Arc by arc; returns the number of nodes."""
    one, other = slow.graph(words), fast.graph(words)
    for column in ("source_A", "target_A", "label_A", "score_A", "score_N", "best_arc_N"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)
    assert one.goal == other.goal >= 0
    return len(one.score_N)


def test_large_graphs_are_equal():
    """Every array of the kernel has to grow, and different states meet in its hash tables."""
    model, _ = model_and_arpa(15, most=16)
    words = [str(word) for word in np.random.default_rng(15).choice(list("abc"), size=40)]
    search = BlockSearch(mode="swap", min_left_count=0, threshold=0.0)
    slow, fast = (BlockDecoder(model, search, way) for way in (False, True))
    assert assert_graphs_are_equal(slow, fast, words) > 4096


def test_without_blocks_all_words_are_copied():
    assert decode(model_of({}, -1.0), ["a", "b"], mode="mon")[0].words == ["a", "b"]


def test_options_by_count_or_by_score():
    model = model_of({("a", "u"): (9, 0, 0, 3.0), ("a", "v"): (5, 0, 0, 2.0), ("a", "w"): (1, 0, 0, 1.0)}, -1.0)

    def best(**search) -> list[str]:
        return decode(model, ["a"], **search)[0].words

    assert [best(options=most) for most in (1, 2, 3)] == [["u"], ["v"], ["w"]]
    assert best(options=1, option_order="score") == ["w"]
    both = decode(model, ["a"], options=2, option_order="score", nbest=9)
    assert [found.words for found in both] == [["w"], ["v"]]


def test_another_target_vocabulary(rng):
    """Blocks numbered otherwise than the language model give the same translations."""
    model, _ = model_and_arpa(8)
    other = Vocabulary(["y", "x", "w", "v", "u"])
    phrases = model.blocks.table.target_phrases
    again = other.ids([model.lm.vocabulary.word(w) for w in phrases.ids_T.tolist()])
    table = replace(model.blocks.table, target_phrases=EncodedText(again, phrases.offsets_S1))
    mapped = replace(model, blocks=replace(model.blocks, table=table), target_vocabulary=other)
    for length in (2, 6):
        words = random_words(rng, length)
        assert decode(mapped, words) == decode(model, words)


@given(st.integers(0, 5), st.integers(0, 2**12))
def test_the_estimate_of_a_coverage_is_that_of_its_gaps(first, mask):
    mask, n = mask & ~1, 24
    covered = set(range(first)) | {first + k for k in range(13) if mask >> k & 1}
    future_nn, total = np.random.default_rng(0).random((n + 1, n + 1)), 0.0
    for begin in set(range(n)) - covered:
        if begin == 0 or begin - 1 in covered:
            total += future_nn[begin, next(end for end in range(begin, n + 1) if end in covered or end == n)]
    assert rest_estimate(first, mask, n, future_nn) == pytest.approx(total)


def test_unusable_weights_and_too_long_a_sentence():
    model, _ = model_and_arpa(0)
    good = (model.blocks, model.lm, SOURCE, model.lm.vocabulary)
    five = np.ones(5)
    with pytest.raises(InputError, match="linked"):
        BlockModel(*good, np.ones(4), five)
    with pytest.raises(InputError, match="neutral"):
        BlockModel(*good, five, five * np.nan)
    keys = np.array([5, 3], np.uint64)
    with pytest.raises(InputError, match="not sorted"):
        BlockModel(*good, five, five, feature_keys=keys, feature_weights=np.ones(2))
    with pytest.raises(InputError, match="cannot be used"):
        BlockModel(*good, five, five, feature_keys=keys[:1], feature_weights=np.ones(2))
    jumps, _ = jumping(1)
    with pytest.raises(InputError, match="weights cannot be used"):
        DistortionModel(*good, np.zeros(5), jumps.distortion, jumps.model1_B)
    with pytest.raises(InputError, match="too long"):
        decode(model, ["a"] * 2_000_000, max_words=3_000_000)


def test_a_line_in_full():
    features = {"feature_keys": np.array([0 << 32 | 1], np.uint64), "feature_weights": np.array([0.75])}
    model = model_of({("a b", "v w"): (3, 0, 0, 0.5), ("c", "u"): (1, 0, 0, 1.0)}, -2.0, **features)
    decoder = BlockDecoder(model, BlockSearch())
    [derivation] = decoder.translate(["a", "b", "c", "zz"])
    assert decoder.explain(["A", "b", "c", "Zz"], derivation).split("\n") == [
        "[0,2) N  A b -> v w  (N=3)  -1.0000 = lexical -2×0.5=-1",
        "[2,3) R  c -> u  (N=1)  -1.2500 = lexical -2×1=-2, BB:a b|v w>c|u=0.75",
        "[3,4) R  Zz -> zz  (copied)  -40.0000 = lexical -2×20=-40",
        "end of sentence  0.0000",
        "sum -42.2500  v w u zz",
    ]
    local = decoder.with_search(partition="local")
    assert local.explain(["A", "b", "c", "Zz"], *local.translate(["a", "b", "c", "zz"])).split("\n")[1] == (
        "[2,3) R  c -> u  (N=1)  0.0000 = lexical -2×1=-2, partition=1.25, BB:a b|v w>c|u=0.75"
    )


def test_jumps_cost_what_the_words_landed_on_and_left_say() -> None:
    """As training reads them; the search is compared with words by the enumeration above."""
    model = jumping(3)[0]
    arrays, costs, phrases = model.feature_arrays.distortion, model.distortion, model.table.source_phrases
    for before, block in np.ndindex(3, 3):
        first, last = phrases[model.table.source_B[block]][0], phrases[model.table.source_B[before]][-1]
        for jump in (-9, -1, 0, 1, 9):
            column = min(max(jump, -REACH), REACH) + REACH
            expected = costs.inbound_VK[first, column], costs.outbound_VK[last, column]
            assert jumps_cost(arrays, before, 10, block, 9 + jump) == expected
