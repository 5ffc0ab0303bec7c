"""Whole grammars are searched as an enumeration of their derivations says, and by hand; or they are refused."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.synchronous import count_derivations
from tests.formats.written_rules import scfg_of
from tests.models.grammar.enumeration import TooMany, Way, enumerate_ways, glue, random_grammar
from tests.models.small_models import random_arpa
from xlate.errors import InputError
from xlate.formats.cdec import read_cdec_grammar
from xlate.formats.scfg import COPIES, LANGUAGE, NO_LIMIT, WORDS, joined
from xlate.lm.model import NgramModel
from xlate.models.derivation import Derivation
from xlate.models.grammar.parsing import COPY, SynchronousGrammar
from xlate.models.grammar.system import GrammarSystem
from xlate.search.settings import GrammarSearch
from xlate.text.terms import HARD, SOFT, Glossary

RULE_WEIGHTS = {"PhraseModel_0": 1.0, "PhraseModel_1": -0.5, "Own": 2.0, "Glue": -0.3}
WEIGHTS = {**RULE_WEIGHTS, LANGUAGE: 0.7, WORDS: 0.25, COPIES: -1.5}
MODELS = {order: NgramModel.from_arpa(random_arpa(np.random.default_rng(order), order)) for order in (1, 2, 3, 4)}
EXACT = GrammarSearch(pop_limit=10**9, nbest=10**6, distinct=False)
Scored = list[tuple[tuple[str, ...], float]]


def value(grammar: SynchronousGrammar, way: Way, model: NgramModel | None) -> tuple[tuple[str, ...], float]:
    """The words of a derivation and its score, each part from its definition."""
    scores_B = grammar.scfg.scores(RULE_WEIGHTS)
    score = sum(WEIGHTS[COPIES] if b == COPY else float(scores_B[b]) for b in way.rules)
    words = grammar.spoken(way.words)
    if model is not None:
        score += WEIGHTS[LANGUAGE] * model.sentence_logprob(model.vocabulary.ids(words))
    return words, score + WEIGHTS[WORDS] * len(way.words)


def rounded(found: Scored | list[Derivation]) -> Scored:
    scored = [(tuple(one.words), one.score) if isinstance(one, Derivation) else one for one in found]
    return sorted((words, round(score, 5)) for words, score in scored)


def test_terms_by_hand() -> None:
    """A hard term is the only rule over its words; a soft one stands beside the others."""
    rules = ("X → a b | u", "X → a | v", "S → X1 | X1", "S → S1 X2 | S1 X2")
    grammar = SynchronousGrammar(scfg_of(*rules, Own=[-1.0, -0.5, 0.0, 0.0]), "S")
    system = GrammarSystem(grammar, WEIGHTS, None, EXACT)

    def found(use: str) -> Scored:
        words = Glossary.of([(1, "b a", "t w")], (str.split, str.split), system.longest_term, use).marked(
            ["a", "b", "a"]
        )
        [*derivations] = system.translate(words)
        assert all("b a | t w (term)" in system.explain(words, one) for one in derivations if "t" in one.words)
        return rounded(derivations)

    hard = (("v", "t", "w"), round(2 * -0.5 + 3 * WEIGHTS[WORDS], 5))
    copied = (("v", "b", "v"), round(2 * 2 * -0.5 + 3 * WEIGHTS[WORDS] + WEIGHTS[COPIES], 5))
    assert found(HARD) == [hard]
    assert found(SOFT) == sorted([(("u", "v"), round(2 * -1.5 + 2 * WEIGHTS[WORDS], 5)), hard, copied])


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=5),
    st.sampled_from([None, *MODELS]),
    st.integers(1, 4),
    st.lists(st.sampled_from("uvwc"), max_size=5),
)
def test_derivations_are_those_of_an_enumeration(
    seed: int, sentence: list[str], order: int | None, pops: int, other: list[str]
) -> None:
    grammar, model = random_grammar(seed), None if order is None else MODELS[order]
    system = GrammarSystem(grammar, WEIGHTS, model, EXACT)
    try:
        expected = [value(grammar, way, model) for way in enumerate_ways(grammar, grammar.source(sentence))]
    except TooMany:
        assume(False)
    counts = Counter(words for words, _ in expected)
    for words in [*list(counts)[:10], tuple(other)]:
        assert count_derivations(grammar, sentence, words) == counts[words]
    if not expected:
        with pytest.raises(InputError, match="no derivation"):
            system.translate(sentence)
        return
    found = system.translate(sentence)
    assert rounded(found) == rounded(expected)
    assert all(one.score > two.score - 1e-9 for one, two in pairwise(found))
    for one in found[:20]:
        assert system.weights_D @ one.features_D == pytest.approx(one.score, abs=1e-4)
        assert all(0 <= a < b <= len(sentence) for step in one.steps for a, b in step.source_spans)
    best = {words: max(score for other, score in expected if other == words) for words in counts}
    assert rounded(system.with_search(distinct=True).translate(sentence)) == rounded(list(best.items()))
    assert {*rounded(system.with_search(pop_limit=pops).translate(sentence))} <= {*rounded(expected)}
    needed = grammar.needed_for([sentence, ["z"]])
    assert set(needed.scfg.rules) <= set(grammar.scfg.rules)
    assert [one.score for one in system.changed(grammar=needed).translate(sentence)] == [one.score for one in found]


def small(marked: bool = True) -> SynchronousGrammar:
    scfg = scfg_of("X → ne X1 pas | does X1 not", "X → va | go", "X → X1 de X2 | X2 's X1", f=[1.0, 2.0, 3.0])
    parts = [(scfg, 10), (glue(marked), NO_LIMIT)] if marked else [(scfg, 10)]
    return SynchronousGrammar(joined(parts), "S" if marked else "X")


def test_a_derivation_by_hand() -> None:
    system = GrammarSystem(small(), {"f": 1.0, COPIES: -10.0})
    (found,) = system.translate(["ne", "va", "pas", "Paul"])
    # A rule with words on both sides of a gap makes two steps.
    assert [(step.target_words, step.source_spans) for step in found.steps] == [
        (("does",), ((0, 1), (2, 3))),
        (("go",), ((1, 2),)),
        (("not",), ((0, 1), (2, 3))),
        (("Paul",), ((3, 4),)),
    ]
    assert (found.score, found.copied) == (3.0 - 10.0, 1)
    assert dict(zip(system.feature_names, found.features_D, strict=True))[COPIES] == 1.0
    assert system.explain(found.source, found).splitlines()[:7] == [
        "S 0-6  [S,1] </s> | [S,1] </s>",
        "  S 0-5  [S,1] [X,2] | [S,1] [X,2]",
        "    S 0-4  [S,1] [X,2] | [S,1] [X,2]",
        "      S 0-1  <s> | <s>",
        "      X 1-4  ne [X,1] pas | does [X,1] not",
        "        X 2-3  va | go",
        "    X 4-5  Paul | Paul (copied)",
    ]
    weights = system.weights
    weights.dense_D[weights.dense_names.index("f")] = 4.0
    assert system.with_weights(weights).translate(["va"])[0].score == pytest.approx(4.0 * 2)
    for ask in (lambda: system.lattice(["va"]), lambda: system.force(["va"], ["go"])):
        with pytest.raises(InputError, match="bottom-up"):
            ask()


def test_sentences_without_words_without_derivations_and_of_many_words() -> None:
    with_glue, without = GrammarSystem(small(), {}), GrammarSystem(small(False), {})
    assert with_glue.translate([])[0].words == without.translate([])[0].words == []
    assert without.translate(["va"])[0].words == ["go"]
    with pytest.raises(InputError, match="no derivation"):
        without.translate(["va", "va"])
    (found,) = with_glue.with_search(max_words=2).translate(["va", "va", "va"])
    assert found.words == ["go", "go", "go"]
    assert with_glue.explain(found.source, found).count("</s> |") == 2
    search = GrammarSearch(pop_limit=2, max_words=10**6, nbest=2)
    long = GrammarSystem(small(), {"f": 1.0, LANGUAGE: 0.5}, MODELS[3], search).translate(["ne", "va", "pas", "u"] * 80)
    assert long[0].words == ["does", "go", "not", "u"] * 80
    assert len(long) == 2


def test_different_translations_come_soon_among_many_derivations() -> None:
    """Of 30 equal words there are more derivations than could be looked through."""
    scfg = scfg_of("X → a | u", "X → a | v", "X → X1 X2 | X1 X2", f=[0.0, -1.0, 0.0])
    grammar = SynchronousGrammar(scfg, "X")
    found = GrammarSystem(grammar, {"f": 1.0}, search=GrammarSearch(pop_limit=50, nbest=5)).translate(["a"] * 30)
    assert len({tuple(each.words) for each in found}) == 5
    assert [each.words.count("v") for each in found] == [0, 1, 1, 1, 1]


def test_limits_of_spans_hold_where_rules_begin_alike() -> None:
    short = scfg_of("X → a X1 | w X1", "S → X1 | X1", "S → a X1 | u X1")
    parts = [(scfg_of("X → a | u", "X → a X1 b | v X1"), NO_LIMIT), (short, 2)]
    known = {"X a a": 1, "X a a a": 0, "X a a a b": 1, "X a a a a b": 0, "S a a": 2, "S a a b": 0}
    for (goal, *sentence), count in ((text.split(), count) for text, count in known.items()):
        system = GrammarSystem(SynchronousGrammar(joined(parts), goal), {}, search=EXACT)
        if count:
            assert len(system.translate(sentence)) == count, sentence
        else:
            with pytest.raises(InputError, match="no derivation"):
                system.translate(sentence)


@pytest.mark.parametrize(
    ("rules", "goal", "message", "seen"),
    [
        (["S → A1 | A1", "X → a | u"], "S", "an unknown label", "A in S → [A,1] | [A,1]"),
        (["X → a | u"], "S", "an unknown label", "S as the goal"),
        (["X → a | u", "X → X1 | u X1"], "X", "applied endlessly", "X → [X,1]"),
    ],
)
def test_what_cannot_be_parsed_with(rules: list[str], goal: str, message: str, seen: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        SynchronousGrammar(scfg_of(*rules), goal)
    assert seen in str(caught.value.seen)


def test_the_line_of_a_circle_is_named(tmp_path: Path) -> None:
    for name, text in (
        ("one", "[X] ||| a ||| u\n[Y] ||| b ||| v\n"),
        ("two", "[X] ||| a ||| u\n[Y] ||| [X,1] ||| [1]\n"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    parts = [(read_cdec_grammar(tmp_path / name), NO_LIMIT) for name in ("one", "two")]
    with pytest.raises(InputError, match="two:2: rules that can be applied endlessly") as caught:
        SynchronousGrammar(joined([*parts, (scfg_of("X → Y1 | Y1"), NO_LIMIT)]), "X")
    assert str(caught.value.seen).startswith("Y → [X,1] | [X,1], in the cycle ")


def test_labels_are_in_order_and_words_without_a_rule_are_copied() -> None:
    assert SynchronousGrammar(scfg_of("S → Y1 | Y1", "Y → X1 | X1"), "S").labels == ["X", "Y", "S"]
    found = SynchronousGrammar(scfg_of("X → a | u", "X → b c | v", "S → <s> | <s>"), "S")
    assert [word for word in ("a", "b", "c", "d", "<s>", "</s>") if found.copies(word)] == ["b", "c", "d"]
    assert found.source(["a"]) == ["<s>", "a", "</s>"]
