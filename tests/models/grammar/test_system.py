"""A whole grammar as a system: words, scores and features are those of the CKY decoder."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.grammar.enumeration import whole_grammars
from tests.models.small_models import random_arpa
from xlate.errors import InputError
from xlate.formats.grammars.grammar import COPIES, LANGUAGE, NO_LIMIT, WORDS, Gap, Scfg, ScfgRule, glue_grammar, joined
from xlate.lm.model import NgramModel
from xlate.models.grammar.decoder import CkyDecoder
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.models.grammar.system import GrammarSystem
from xlate.search.settings import GrammarSearch

WEIGHTS = {"PhraseModel_0": 1.0, "Own": 2.0, "Glue": -0.3, LANGUAGE: 0.7, WORDS: 0.25, COPIES: -1.5}
MODEL = NgramModel.from_arpa(random_arpa(np.random.default_rng(2), 2))
AROUND = ScfgRule("X", ("ne", Gap("X", 1), "pas"), ("does", Gap("X", 1), "not"))
GO = ScfgRule("X", ("va",), ("go",))


def french() -> GrammarSystem:
    scfg = Scfg([AROUND, GO], ("score",), np.array([[-1.0], [-0.5]]))
    grammar = SynchronousGrammar(*joined([(scfg, NO_LIMIT), (glue_grammar(), NO_LIMIT)]), "S")
    return GrammarSystem(CkyDecoder(grammar, {"score": 2.0, "Glue": -0.25, COPIES: -10.0}))


@settings(max_examples=60)
@given(whole_grammars(), st.lists(st.sampled_from("abcz"), min_size=1, max_size=5))
def test_what_is_said_scores_as_its_features_do(grammar: SynchronousGrammar, sentence: list[str]) -> None:
    decoder = CkyDecoder(grammar, WEIGHTS, MODEL)
    expected = list(islice(decoder.translations(sentence), 3))
    system = GrammarSystem(decoder, GrammarSearch(nbest=3))
    if not expected:
        with pytest.raises(InputError, match="no derivation"):
            system.translate(sentence)
        return
    found = system.translate(sentence)
    assert [(tuple(one.words), one.score) for one in found] == [(one.words, one.score) for one in expected]
    for one in found:
        assert system.weights_D @ one.features_D == pytest.approx(one.score)
        assert all(0 <= a < b <= len(sentence) for step in one.steps for a, b in step.source_spans)


def test_a_rule_with_words_on_both_sides_of_a_gap_is_two_steps() -> None:
    (found,) = french().translate(["ne", "va", "pas"])
    assert [(step.target_words, step.source_spans) for step in found.steps] == [
        (("does",), ((0, 1), (2, 3))),
        (("go",), ((1, 2),)),
        (("not",), ((0, 1), (2, 3))),
    ]
    assert (found.score, found.copied) == (pytest.approx(2.0 * -1.5), 0)
    assert french().explain(found.source, found).splitlines()[:3] == [
        "S 0-3  [X,1] | [X,1]",
        "  X 0-3  ne [X,1] pas | does [X,1] not",
        "    X 1-2  va | go",
    ]


def test_words_that_no_rule_translates_are_copied_and_counted() -> None:
    (found,) = french().translate(["va", "zz"])
    assert (found.words, found.copied) == (["go", "zz"], 1)
    assert dict(zip(french().feature_names, found.features_D, strict=True))[COPIES] == 1.0


def test_no_words_give_no_words_and_many_words_go_in_pieces() -> None:
    system = french().with_search(max_words=2)
    assert system.translate([])[0].words == []
    (found,) = system.translate(["va", "va", "va"])
    assert found.words == ["go", "go", "go"]
    assert system.explain(found.source, found).count("S 0-") == 3


def test_what_it_has_not_is_said() -> None:
    for ask in (lambda: french().lattice(["va"]), lambda: french().force(["va"], ["go"])):
        with pytest.raises(InputError, match="bottom-up"):
            ask()


def test_other_weights_make_another_score() -> None:
    system = french()
    weights = system.weights
    weights.dense_D[weights.dense_names.index("score")] = 4.0
    (found,) = system.with_weights(weights).translate(["va"])
    assert found.score == pytest.approx(4.0 * -0.5)
