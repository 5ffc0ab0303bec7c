"""The block decoders against the enumeration of everything they may output, and the kernel against the readable one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.small_models import (
    LETTERS,
    SOURCE,
    block_set,
    enumerate_all,
    model_and_arpa,
    random_words,
    with_more,
)
from xlate.errors import InputError
from xlate.models.block.decoder import BlockDecoder, BlockModel, BlockSearch
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary

EVERYTHING = {"beam": 10**9, "threshold": 0.0}
BOTH = pytest.mark.parametrize("fast", [False, True], ids=["readable", "kernel"])
MODES = ["mon", "swap", "swap_or"]
EACH_MODE = pytest.mark.parametrize("mode", MODES)


def decode(model: BlockModel, words: list[str], fast: bool = True, **search):
    return BlockDecoder(model, BlockSearch(**search), fast=fast).translate(words)


def parts(derivation) -> tuple:
    return tuple((*s.source_span, LETTERS[s.orientation], s.unit) for s in derivation.blocks)


def assert_is_best(found, oracle) -> None:
    """The first of an enumeration, or its equal."""
    assert found.score == pytest.approx(oracle[0].score, abs=1e-9)
    best = [o for o in oracle if o.score > oracle[0].score - 1e-9]
    assert (parts(found), tuple(found.words)) in [(o.parts, o.words) for o in best]


@BOTH
@EACH_MODE
def test_unlimited_beam_is_enumeration(mode, fast):
    for seed in range(16):
        model, arpa = model_and_arpa(seed)
        rng = np.random.default_rng(seed)
        search = {
            "mode": mode,
            "partition": ["off", "local"][seed % 2],
            "end_of_sentence": seed % 3 > 0,
            "future_cost": seed % 5 > 0,
            "max_phrase": 1 + seed % 4,
            "options": 2,
            **EVERYTHING,
        }
        for length in (1, 2, 3, 4):
            words = random_words(rng, length)
            [found] = decode(model, words, fast, **search)
            assert_is_best(found, enumerate_all(model, BlockSearch(**search), words, arpa))


@BOTH
@EACH_MODE
def test_optional_floats_are_in_the_score(mode, fast):
    for seed in range(6):
        model, arpa = model_and_arpa(seed)
        model = with_more(model, seed)
        words = random_words(np.random.default_rng(seed), 1 + seed % 3)
        search = {"mode": mode, "partition": ["off", "local"][seed % 2], "options": 2, **EVERYTHING}
        oracle = enumerate_all(model, BlockSearch(**search), words, arpa)
        found = decode(model, words, fast, nbest=10**6, distinct=False, **search)
        assert [d.score for d in found] == pytest.approx([o.score for o in oracle], abs=1e-9)
        assert [len(step.floats) for step in found[0].steps] == [8] * len(found[0].steps)


@BOTH
@EACH_MODE
def test_unlimited_beam_is_enumeration_of_six_words(mode, fast):
    sizes = []
    for seed in (77, 78, 79):
        model, arpa = model_and_arpa(seed)
        words = ["b", "a", "c", "zz", "b", "a"]
        search = {"mode": mode, "options": 2, **EVERYTHING}
        oracle = enumerate_all(model, BlockSearch(**search), words, arpa)
        sizes.append(len(oracle))
        assert_is_best(decode(model, words, fast, **search)[0], oracle)
    assert max(sizes) > (20 if mode == "mon" else 60)


@EACH_MODE
def test_kernel_equals_readable_decoder(mode):
    """The same derivations, step by step and to the last bit of the score, with every kind of pruning."""
    swapped = 0
    for seed in range(12):
        model, _ = model_and_arpa(seed, bigrams=seed % 4 > 0)
        rng = np.random.default_rng(seed)
        search = {
            "mode": mode,
            "beam": [1, 3, 10, 100][seed % 4],
            "threshold": [0.0, 1e-5, 0.1][seed % 3],
            "partition": ["off", "local"][seed % 2],
            "future_cost": seed % 5 > 0,
            "option_order": ["count", "score"][seed // 2 % 2],
            "options": [2, 20][seed % 2],
        }
        for length in (1, 5, 9):
            words = random_words(rng, length)
            readable = decode(model, words, False, **search)
            assert decode(model, words, True, **search) == readable
            several = {**search, "nbest": 7, "distinct": seed % 2 == 0}
            assert decode(model, words, True, **several) == decode(model, words, False, **several)
            swapped += any(LETTERS[s.orientation] == "L" for d in readable for s in d.steps)
    assert (swapped > 3) == (mode != "mon")


def assert_graphs_are_equal(model: BlockModel, words: list[str], search: BlockSearch) -> int:
    """Arc by arc; returns the number of nodes."""
    slow, fast = (BlockDecoder(model, search, fast=way).graph(words) for way in (False, True))
    for name in ("source_A", "target_A", "label_A", "score_A", "score_N", "best_arc_N"):
        np.testing.assert_array_equal(getattr(slow, name), getattr(fast, name), err_msg=name)
    assert slow.goal == fast.goal >= 0
    return len(slow.score_N)


def test_graphs_are_equal():
    for seed in range(4):
        model, _ = model_and_arpa(seed)
        assert_graphs_are_equal(model, random_words(np.random.default_rng(seed), 7), BlockSearch(beam=10))


def test_large_graphs_are_equal():
    """Every array of the kernel has to grow, and different states meet in its hash tables."""
    model, _ = model_and_arpa(15, most=16)
    words = [str(word) for word in np.random.default_rng(15).choice(list("abc"), size=40)]
    assert assert_graphs_are_equal(model, words, BlockSearch(mode="swap", min_left_count=0, threshold=0.0)) > 4096


@BOTH
@pytest.mark.parametrize("distinct", [False, True], ids=["all", "distinct"])
def test_nbest_is_the_sorted_enumeration(distinct, fast):
    for seed in range(9):
        model, arpa = model_and_arpa(seed)
        words = random_words(np.random.default_rng(seed), 3)
        search = {"mode": MODES[seed % 3], "options": 2, **EVERYTHING}
        oracle = enumerate_all(model, BlockSearch(**search), words, arpa)
        best_of_text: dict[tuple, float] = {}
        for one in oracle:
            best_of_text.setdefault(one.words, one.score)
        found = decode(model, words, fast, nbest=10**6, distinct=distinct, **search)
        expected = list(best_of_text.values()) if distinct else [o.score for o in oracle]
        assert [d.score for d in found] == pytest.approx(expected, abs=1e-9)
        if distinct:
            assert {tuple(d.words): d.score for d in found} == pytest.approx(best_of_text, abs=1e-9)
        else:
            assert {parts(d) for d in found} == {o.parts for o in oracle}
        few = decode(model, words, fast, nbest=3, distinct=distinct, **search)
        assert few == found[:3]


@given(seed=st.integers(0, 10**6), length=st.integers(1, 8), mode=st.sampled_from(MODES), local=st.booleans())
@settings(max_examples=25, deadline=None)
def test_every_score_is_features_times_weights(seed, length, mode, local):
    model, _ = model_and_arpa(seed)
    words = random_words(np.random.default_rng(seed), length)
    for derivation in decode(model, words, mode=mode, nbest=5, partition="local" if local else "off"):
        total = 0.0
        for step in derivation.steps:
            score = float(np.dot(step.floats, step.weights)) + step.sparse_score - step.normalizer
            assert step.score == pytest.approx(score, abs=1e-9)
            assert all(weight != 0 for _, weight in step.sparse)
            assert local or step.normalizer == 0
            total += score
        assert derivation.score == pytest.approx(total, abs=1e-9)
        assert sorted(i for s in derivation.blocks for i in range(*s.source_span)) == list(range(length))


def test_a_smaller_beam_is_never_better_than_all():
    """Scores fall or stay from beam to beam on average, and never rise above the unlimited beam's."""
    beams = [10**9, 50, 10, 3, 1]
    scores = np.zeros((20, len(beams)))
    for seed in range(len(scores)):
        model, _ = model_and_arpa(seed)
        words = random_words(np.random.default_rng(seed), 8)
        scores[seed] = [decode(model, words, beam=beam, threshold=0.0)[0].score for beam in beams]
    assert (scores <= scores[:, :1] + 1e-12).all()
    assert (np.diff(scores.mean(axis=0)) <= 0).all()
    assert scores[:, -1].mean() < scores[:, 0].mean() - 0.01


