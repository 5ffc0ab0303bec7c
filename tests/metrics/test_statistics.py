"""Sentence statistics and their resampling; chrF, TER, NIST (against NLTK and a plain reading of mteval), LexAcc."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.nist_score import corpus_nist
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from xlate.errors import InputError
from xlate.metrics import statistics
from xlate.metrics.statistics import (
    bootstrap_counts,
    chrf_scores,
    lexical_statistics,
    nist_statistics,
    swap_masks,
    ter_scores,
)


@settings(max_examples=30)
@given(rows=st.lists(st.lists(st.integers(0, 9), min_size=18, max_size=18), min_size=1, max_size=6))
def test_chrf_equals_sacrebleu(rows: list[list[int]]) -> None:
    for row in rows:
        row[2::3] = [min(h, r, m) for h, r, m in zip(row[0::3], row[1::3], row[2::3], strict=True)]
    expected = [CHRF()._compute_f_score(row) for row in rows]
    np.testing.assert_allclose(chrf_scores(np.array(rows)), expected, rtol=1e-12)


@settings(max_examples=30)
@given(rows=st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 1.0, 2.5])), min_size=1, max_size=6))
def test_ter_equals_sacrebleu(rows: list[tuple[int, float]]) -> None:
    expected = [TER()._compute_score_from_stats(list(row)).score for row in rows]
    np.testing.assert_allclose(ter_scores(np.array(rows)), expected, rtol=1e-14)


def test_pieces_hold_as_many_rows_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "PIECE", 30)
    pieces = list(bootstrap_counts(7, 11, 1))
    assert [len(piece) for piece in pieces] == [4, 4, 3]
    assert all((piece.sum(axis=1) == 7).all() for piece in pieces)
    assert [len(piece) for piece in swap_masks(50, 2, 1)] == [1, 1]
    with pytest.raises(InputError, match="too few samples"):
        next(bootstrap_counts(3, 0, 1))


SENTENCE = st.lists(st.sampled_from("abcde"), min_size=1, max_size=9)
LONG = st.lists(st.sampled_from("abcde"), min_size=5, max_size=9)


@settings(max_examples=30)
@given(pairs=st.lists(st.tuples(LONG, SENTENCE), min_size=1, max_size=5))
def test_nist_equals_nltks_with_one_reference(pairs: list[tuple[list[str], list[str]]]) -> None:
    hypotheses = [hypothesis for hypothesis, _ in pairs]
    references = [[reference] for _, reference in pairs]
    expected = corpus_nist(references, hypotheses, n=5)
    assert nist_statistics(hypotheses, references).score() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def naive_nist(hypotheses: list[list[str]], references: list[list[list[str]]]) -> float:
    """NIST as the script mteval computes it, written order by order."""

    def counts(words: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    every = [words for given in references for words in given]
    score = 0.0
    for n in range(1, 6):
        whole = sum((counts(words, n) for words in every), Counter())
        begun = sum((counts(words, n - 1) for words in every), Counter()) if n > 1 else Counter()
        gain, total = 0.0, 0
        for hypothesis, given_ in zip(hypotheses, references, strict=True):
            for ngram, count in counts(hypothesis, n).items():
                total += count
                clipped = min(count, max(counts(words, n)[ngram] for words in given_))
                if clipped:
                    before = begun[ngram[:-1]] if n > 1 else sum(map(len, every))
                    gain += clipped * math.log2(before / whole[ngram])
        score += gain / max(1, total)
    words = sum(map(len, hypotheses))
    expected = sum(sum(map(len, given_)) / len(given_) for given_ in references)
    ratio = words / expected if expected else 1.0
    if ratio >= 1:
        return score
    return score * math.exp(math.log(0.5) * (math.log(ratio) / math.log(2 / 3)) ** 2) if ratio > 0 else 0.0


@settings(max_examples=30)
@given(
    texts=st.lists(
        st.tuples(st.lists(st.sampled_from("abc"), max_size=7), st.lists(SENTENCE, min_size=1, max_size=3)),
        min_size=1,
        max_size=4,
    )
)
def test_nist_equals_mtevals_with_any_number_of_references(texts: list[tuple[list[str], list[list[str]]]]) -> None:
    hypotheses = [hypothesis for hypothesis, _ in texts]
    references = [given_ for _, given_ in texts]
    expected = naive_nist(hypotheses, references)
    assert nist_statistics(hypotheses, references).score() == pytest.approx(expected, rel=1e-12, abs=1e-12)


WORDS = st.lists(st.sampled_from("abcd"), max_size=8)


def test_lexical_accuracy_by_hand() -> None:
    stats = lexical_statistics([["a", "b", "b"]], [[["b", "a", "c", "d"]]])
    assert stats.values_SK.tolist() == [[2, 3, 4]]
    assert stats.score() == pytest.approx(100 * 4 / 7)
    # Sentences are summed, not averaged.
    stats = lexical_statistics([["a"], list("bbbb")], [[["a"]], [list("cccc")]])
    assert stats.score() == pytest.approx(100 * 2 / 10)
    # Of several references the best one counts, and the order of words does not.
    assert lexical_statistics([["a", "b"]], [[["c"], ["b", "a"], []]]).score() == 100
