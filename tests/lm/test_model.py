"""The automaton answers every query like the dictionary model; saved models are whole or refused; perplexities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lm.oracles import SENTENCES, VOCABULARY, WORD_IDS, BackOff, back_off_models
from xlate.errors import InputError
from xlate.lm.arpa import ArpaModel, NgramTable, write_arpa
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel, perplexity
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText

CLOSE = {"rel": 1e-5, "abs": 1e-5}


def state_after(model: NgramModel, context: Sequence[int]) -> int:
    """The state after some words with nothing before them."""
    return model.score_words(0, np.array(context, np.int32))[1]


@settings(deadline=None, max_examples=100)
@given(back_off_models(), SENTENCES, st.booleans())
def test_equal_to_the_dictionary_model(arpa: ArpaModel, sentence: list[int], begins: bool) -> None:
    oracle, model = BackOff(arpa), NgramModel.from_arpa(arpa)
    context = (BEGIN_ID,) if begins else ()
    state = model.begin_state if begins else model.empty_state
    words = [*sentence, END_ID]
    expected = []
    for word in words:
        logprob, state = model.score(state, word)
        expected.append(oracle.score(context, word))
        assert logprob == pytest.approx(expected[-1], **CLOSE)
        context = (*context, word)
        assert state == state_after(model, context)
    ids_T = np.array(words, np.int32)
    first = model.begin_state if begins else model.empty_state
    assert model.score_words(first, ids_T) == (pytest.approx(sum(expected), **CLOSE), state)
    if begins:
        assert model.sentence_logprob(ids_T[:-1]) == pytest.approx(sum(expected), **CLOSE)


def test_states_are_few() -> None:
    """A context without followers and back-off weight gives way to its suffix."""
    unigrams = NgramTable(
        np.arange(8, dtype=np.int32)[:, None], np.full(8, -1.0), np.array([0, -0.1, 0, 0, -0.2, 0, 0, 0])
    )
    bigrams = NgramTable(np.array([[3, 4], [4, 5]], np.int32), np.full(2, -0.5), np.zeros(2))
    model = NgramModel.from_arpa(ArpaModel(VOCABULARY, [unigrams, bigrams]))
    assert state_after(model, [5]) == state_after(model, [0]) == state_after(model, [6, 7]) == model.empty_state
    assert state_after(model, [3, 4]) == state_after(model, [4]) != model.empty_state
    assert len({state_after(model, [3]), state_after(model, [4]), model.empty_state, model.begin_state}) == 4


@settings(deadline=None, max_examples=50)
@given(back_off_models(), st.lists(SENTENCES, max_size=5), st.integers(0, 2**32 - 1))
def test_batches_equal_single_queries(arpa: ArpaModel, sentences: list[list[int]], seed: int) -> None:
    model, rng = NgramModel.from_arpa(arpa), np.random.default_rng(seed)
    states_Q = rng.choice([state_after(model, s) for s in [*sentences, []]], size=20).astype(np.int32)
    words_Q = rng.integers(0, len(VOCABULARY) + 3, size=20).astype(np.int32)
    logprob_Q, after_Q = model.score_batch(states_Q, words_Q)
    single = [model.score(int(state), int(word)) for state, word in zip(states_Q, words_Q, strict=True)]
    assert list(zip(logprob_Q.tolist(), after_Q.tolist(), strict=True)) == single
    text = EncodedText.from_ids([np.array(s, np.int32) for s in sentences])
    expected = [model.sentence_logprob(text[s]) for s in range(len(text))]
    assert model.sentence_logprobs(text).tolist() == expected


def test_words_the_model_does_not_list(model: NgramModel) -> None:
    for state in (model.begin_state, model.empty_state):
        assert model.score(state, 999) == model.score(state, 0)


@pytest.mark.parametrize(
    ("grams", "message", "seen"),
    [
        ([[[3, 4]], [[3, 4, 5], [4, 4, 5]]], "beginning is missing", "b b c"),
        ([[[3, 4], [5, 4], [3, 4]]], "an n-gram appears twice", "a b"),
    ],
)
def test_ngrams_without_their_beginning_or_given_twice_are_refused(
    grams: list[list[list[int]]], message: str, seen: str
) -> None:
    unigrams = [[word] for word in range(8)]
    tables = [NgramTable(np.array(g, np.int32), np.full(len(g), -0.5), np.zeros(len(g))) for g in (unigrams, *grams)]
    with pytest.raises(InputError, match=message) as caught:
        NgramModel.from_arpa(ArpaModel(VOCABULARY, tables))
    assert caught.value.seen == seen


@pytest.fixture
def model(rng: np.random.Generator) -> NgramModel:
    sentences = [rng.choice(WORD_IDS, size=rng.integers(1, 9)).astype(np.int32) for _ in range(30)]
    return NgramModel.from_arpa(estimate(EncodedText.from_ids(sentences), VOCABULARY, 3))


def test_saved_is_loaded(model: NgramModel, tmp_path: Path) -> None:
    for _ in range(2):
        model.save(tmp_path / "lm")
    loaded = NgramModel.load(tmp_path / "lm")
    assert (loaded.order, loaded.vocabulary.words) == (model.order, model.vocabulary.words)
    assert loaded.begin_state == model.begin_state
    for one, other in zip(loaded.arrays, model.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_equal_to_kenlm(tmp_path: Path, rng: np.random.Generator) -> None:
    kenlm = pytest.importorskip("kenlm")
    sentences = [rng.choice(WORD_IDS[:-1], size=rng.integers(1, 9)).astype(np.int32) for _ in range(40)]
    arpa = estimate(EncodedText.from_ids(sentences), VOCABULARY, 4)
    write_arpa(tmp_path / "lm.arpa", arpa)
    theirs, ours = kenlm.Model(str(tmp_path / "lm.arpa")), NgramModel.from_arpa(arpa)
    for _ in range(50):
        words = [*rng.choice([*"abcde", "nowhere"], size=8).tolist(), "</s>"]
        state, before, after = ours.begin_state, kenlm.State(), kenlm.State()
        theirs.BeginSentenceWrite(before)
        for word in words:
            logprob, state = ours.score(state, ours.vocabulary.id(word))
            assert logprob / np.log(10) == pytest.approx(theirs.BaseScore(before, word, after), abs=1e-4)
            before, after = after, before


WORDS = st.lists(st.sampled_from([*"abcde", "nowhere"]), max_size=6)


@settings(deadline=None, max_examples=60)
@given(back_off_models(), st.lists(WORDS, min_size=1, max_size=4))
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


def test_a_text_without_sentences(model: NgramModel) -> None:
    measured = perplexity(model, [])
    assert math.isnan(measured.including_unknown)
    assert (measured.tokens, measured.unknown) == (0, 0)