def test_threshold_keeps_or_loses():
    kept = [[], []]
    for seed in range(10):
        model, _ = model_and_arpa(seed)
        words = random_words(np.random.default_rng(seed), 7)
        decoders = [BlockDecoder(model, BlockSearch(beam=10**9, threshold=t)) for t in (0.0, 0.5)]
        graphs = [decoder.graph(words) for decoder in decoders]
        assert len(graphs[1].source_A) < len(graphs[0].source_A)
        for scores, graph in zip(kept, graphs, strict=True):
            scores.append(graph.score_N[graph.goal])
    assert (np.array(kept[1]) <= np.array(kept[0])).all()


def test_orientations_of_figure_1():
    """N, L, N, R: two neighbours exchanged, then two blocks in order (TZ07 Figure 1)."""
    model, _ = model_and_arpa(0)
    likes = {"a": "w", "b": "v", "c": "x"}
    blocks = block_set(dict.fromkeys(likes.items(), (5, 5, 5, 1.0)))
    model = BlockModel(blocks, model.lm, SOURCE, model.linked, model.neutral)
    everything = decode(model, ["a", "b", "c", "a"], mode="swap_or", nbest=10**6, distinct=False, **EVERYTHING)
    found = {}
    for derivation in everything:
        order = tuple(step.source_span[0] for step in derivation.blocks)
        found[order] = "".join(LETTERS[step.orientation] for step in derivation.blocks)
    assert found == {
        (0, 1, 2, 3): "NRRR",
        (1, 0, 2, 3): "NLNR",
        (0, 2, 1, 3): "NNLN",
        (0, 1, 3, 2): "NRNL",
        (1, 0, 3, 2): "NLNL",
    }


