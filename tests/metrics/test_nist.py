"""NIST against NLTK (one reference) and against a plain reading of mteval (several)."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.nist_score import corpus_nist

from xlate.metrics.scores import nist_statistics

SENTENCE = st.lists(st.sampled_from("abcde"), min_size=1, max_size=9)
LONG = st.lists(st.sampled_from("abcde"), min_size=5, max_size=9)


@given(pairs=st.lists(st.tuples(LONG, SENTENCE), min_size=1, max_size=5))
def test_equals_nltk_with_one_reference(pairs: list[tuple[list[str], list[str]]]) -> None:
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


@given(
    texts=st.lists(
        st.tuples(st.lists(st.sampled_from("abc"), max_size=7), st.lists(SENTENCE, min_size=1, max_size=3)),
        min_size=1,
        max_size=4,
    )
)
def test_equals_mteval_with_any_number_of_references(texts: list[tuple[list[str], list[list[str]]]]) -> None:
    hypotheses = [hypothesis for hypothesis, _ in texts]
    references = [given_ for _, given_ in texts]
    expected = naive_nist(hypotheses, references)
    assert nist_statistics(hypotheses, references).score() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_two_thirds_of_the_length_halves_the_score() -> None:
    reference = list("abcdef")
    stats = nist_statistics([list("abcd")], [[reference]])
    gain = sum(k * math.log2(6) / k if n == 1 else 0.0 for n, k in zip(range(1, 6), [4, 3, 2, 1, 1], strict=True))
    assert stats.score() == pytest.approx(gain / 2)


def test_nothing_put_out_scores_nothing() -> None:
    assert nist_statistics([[]], [[["a"]]]).score() == 0.0
