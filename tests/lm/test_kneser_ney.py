"""Estimation equals the definition, and what it gives are probabilities."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lm.oracles import CORPORA, FALLBACK, VOCABULARY, WORD_IDS, BackOff, KneserNey
from tests.phrases.small_corpora import assert_same, encoded
from xlate.arrays.ranges import pieces
from xlate.arrays.scratch import Scratch
from xlate.errors import InputError
from xlate.lm import arpa, kneser_ney, model
from xlate.lm.arpa import read_arpa, write_arpa
from xlate.lm.kneser_ney import PLACE_BYTES, count_windows, estimate
from xlate.lm.model import NgramModel
from xlate.text.lines import read_lines
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import BEGIN_ID, EncodedText, Vocabulary

MANY = Vocabulary(f"w{number}" for number in range(60))


def skewed_corpus(rng: np.random.Generator) -> list[list[int]]:
    """Words as uneven as in real text, so that discounts come from the counts."""
    ids = np.arange(3, len(MANY))
    shares = (ids - 2.0) ** -1.3
    return [rng.choice(ids, size=rng.integers(1, 9), p=shares / shares.sum()).tolist() for _ in range(60)]


def equals_oracle(sentences: list[list[int]], order: int, vocabulary: Vocabulary) -> KneserNey:
    """Sentences without words, which estimation skips, are added."""
    oracle = KneserNey(sentences, order, len(vocabulary))
    text = encoded([[], *sentences[:2], [], [], *sentences[2:], []])
    for n, table in enumerate(estimate(text, vocabulary, order).tables, start=1):
        grams = [tuple(words) for words in table.words_Kn.tolist()]
        assert len(set(grams)) == len(grams)
        assert set(grams) == (set(oracle.raw[n]) if n > 1 else {(w,) for w in range(len(vocabulary))})
        expected = [1.0 if g == (BEGIN_ID,) else oracle.probability(g[-1], g[:-1]) for g in grams]
        np.testing.assert_allclose(10**table.log10_K, expected, rtol=1e-10)
        weights = [oracle.gamma(g) if n < order else 1.0 for g in grams]
        np.testing.assert_allclose(10**table.backoff_K, weights, rtol=1e-10)
    return oracle


@settings(deadline=None, max_examples=80)
@given(CORPORA, st.integers(1, 4))
def test_equal_to_the_definition(sentences: list[list[int]], order: int) -> None:
    equals_oracle(sentences, order, VOCABULARY)


@pytest.mark.parametrize("order", [1, 3])
def test_equal_with_discounts_from_counts(rng: np.random.Generator, order: int) -> None:
    oracle = equals_oracle(skewed_corpus(rng), order, MANY)
    assert FALLBACK not in oracle.discounts.values(), "else like the test above"


def few_rows(length: int, size: int = 3) -> Iterator[slice]:
    return pieces(length, min(size, 3))


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from([0, *WORD_IDS]), max_size=7), max_size=8), st.integers(1, 5), st.booleans())
def test_equal_in_little_memory(tmp_path: Path, sentences: list[list[int]], order: int, none: bool) -> None:
    text = encoded([*sentences, [], [3]])
    whole = estimate(text, MANY, order)
    with Scratch(0, tmp_path) as scratch, pytest.MonkeyPatch.context() as patch:
        scratch.memory = 0 if none else PLACE_BYTES * 4
        for module in (kneser_ney, model, arpa):
            patch.setattr(module, "pieces", few_rows)
        # Parts that were counted before give the same.
        half = len(text) // 2
        counted = [*count_windows(text.part(0, half), order, scratch)]
        little = estimate(text.part(half, len(text)), MANY, order, scratch, counted)
        for one, other in zip(little.tables, whole.tables, strict=True):
            assert_same(one, other)
        write_arpa(tmp_path / "little.arpa", little)
        automaton = NgramModel.from_arpa(little, scratch)
        for seen, expected in zip(automaton.arrays, NgramModel.from_arpa(whole).arrays, strict=True):
            np.testing.assert_array_equal(seen, expected)
        assert any(tmp_path.glob("scratch-*/*"))
    write_arpa(tmp_path / "whole.arpa", whole)
    assert (tmp_path / "little.arpa").read_bytes() == (tmp_path / "whole.arpa").read_bytes()
    assert not any(tmp_path.glob("scratch-*"))


def test_fallback_discounts_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="xlate.lm.kneser_ney"):
        estimate(encoded([[3, 4]]), VOCABULARY, 2)
    assert "1-grams: too few counts" in caplog.text
    assert "2-grams: too few counts" in caplog.text


@pytest.mark.parametrize(
    ("sentences", "order", "message"),
    [([[3]], 0, "unusable order"), ([[3]], 8, "unusable order"), ([[], []], 2, "an empty corpus")],
)
def test_what_cannot_be_estimated_is_refused(sentences: list[list[int]], order: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimate(encoded(sentences), VOCABULARY, order)


@pytest.mark.corpus
@pytest.mark.slow
def test_equal_to_lmplz(shared_data: Path) -> None:
    """The ARPA of `lmplz -o 5` on the same text: the same n-grams, their natural logs within 2e-4."""
    theirs = read_arpa(shared_data / "moses" / "model" / "lm.en.5gram.arpa.gz")
    sentences = [split_tokens(line) for line in read_lines(shared_data / "moses" / "corpus" / "train.tok.en.gz")]
    vocabulary = Vocabulary(theirs.vocabulary.words[3:])
    ours = estimate(EncodedText.encode(sentences, vocabulary), vocabulary, 5)
    assert ours.counts == theirs.counts == [10_213, 80_002, 174_840, 244_283, 272_048]
    one, other = BackOff(ours), BackOff(theirs)
    # `<s>` is never predicted: its own log probability is a convention.
    one.logprob[BEGIN_ID,] = other.logprob[BEGIN_ID,]
    for found, expected in ((one.logprob, other.logprob), (one.backoff, other.backoff)):
        assert found.keys() == expected.keys()
        np.testing.assert_allclose([found[gram] for gram in expected], [*expected.values()], rtol=0, atol=2e-4)
