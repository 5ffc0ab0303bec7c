"""Perplexity by its definition, and as KenLM gives it on real text."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lm.oracles import VOCABULARY, BackOff, back_off_models
from xlate.lm.arpa import ArpaModel, read_arpa
from xlate.lm.model import NgramModel, perplexity
from xlate.text.lines import read_lines
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import BEGIN_ID, END_ID

WORDS = st.lists(st.sampled_from([*"abcde", "nowhere"]), max_size=6)


@settings(deadline=None, max_examples=60)
@given(
    back_off_models(), st.lists(st.lists(st.sampled_from([*"abcde", "nowhere"]), max_size=6), min_size=1, max_size=4)
)
def test_equal_to_the_definition(arpa: ArpaModel, sentences: list[list[str]]) -> None:
    oracle = BackOff(arpa)
    known, unknown = [], []
    for sentence in sentences:
        ids = [BEGIN_ID, *VOCABULARY.ids(sentence).tolist(), END_ID]
        for t in range(1, len(ids)):
            (known if ids[t] else unknown).append(oracle.score(tuple(ids[:t]), ids[t]))
    measured = perplexity(NgramModel.from_arpa(arpa), sentences)
    assert (measured.tokens, measured.unknown) == (len(known) + len(unknown), len(unknown))
    assert measured.including_unknown == pytest.approx(math.exp(-np.mean(known + unknown)), rel=1e-5)
    assert measured.excluding_unknown == pytest.approx(math.exp(-np.mean(known)), rel=1e-5)
    assert f"{len(unknown)} unknown of {measured.tokens} tokens" in str(measured)


@settings(deadline=None, max_examples=1)
@given(back_off_models())
def test_a_text_without_sentences(arpa: ArpaModel) -> None:
    measured = perplexity(NgramModel.from_arpa(arpa), [])
    assert math.isnan(measured.including_unknown)
    assert (measured.tokens, measured.unknown) == (0, 0)


@pytest.mark.corpus
@pytest.mark.slow
def test_equal_to_kenlm_on_real_text(shared_data: Path) -> None:
    """The figures of KenLM's `query` for the development set, as data/moses/README.md gives them."""
    model = NgramModel.from_arpa(read_arpa(shared_data / "moses" / "model" / "lm.en.5gram.arpa.gz"))
    lines = read_lines(shared_data / "moses" / "corpus" / "val.tok.en.gz")
    measured = perplexity(model, [split_tokens(line) for line in lines])
    assert (measured.tokens, measured.unknown) == (14_322, 168)
    assert measured.including_unknown == pytest.approx(36.12, abs=0.005)
    assert measured.excluding_unknown == pytest.approx(32.30, abs=0.005)
