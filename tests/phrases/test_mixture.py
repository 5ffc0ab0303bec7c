"""Mixtures of language models and of phrase tables: by hand, by the definition, and their weights from a dev set."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lm.oracles import VOCABULARY, BackOff
from tests.phrases.small_corpora import table_of
from xlate.array_types import Floats
from xlate.lm.arpa import ArpaModel, NgramTable
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.phrases.mixture import em_weights, mixed_lm, mixed_table
from xlate.phrases.table import DIRECT_LEXICAL, DIRECT_PHRASE, INVERSE_PHRASE
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, EncodedText, Vocabulary

A, B = 3, 4
DEV = EncodedText.from_ids([np.array([A, B])])


def bigrams(unigrams: list[float], pairs: dict[tuple[int, int], float]) -> ArpaModel:
    """A bigram model of `<unk>`, `<s>`, `</s>`, a and b; back-off weights make its probabilities sum to 1."""
    backoff_V = np.zeros(5)
    for context in {first for first, _ in pairs}:
        listed = {second: p for (first, second), p in pairs.items() if first == context}
        backoff_V[context] = np.log10((1 - sum(listed.values())) / (1 - sum(unigrams[w] for w in listed)))
    words_K2 = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    log10_K = np.log10([pairs[first, second] for first, second in words_K2.tolist()])
    ones = NgramTable(np.arange(5, dtype=np.int32)[:, None], np.log10(unigrams), backoff_V)
    return ArpaModel(Vocabulary("ab"), [ones, NgramTable(words_K2, log10_K, np.zeros(len(pairs)))])


def test_mixed_language_models_by_the_definition(rng: np.random.Generator) -> None:
    """Listed n-grams have the mixed probability, and after any context the probabilities sum to 1."""
    words = np.arange(3, len(VOCABULARY))
    texts = [EncodedText.from_ids(rng.choice(words, size=rng.integers(1, 6)) for _ in range(8)) for _ in range(2)]
    models, weights_I = [estimate(text, VOCABULARY, 3) for text in texts], np.array([0.3, 0.7])
    mixed = mixed_lm(models, texts[0], weights_I)
    parts, whole, automaton = [BackOff(model) for model in models], BackOff(mixed), NgramModel.from_arpa(mixed)
    assert set(whole.logprob) == set(parts[0].logprob) | set(parts[1].logprob)
    for *context, word in set(whole.logprob) - {(BEGIN_ID,)}:
        wanted = sum(w * np.exp(part.score(tuple(context), word)) for w, part in zip(weights_I, parts, strict=True))
        assert np.exp(whole.score(tuple(context), word)) == pytest.approx(wanted)
    predicted = [word for word in range(len(VOCABULARY)) if word != BEGIN_ID]
    for context in ((), (BEGIN_ID,), *((int(v), int(w)) for v in words for w in words)):
        state = automaton.score_words(0, np.array(np.array(context, np.int32), np.int32))[1]
        assert sum(np.exp(automaton.score(state, word)[0]) for word in predicted) == pytest.approx(1.0)


def test_a_mixture_makes_the_dev_set_likely_without_its_unknown_words() -> None:
    """p(b | a) is 0.6 in one and 0.4 in the other, p(</s> | b) 0.4 and 0.5; `<unk>` has 0.1 and 0.2."""
    one = bigrams([0.1, 1.0, 0.4, 0.3, 0.2], {(A, B): 0.6})
    other = bigrams([0.2, 1.0, 0.2, 0.2, 0.4], {(B, END_ID): 0.5})
    dev = EncodedText.from_ids([np.array([A, B]), np.array([UNKNOWN_ID])])
    # a, b, the end after b, and the end after the unknown word.
    weights_I = em_weights(np.array([[0.3, 0.6, 0.4, 0.4], [0.2, 0.4, 0.5, 0.2]]), np.ones(4))
    mixed = mixed_lm([one, other], dev)
    np.testing.assert_allclose(10 ** mixed.tables[1].log10_K[0], weights_I @ [0.6, 0.4])


@pytest.fixture
def probability_IN(rng: np.random.Generator) -> Floats:
    return rng.uniform(0.001, 1.0, (2, 40)) ** 3


def log_likelihood(weights_I: Floats, probability_IN: Floats) -> float:
    """Of the events, and of one more per model that it alone knows."""
    return float(np.log(weights_I @ probability_IN).sum() + np.log(weights_I).sum())


def test_em_finds_the_best_weights_of_a_grid(probability_IN: Floats) -> None:
    weights_I, step = em_weights(probability_IN, np.ones(40)), 0.001
    grid = [(w, 1 - w) for w in np.arange(step, 1, step)]
    best = max(grid, key=lambda pair: log_likelihood(np.array(pair), probability_IN))
    assert weights_I[0] == pytest.approx(best[0], abs=step)
    assert 0.1 < best[0] < 0.9


def test_weights_by_em() -> None:
    """Thirty events that only one model knows, ten that only the other does, some that neither does."""
    probability_IN = np.array([[0.5] * 2 + [0.0] * 3, [0.0] * 2 + [0.1] + [0.0] * 2])
    np.testing.assert_allclose(em_weights(probability_IN, np.array([20, 10, 10, 5, 5])), [31 / 42, 11 / 42])
    better = em_weights(np.array([[0.2] * 50, [0.1] * 50]), np.ones(50))
    assert better[0] > 0.95


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
