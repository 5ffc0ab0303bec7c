"""Sentence statistics and their resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from xlate.errors import InputError
from xlate.metrics import statistics
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.scores import chrf_scores, ter_scores
from xlate.metrics.statistics import Stats, bootstrap_counts, bootstrap_scores, interval, swap_masks


def stats_of(rows: int, seed: int = 0) -> Stats:
    random = np.random.default_rng(seed)
    return Stats("ter", random.integers(1, 20, size=(rows, 2)).astype(np.float64), ter_scores)


def test_the_score_is_that_of_the_summed_rows() -> None:
    stats = stats_of(12)
    summed = stats[:5].values_SK.sum(axis=0) + stats[5:].values_SK.sum(axis=0)
    assert stats.score() == ter_scores(summed[None])[0]
    assert len(stats[:5]) == 5


@given(rows=st.lists(st.lists(st.integers(0, 9), min_size=18, max_size=18), min_size=1, max_size=6))
def test_chrf_equals_sacrebleu(rows: list[list[int]]) -> None:
    for row in rows:
        row[2::3] = [min(h, r, m) for h, r, m in zip(row[0::3], row[1::3], row[2::3], strict=True)]
    expected = [CHRF()._compute_f_score(row) for row in rows]
    np.testing.assert_allclose(chrf_scores(np.array(rows)), expected, rtol=1e-12)


@given(rows=st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 1.0, 2.5])), min_size=1, max_size=6))
def test_ter_equals_sacrebleu(rows: list[tuple[int, float]]) -> None:
    expected = [TER()._compute_score_from_stats(list(row)).score for row in rows]
    np.testing.assert_allclose(ter_scores(np.array(rows)), expected, rtol=1e-14)


def test_bootstrap_interval_equals_sacrebleu() -> None:
    random = np.random.default_rng(3)
    words = ["a", "b", "c", "d", "e", "f", "g"]
    lines = [" ".join(random.choice(words, size=12)) for _ in range(60)]
    references = [" ".join(random.choice(words, size=11)) for _ in range(60)]
    metric = BLEU(tokenize="none")
    expected = metric.corpus_score(lines, [references], n_bootstrap=200)
    rows = metric._extract_corpus_statistics(lines, [references])
    stats = Stats("bleu", np.array(rows, dtype=np.float64), bleu_scores)
    found = interval(bootstrap_scores(stats, 200, 12345))
    assert found.mean == pytest.approx(expected._mean, rel=1e-6)
    assert found.half_width == pytest.approx(expected._ci, rel=1e-6)


def test_samples_draw_every_sentence_alike() -> None:
    counts_BS = np.concatenate(list(bootstrap_counts(7, 4000, 1)))
    assert counts_BS.shape == (4000, 7)
    assert (counts_BS.sum(axis=1) == 7).all()
    np.testing.assert_allclose(counts_BS.mean(axis=0), 1.0, atol=0.06)


def test_pieces_hold_as_many_rows_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "PIECE", 30)
    pieces = list(bootstrap_counts(7, 11, 1))
    assert [len(piece) for piece in pieces] == [4, 4, 3]
    assert all((piece.sum(axis=1) == 7).all() for piece in pieces)
    assert [len(piece) for piece in swap_masks(50, 2, 1)] == [1, 1]


def test_coins_fall_both_ways() -> None:
    kept_BS = next(swap_masks(5, 4000, 1))
    assert set(np.unique(kept_BS)) == {0.0, 1.0}
    np.testing.assert_allclose(kept_BS.mean(axis=0), 0.5, atol=0.05)


def test_no_samples_are_refused() -> None:
    with pytest.raises(InputError, match="too few samples"):
        bootstrap_scores(stats_of(3), 0, 1)
