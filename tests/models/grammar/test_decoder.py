"""CKY without limits finds every derivation with its score; with limits it finds good ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.models.grammar.enumeration import Enumeration, TooMany, Way, glue, whole_grammars
from tests.models.small_models import random_arpa
from xlate.formats.grammars.grammar import COPIES, LANGUAGE, NO_LIMIT, WORDS, Gap, Scfg, ScfgRule, joined
from xlate.lm.model import NgramModel
from xlate.models.grammar.decoder import CkyDecoder
from xlate.models.grammar.parsing import COPY, SynchronousGrammar

WEIGHTS = {"PhraseModel_0": 1.0, "PhraseModel_1": -0.5, "Own": 2.0, "Glue": -0.3}
MORE = {LANGUAGE: 0.7, WORDS: 0.25, COPIES: -1.5}
MODELS = {
    order: NgramModel.from_arpa(random_arpa(np.random.default_rng(order), order)) for order in (1, 2, 3, 4)
}  # fmt: skip
sentences = st.lists(st.sampled_from("abc"), min_size=1, max_size=5)


def enumerated(grammar: SynchronousGrammar, sentence: list[str]) -> list[Way]:
    words = grammar.source(sentence)
    try:
        return Enumeration(grammar, words).of(grammar.goal, 0, len(words))
    except TooMany:
        assume(False)
        raise


def value(grammar: SynchronousGrammar, way: Way, model: NgramModel | None) -> tuple[tuple[str, ...], float]:
    """The words of a derivation and its score, each part from its definition."""
    scores_B = grammar.scfg.scores(WEIGHTS)
    score = sum(MORE[COPIES] if b == COPY else float(scores_B[b]) for b in way.rules) + MORE[WORDS] * len(way.words)
    words = tuple(word for word in way.words if word not in ("<s>", "</s>"))
    if model is not None:
        score += MORE[LANGUAGE] * model.sentence_logprob(model.vocabulary.ids(words))
    return words, score


def rounded(found: list[tuple[tuple[str, ...], float]]) -> list[tuple[tuple[str, ...], float]]:
    return sorted((words, round(score, 5)) for words, score in found)


@settings(max_examples=100)
@given(whole_grammars(), sentences, st.sampled_from([None, 1, 2, 3, 4]))
def test_all_derivations_are_found_with_their_scores(
    grammar: SynchronousGrammar, sentence: list[str], order: int | None
) -> None:
    model = None if order is None else MODELS[order]
    expected = [value(grammar, way, model) for way in enumerated(grammar, sentence)]
    decoder = CkyDecoder(grammar, {**WEIGHTS, **MORE}, model)
    found = list(decoder.translations(sentence, distinct=False))
    assert rounded([(each.words, each.score) for each in found]) == rounded(expected)
    assert all(one.score > two.score - 1e-9 for one, two in pairwise(found))
    for each in found[:20]:
        features = decoder.features(each.tree, sentence)
        weighted = sum(decoder.weights.get(name, 0.0) * value for name, value in features.items())
        assert weighted == pytest.approx(each.score, abs=1e-4)
        assert len(list(decoder.drawn(each.tree, sentence))) == len(list(each.tree.nodes()))
    texts = {words: max(score for other, score in expected if other == words) for words, _ in expected}
    only = list(decoder.translations(sentence))
    assert rounded([(each.words, each.score) for each in only]) == rounded(list(texts.items()))


@given(whole_grammars(), sentences, st.integers(1, 4))
def test_cube_pruning_finds_derivations_and_the_best_when_it_may_pop_all(
    grammar: SynchronousGrammar, sentence: list[str], pops: int
) -> None:
    ways = enumerated(grammar, sentence)
    expected = [value(grammar, way, MODELS[3]) for way in ways]
    pruned = list(CkyDecoder(grammar, {**WEIGHTS, **MORE}, MODELS[3], pops).translations(sentence, distinct=False))
    assert bool(pruned) == bool(expected)
    assert {*rounded([(each.words, each.score) for each in pruned])} <= {*rounded(expected)}
    whole = list(CkyDecoder(grammar, {**WEIGHTS, **MORE}, MODELS[3], 10**6).translations(sentence, distinct=False))
    assert rounded([(each.words, each.score) for each in whole]) == rounded(expected)


def small(marked: bool = True) -> SynchronousGrammar:
    one, two = Gap("X", 1), Gap("X", 2)
    rules = [
        ScfgRule("X", ("ne", one, "pas"), ("not", one)),
        ScfgRule("X", ("va",), ("goes",)),
        ScfgRule("X", (one, "de", two), (two, "'s", one)),
    ]
    scfg = Scfg(rules, ("f",), np.array([[1.0], [2.0], [3.0]]))
    parts = [(scfg, 10), (glue(marked), NO_LIMIT)] if marked else [(scfg, 10)]
    return SynchronousGrammar(*joined(parts), "S" if marked else "X")


def test_a_derivation_is_drawn_as_a_tree() -> None:
    decoder, sentence = CkyDecoder(small(), {"f": 1.0}), ["ne", "va", "pas", "Paul"]
    translation = next(decoder.translations(sentence))
    assert translation.words == ("not", "goes", "Paul")
    assert translation.score == 3.0
    assert list(decoder.drawn(translation.tree, sentence)) == [
        "S 0-6  [S,1] </s> | [S,1] </s>",
        "  S 0-5  [S,1] [X,2] | [S,1] [X,2]",
        "    S 0-4  [S,1] [X,2] | [S,1] [X,2]",
        "      S 0-1  <s> | <s>",
        "      X 1-4  ne [X,1] pas | not [X,1]",
        "        X 2-3  va | goes",
        "    X 4-5  Paul | Paul (copied)",
    ]


@pytest.mark.parametrize("pops", [None, 5])
def test_sentences_without_words_or_without_derivations(pops: int | None) -> None:
    with_glue, without = CkyDecoder(small(), {}, pops=pops), CkyDecoder(small(False), {}, pops=pops)
    assert [each.words for each in with_glue.translations([])] == [()]
    assert list(without.translations([])) == []
    assert list(without.translations(["va", "va"])) == []
    assert [each.words for each in without.translations(["va"])] == [("goes",)]


def test_a_long_sentence_is_glued() -> None:
    decoder = CkyDecoder(small(), {"f": 1.0, LANGUAGE: 0.5}, MODELS[3], pops=2)
    found = decoder.translations(["ne", "va", "pas", "u"] * 150)
    assert next(found).words == ("not", "goes", "u") * 150
    assert next(found).words


def test_different_translations_come_soon_among_many_derivations() -> None:
    """Of 30 equal words there are more derivations than could be looked through."""
    one, two = Gap("X", 1), Gap("X", 2)
    rules = [ScfgRule("X", ("a",), ("u",)), ScfgRule("X", ("a",), ("v",)), ScfgRule("X", (one, two), (one, two))]
    grammar = SynchronousGrammar(Scfg(rules, ("f",), np.array([[0.0], [-1.0], [0.0]])), [NO_LIMIT] * 3, "X")
    found = CkyDecoder(grammar, {"f": 1.0}, pops=50).translations(["a"] * 30)
    texts = [next(found).words for _ in range(5)]
    assert len({*texts}) == 5
    assert texts[0] == ("u",) * 30
    assert {words.count("v") for words in texts[1:]} == {1}


def test_a_limit_below_1_is_refused() -> None:
    with pytest.raises(ValueError, match="pops"):
        CkyDecoder(small(), {}, pops=0)


def test_limits_of_spans_hold_where_rules_begin_alike() -> None:
    x = Gap("X", 1)
    base = [ScfgRule("X", ("a",), ("u",)), ScfgRule("X", ("a", x, "b"), ("v", x))]
    short = [ScfgRule("X", ("a", x), ("w", x)), ScfgRule("S", (x,), (x,)), ScfgRule("S", ("a", x), ("u", x))]
    parts = [(Scfg(rules, (), np.zeros((len(rules), 0))), limit) for rules, limit in ((base, NO_LIMIT), (short, 2))]
    known = {"X a a": 1, "X a a a": 0, "X a a a b": 1, "X a a a a b": 0, "S a a": 2, "S a a b": 0}
    for (goal, *sentence), count in ((text.split(), count) for text, count in known.items()):
        decoder = CkyDecoder(SynchronousGrammar(*joined(parts), goal), {})
        assert len(list(decoder.translations(sentence, distinct=False))) == count, sentence
