"""Mixtures of language models and of phrase tables: by hand, by the definition, and their weights from a dev set."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.lm.oracles import VOCABULARY, WORD_IDS, BackOff
from tests.phrases.small_corpora import table_of
from xlate.lm.arpa import ArpaModel
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.phrases.mixture import em_weights, mixed_lm, mixed_table
from xlate.phrases.table import DIRECT_LEXICAL, DIRECT_PHRASE, INVERSE_PHRASE
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, EncodedText

A, B = 3, 4


DEV = EncodedText.from_ids([np.array([A, B]), np.array([UNKNOWN_ID])])


@pytest.fixture
def models(rng: np.random.Generator) -> list[ArpaModel]:
    texts = [EncodedText.from_ids(rng.choice(WORD_IDS, size=rng.integers(1, 6)) for _ in range(8)) for _ in range(2)]
    return [estimate(text, VOCABULARY, 3) for text in texts]


def test_mixed_language_models_by_the_definition(models: list[ArpaModel]) -> None:
    """Listed n-grams have the mixed probability, and after any context the probabilities sum to 1."""
    weights_I = np.array([0.3, 0.7])
    mixed = mixed_lm(models, DEV, weights_I)
    parts, whole, automaton = [BackOff(model) for model in models], BackOff(mixed), NgramModel.from_arpa(mixed)
    assert set(whole.logprob) == set(parts[0].logprob) | set(parts[1].logprob)
    for *context, word in set(whole.logprob) - {(BEGIN_ID,)}:
        wanted = sum(w * np.exp(part.score(tuple(context), word)) for w, part in zip(weights_I, parts, strict=True))
        assert np.exp(whole.score(tuple(context), word)) == pytest.approx(wanted)
    predicted = [word for word in range(len(VOCABULARY)) if word != BEGIN_ID]
    for context in ((), (BEGIN_ID,), *product(WORD_IDS, repeat=2)):
        state = automaton.score_words(0, np.array(context, np.int32))[1]
        assert sum(np.exp(automaton.score(state, word)[0]) for word in predicted) == pytest.approx(1.0)


def test_a_mixture_makes_the_dev_set_likely_without_its_unknown_words(models: list[ArpaModel]) -> None:
    events = [((BEGIN_ID,), A), ((BEGIN_ID, A), B), ((A, B), END_ID), ((BEGIN_ID, UNKNOWN_ID), END_ID)]
    probability_IN = np.exp([[BackOff(model).score(*event) for event in events] for model in models])
    expected = mixed_lm(models, DEV, em_weights(probability_IN, np.ones(4)))
    for found, table in zip(mixed_lm(models, DEV).tables, expected.tables, strict=True):
        np.testing.assert_allclose(found.log10_K, table.log10_K, rtol=0, atol=1e-5)


def test_em_ends_where_no_step_changes_the_weights(rng: np.random.Generator) -> None:
    """Each weight is the expected share of its model among the events and one more per model."""
    probability_IN = rng.uniform(0.001, 1.0, (2, 40)) ** 3
    share_IN = em_weights(probability_IN, np.ones(40))[:, None] * probability_IN
    expected_I = (1 + (share_IN / share_IN.sum(axis=0)).sum(axis=1)) / 42
    np.testing.assert_allclose(em_weights(probability_IN, np.ones(40)), expected_I, rtol=1e-5)


def test_weights_by_em() -> None:
    """Thirty events that only one model knows, ten that only the other does, some that neither does."""
    probability_IN = np.array([[0.5] * 2 + [0.0] * 3, [0.0] * 2 + [0.1] + [0.0] * 2])
    np.testing.assert_allclose(em_weights(probability_IN, np.array([20, 10, 10, 5, 5])), [31 / 42, 11 / 42])


TABLE = table_of([((A,), (A,)), ((A,), (B,)), ((B,), (A,))])


def test_two_phrase_tables_by_hand() -> None:
    """p(·|a) is 3/4, 1/4 in the first part and 0, 1 in the second; only the second has b."""
    count_IB = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0]])
    mixed, weights_I = mixed_table(TABLE, count_IB, np.zeros(3), np.array([0.4, 0.6]))
    assert weights_I.tolist() == [0.4, 0.6]
    np.testing.assert_allclose(mixed.scores_B4[:, DIRECT_PHRASE], [0.3, 0.1 + 0.6, 1.0])
    np.testing.assert_allclose(mixed.scores_B4[:, INVERSE_PHRASE], [0.4, 1.0, 0.6])
    np.testing.assert_allclose(mixed.scores_B4[:, DIRECT_LEXICAL], 1.0)
    # The part that is like the dev set weighs more.
    shares = [mixed_table(TABLE, count_IB, np.array(dev), None)[1][1] for dev in ([9.0, 3.0, 0.0], [0.0, 9.0, 9.0])]
    assert shares[0] < 0.2
    assert shares[1] > 0.8
