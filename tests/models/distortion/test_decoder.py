"""The phrase-distortion decoder against the enumeration of all it may output; its kernel against the readable one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.small_models import SOURCE, TARGET, _Scorer, model_and_arpa, more_costs, random_words, with_more
from xlate.errors import InputError
from xlate.kernels.search.distortion_decoder import allowed, cover, rest_estimate
from xlate.models.block.decoder import BlockSearch
from xlate.models.distortion.decoder import DistortionDecoder
from xlate.models.distortion.model import DistortionModel
from xlate.phrases.distortion import Distortion
from xlate.search.settings import DistortionSearch
from xlate.text.vocabulary import BEGIN_ID, END_ID

EVERYTHING = {"beam": 10**9, "coverage_beam": 10**9, "threshold": 0.0, "option_order": "count", "options": 2}
EVERYTHING |= {"unknown_direct": 3.0, "unknown_model1": 7.0}
BOTH = pytest.mark.parametrize("fast", [False, True], ids=["readable", "kernel"])
REACH = 2


def jumping(seed: int):
    """A random model with jump costs, and the language model as tables for the oracle."""
    model, arpa = model_and_arpa(seed)
    rng = np.random.default_rng(seed)
    words = len(SOURCE.words)
    distortion = Distortion(*(3 * rng.random((2, words, 2 * REACH + 1))).astype(np.float32))
    changed = DistortionModel(
        model.blocks, model.lm, SOURCE, rng.normal(-0.5, 0.3, size=7), distortion,
        (4 * rng.random(len(model.blocks))).astype(np.float32),
        feature_keys=model.feature_keys, feature_weights=model.feature_weights,
    )  # fmt: skip
    return changed, _Scorer(model, BlockSearch(mode="mon", options=2), [], arpa)


def orders(n: int, search: DistortionSearch, done: tuple[tuple[int, int], ...] = ()) -> Iterator[tuple]:
    """All sequences of spans in target order that the limits allow, by looking at each prefix as a whole."""
    covered = {p for begin, end in done for p in range(begin, end)}
    if covered:
        skipped = sorted(set(range(max(covered))) - covered)
        holes = sum(p - 1 not in skipped for p in skipped)
        if skipped and (holes > search.max_skips or max(covered) - skipped[0] >= search.window):
            return
    if len(covered) == n:
        yield done
        return
    for begin in range(n):
        for end in range(begin + 1, min(n, begin + search.max_phrase) + 1):
            if not covered & set(range(begin, end)):
                yield from orders(n, search, (*done, (begin, end)))


def enumerate_jumps(model, scorer, search, words) -> list[tuple[float, tuple[str, ...], tuple]]:
    """Every derivation, best first: score, target words, and (span, block) in target order."""
    scorer.words = words
    found = []
    for spans in orders(len(words), search):
        for blocks in product(*(scorer.options(span) for span in spans)):
            score, target = score_of(model, scorer, search, words, spans, blocks)
            found.append((score, target, tuple(zip(spans, blocks, strict=True))))
    return sorted(found, key=lambda row: -row[0])


def score_of(model, scorer, search, words, spans, blocks):
    history, target, total, last, before = (BEGIN_ID,), [], 0.0, 0, -1
    ids = SOURCE.ids(words).tolist()
    for (begin, end), b in zip(spans, blocks, strict=True):
        numbers = TARGET.ids(scorer.target(b, (begin, end))).tolist()
        costs = []
        for word in numbers:
            costs.append(-scorer.logprob(history, word))
            history = (*history, word)
        column = max(-REACH, min(REACH, begin - last + 1)) + REACH
        left = ids[last - 1] if last else BEGIN_ID
        floats = [
            search.unknown_direct if b < 0 else direct(model.blocks, b),
            search.unknown_model1 if b < 0 else float(model.model1_B[b]),
            costs[0], sum(costs[1:]),
            float(model.distortion.inbound_VK[ids[begin], column]), float(model.distortion.outbound_VK[left, column]),
            -len(numbers), *more_costs(model, b),
        ]  # fmt: skip
        total += float(np.dot(model.weights, floats)) + sparse(model, scorer, before, b)
        target += scorer.target(b, (begin, end))
        last, before = end, b
    if search.end_of_sentence:
        total -= float(model.weights[2]) * scorer.logprob(history, END_ID)
    return total, tuple(target)


def direct(blocks, b):
    same = [k for k in range(len(blocks)) if blocks.table.target_B[k] == blocks.table.target_B[b]]
    return float(np.float32(-np.log(blocks.count_B[b] / sum(blocks.count_B[k] for k in same))))


def sparse(model, scorer, before, b):
    if before < 0 or b < 0:
        return 0.0
    table = model.blocks.table
    t, u = int(table.target_B[before]), int(table.target_B[b])
    last, first = int(table.target_phrases[t][-1]), int(table.target_phrases[u][0])
    keys = (("BB", before, b), ("TP", t, u), ("WB", last, first))
    return sum(scorer.features.get(key, 0.0) for key in keys)


def decode(model, words, fast=True, **search):
    return DistortionDecoder(model, DistortionSearch(**search), fast).translate(words)


def parts(derivation):
    return tuple((step.source_span, step.unit) for step in derivation.blocks)


@BOTH
@pytest.mark.parametrize("max_skips", [0, 1, 2])
def test_unlimited_beam_is_enumeration(max_skips, fast):
    sizes = []
    for seed in range(12):
        model, scorer = jumping(seed)
        given = {
            "max_skips": max_skips, "window": 2 + seed % 4, "max_phrase": 1 + seed % 3,
            "end_of_sentence": seed % 3 > 0, "future_cost": seed % 5 > 0, **EVERYTHING,
        }  # fmt: skip
        for length in (1, 2, 3, 4):
            words = random_words(np.random.default_rng(100 * seed + length), length)
            oracle = enumerate_jumps(model, scorer, DistortionSearch(**given), words)
            sizes.append(len(oracle))
            [found] = decode(model, words, fast, **given)
            assert found.score == pytest.approx(oracle[0][0], abs=1e-9)
            best = [row[1:] for row in oracle if row[0] > oracle[0][0] - 1e-9]
            assert (tuple(found.words), parts(found)) in best
    assert max(sizes) > (10 if max_skips == 0 else 100)


@BOTH
def test_optional_floats_are_in_the_score(fast):
    for seed in range(6):
        model, scorer = jumping(seed)
        model = with_more(model, seed)
        words = random_words(np.random.default_rng(seed), 1 + seed % 3)
        given = {"window": 3, "max_phrase": 2, **EVERYTHING}
        oracle = enumerate_jumps(model, scorer, DistortionSearch(**given), words)
        found = decode(model, words, fast, nbest=10_000, distinct=False, **given)
        assert [d.score for d in found] == pytest.approx([row[0] for row in oracle], abs=1e-9)
        assert [len(step.floats) for step in found[0].steps] == [10] * len(found[0].steps)


@BOTH
def test_unlimited_beam_is_enumeration_of_six_words(fast):
    model, scorer = jumping(77)
    words = ["b", "a", "c", "zz", "b", "a"]
    given = {"max_skips": 2, "window": 4, "max_phrase": 3, **EVERYTHING, "options": 1}
    scorer.search = BlockSearch(mode="mon", options=1)
    oracle = enumerate_jumps(model, scorer, DistortionSearch(**given), words)
    assert len(oracle) > 200
    [found] = decode(model, words, fast, **given)
    assert found.score == pytest.approx(oracle[0][0], abs=1e-9)
    assert len({spans for _, _, spans in oracle}) == len(oracle)


@BOTH
@pytest.mark.parametrize("distinct", [True, False])
def test_nbest_is_the_sorted_enumeration(fast, distinct):
    for seed in range(6):
        model, scorer = jumping(seed)
        words = random_words(np.random.default_rng(seed), 3)
        given = {"window": 3, "max_phrase": 2, **EVERYTHING}
        oracle = enumerate_jumps(model, scorer, DistortionSearch(**given), words)
        if distinct:
            oracle = [row for n, row in enumerate(oracle) if row[1] not in {other[1] for other in oracle[:n]}]
        found = decode(model, words, fast, nbest=10_000, distinct=distinct, **given)
        assert [d.score for d in found] == pytest.approx([row[0] for row in oracle], abs=1e-9)
        assert distinct or {parts(d) for d in found} == {row[2] for row in oracle}


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 3), st.integers(1, 7), st.sampled_from([1, 4, 10**9]))
def test_the_kernel_equals_the_readable_search(seed, length, max_skips, window, beam):
    model, _ = jumping(seed)
    words = random_words(np.random.default_rng(seed), length)
    given = {"max_skips": max_skips, "window": window, "beam": beam, "coverage_beam": 1 + seed % 3, "nbest": 3,
             "threshold": [0.0, 1e-2][seed % 2], "option_order": ["count", "score"][seed // 2 % 2]}  # fmt: skip
    slow, fast = (decode(model, words, kind, **given) for kind in (False, True))
    assert fast == slow
    for derivation in fast:
        assert sorted(i for s in derivation.blocks for i in range(*s.source_span)) == list(range(length))
        total = 0.0
        for step in derivation.steps:
            score = float(np.dot(step.floats, step.weights)) + step.sparse_score
            assert step.score == pytest.approx(score, abs=1e-9)
            total += score
        assert derivation.score == pytest.approx(total, abs=1e-9)


def test_more_freedom_is_never_worse():
    for seed in range(8):
        model, _ = jumping(seed)
        words = random_words(np.random.default_rng(seed), 6)
        scores = [decode(model, words, max_skips=s, **EVERYTHING)[0].score for s in (0, 1, 2, 3)]
        assert scores == sorted(scores)


@given(st.integers(0, 5), st.integers(0, 2**12), st.integers(0, 3), st.integers(1, 12))
def test_what_is_allowed_and_estimated_equals_a_look_at_the_set(first, mask, max_skips, window):
    mask &= ~1
    n = 24
    covered = set(range(first)) | {first + k for k in range(13) if mask >> k & 1}
    skipped = sorted(set(range(max(covered, default=-1))) - covered)
    holes = sum(p - 1 not in skipped for p in skipped)
    expected = not skipped or (holes <= max_skips and max(covered) - skipped[0] < window)
    assert allowed(mask, max_skips, window) == expected
    future_nn = np.random.default_rng(0).random((n + 1, n + 1))
    ends, total = sorted(set(range(n)) - covered), 0.0
    for p in ends:
        if p - 1 not in ends:
            end = next(q for q in range(p, n + 1) if q not in ends)
            total += future_nn[p, end]
    assert rest_estimate(first, mask, n, future_nn) == pytest.approx(total)
    free = next(p for p in range(first, n) if p not in covered)
    after_first, after_mask = cover(first, mask, free, free + 1)
    after = set(range(after_first)) | {after_first + k for k in range(60) if after_mask >> k & 1}
    assert after == covered | {free}
    assert after_mask & 1 == 0


def test_a_trace_and_an_nbest_line_name_the_seven_floats():
    model, _ = jumping(3)
    words = ["a", "b", "c"]
    decoder = DistortionDecoder(model)
    [found] = decoder.translate(words)
    lines = decoder.explain(words, found).split("\n")
    assert len(lines) == len(found.steps) + 1
    assert "inbound" in lines[0]
    assert "outbound" in lines[0]
    line = decoder.nbest_line(4, found)
    values = dict(zip(*[iter(line.split(" ||| ")[2].replace("=", "").split())] * 2, strict=True))
    assert list(values) == [
        "direct", "model1", "lm_first", "lm_rest", "inbound", "outbound", "length", "binary"
    ]  # fmt: skip
    total = float(np.dot([float(v) for v in values.values()], [*model.weights, 1.0]))
    assert total == pytest.approx(found.score, abs=1e-6)


@BOTH
def test_no_words_and_unknown_words(fast):
    model, _ = jumping(1)
    assert decode(model, [], fast)[0].steps == ()
    assert decode(model, ["zz"], fast)[0].words == ["zz"]


def test_unusable_weights():
    model, _ = jumping(1)
    with pytest.raises(InputError, match="weights cannot be used"):
        DistortionModel(model.blocks, model.lm, SOURCE, np.zeros(5), model.distortion, model.model1_B)