@BOTH
def test_left_only_where_it_was_seen_often_enough(fast):
    base, _ = model_and_arpa(3)
    blocks = block_set({("a", "u"): (9, 2, 5, 1.0), ("b", "v"): (9, 3, 5, 1.0)})
    model = BlockModel(blocks, base.lm, SOURCE, base.linked, base.neutral)

    def lefts(words: str, **search) -> set[str]:
        found = decode(model, words.split(), fast, nbest=100, **EVERYTHING, **search)
        return {d.source[s.source_span[0]] for d in found for s in d.blocks if LETTERS[s.orientation] == "L"}

    assert lefts("a b a", mode="swap_or") == {"b"}
    assert lefts("a b a", mode="swap_or", min_left_count=4) == set()
    assert lefts("a b a", mode="swap", min_left_count=0) == {"a", "b"}
    assert lefts("a b a", mode="swap", min_left_count=3) == {"b"}
    assert lefts("a b a", mode="mon") == set()
    assert lefts("zz a", mode="swap", min_left_count=0) == {"zz"}
    assert lefts("zz a", mode="swap_or") == set()


@BOTH
def test_swap_has_no_orientation_cost(fast):
    model, _ = model_and_arpa(5)
    other = BlockModel(model.blocks, model.lm, SOURCE, model.linked + [0, -9, 0, 0, 0], model.neutral)
    same = BlockModel(model.blocks, model.lm, SOURCE, model.linked, model.neutral)
    for length in (3, 6):
        words = random_words(np.random.default_rng(length), length)
        scores = {m: [decode(x, words, fast, mode=m)[0].score for x in (same, other)] for m in MODES}
        assert scores["swap"][0] == scores["swap"][1]
        assert scores["swap_or"][0] != scores["swap_or"][1]


@BOTH
def test_unknown_words_are_copied(fast):
    model, _ = model_and_arpa(1)
    [found] = decode(model, ["zz", "d", "||"], fast, max_phrase=1)
    assert found.words == ["zz", "d", "||"]
    assert [s.unit for s in found.blocks] == [-1, -1, -1]
    assert [s.floats[0] for s in found.blocks] == [20.0] * 3
    assert {s.sparse for s in found.steps} == {()}
    cheap = decode(model, ["zz"], fast, unknown_unigram=1.0, unknown_lexical=2.0)[0]
    assert (cheap.steps[0].floats[0], cheap.steps[0].floats[4]) == (1.0, 2.0)


@BOTH
def test_a_known_word_without_a_block_of_its_own_can_still_be_inside_a_longer_one(fast):
    base, _ = model_and_arpa(1)
    blocks = block_set({("a d", "u v"): (5, 5, 5, 0.1), ("a", "w"): (5, 5, 5, 0.1)})
    model = BlockModel(blocks, base.lm, SOURCE, np.full(5, -1.0), np.full(5, -1.0))
    assert decode(model, ["a", "d"], fast)[0].words == ["u", "v"]
    assert decode(model, ["d", "a"], fast, mode="mon")[0].words == ["d", "w"]


@BOTH
def test_empty_sentence_is_one_empty_derivation(fast):
    model, _ = model_and_arpa(1)
    for nbest in (1, 5):
        [found] = decode(model, [], fast, nbest=nbest)
        assert (found.words, found.steps, found.score) == ([], (), 0.0)


@BOTH
def test_no_blocks_at_all(fast):
    base, _ = model_and_arpa(1)
    model = BlockModel(block_set({}), base.lm, SOURCE, base.linked, base.neutral)
    assert decode(model, ["a", "b"], fast, mode="mon")[0].words == ["a", "b"]


def test_options_by_count_or_by_score():
    base, _ = model_and_arpa(2)
    weights = np.array([0.0, 0.0, 0.0, 0.0, -1.0])
    blocks = block_set({("a", "u"): (9, 0, 0, 3.0), ("a", "v"): (5, 0, 0, 2.0), ("a", "w"): (1, 0, 0, 1.0)})
    model = BlockModel(blocks, base.lm, SOURCE, weights, weights)

    def best(**search) -> list[str]:
        return decode(model, ["a"], **search)[0].words

    assert best(options=1) == ["u"]
    assert best(options=2) == ["v"]
    assert best(options=3) == ["w"]
    assert best(options=1, option_order="score") == ["w"]
    both = decode(model, ["a"], options=2, option_order="score", nbest=9)
    assert [found.words for found in both] == [["w"], ["v"]]


def test_end_of_sentence_is_the_last_step():
    model, _ = model_and_arpa(4)
    [found] = decode(model, ["a", "b"])
    last = found.steps[-1]
    history = model.lm.state_of([1, *model.lm.vocabulary.ids(found.words)])
    assert last.is_end
    assert last.source_span == (2, 2)
    assert last.floats[2] == pytest.approx(-model.lm.score(history, 2)[0])
    assert last.score == last.floats[2] * model.linked[2]
    [without] = decode(model, ["a", "b"], end_of_sentence=False)
    assert not without.steps[-1].is_end


def test_without_partition_normaliser_one_option_costs_nothing_with_it():
    model, _ = model_and_arpa(6)
    [found] = decode(model, ["zz"], partition="local", end_of_sentence=False)
    assert found.score == pytest.approx(0.0, abs=1e-12)
    assert decode(model, ["zz"], partition="off", end_of_sentence=False)[0].score != pytest.approx(0.0, abs=0.1)


def test_another_target_vocabulary(rng):
    """Blocks numbered otherwise than the language model give the same translations."""
    model, _ = model_and_arpa(8)
    other = Vocabulary(["y", "x", "w", "v", "u"])
    phrases = model.blocks.table.target_phrases
    again = other.ids([model.lm.vocabulary.word(w) for w in phrases.ids_T.tolist()])
    table = replace(model.blocks.table, target_phrases=EncodedText(again, phrases.offsets_S1))
    blocks = replace(model.blocks, table=table)
    mapped = BlockModel(
        blocks,
        model.lm,
        SOURCE,
        model.linked,
        model.neutral,
        feature_keys=model.feature_keys,
        feature_weights=model.feature_weights,
        target_vocabulary=other,
    )
    for length in (2, 6):
        words = random_words(rng, length)
        assert decode(mapped, words) == decode(model, words)


def test_unusable_weights():
    model, _ = model_and_arpa(0)
    good = (model.blocks, model.lm, SOURCE)
    five = np.ones(5)
    with pytest.raises(InputError, match="linked"):
        BlockModel(*good, np.ones(4), five)
    with pytest.raises(InputError, match="neutral"):
        BlockModel(*good, five, five * np.nan)
    keys = np.array([5, 3], dtype=np.uint64)
    with pytest.raises(InputError, match="not sorted"):
        BlockModel(*good, five, five, feature_keys=keys, feature_weights=np.ones(2))
    with pytest.raises(InputError, match="cannot be used"):
        BlockModel(*good, five, five, feature_keys=keys[:1], feature_weights=np.ones(2))


def test_too_long_a_sentence():
    model, _ = model_and_arpa(0)
    with pytest.raises(InputError, match="too long"):
        decode(model, ["a"] * 2_000_000, max_words=3_000_000)
