"""Whole grammars on disk, and those of what a text needs."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.grammars.small_grammars import same
from tests.models.grammar.enumeration import whole_grammars
from tests.models.small_models import random_arpa
from xlate.errors import InputError
from xlate.formats.grammars.grammar import COPIES, LANGUAGE, NO_LIMIT, WORDS, Gap, Scfg, ScfgRule, glue_grammar, joined
from xlate.lm.model import NgramModel
from xlate.models.grammar.decoder import CkyDecoder
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.models.grammar.store import load_grammar, save_grammar

WEIGHTS = {"PhraseModel_0": 1.0, "PhraseModel_1": -0.4, "Own": 2.0, "Glue": -0.3, WORDS: 0.25, COPIES: -1.5}
MODEL = NgramModel.from_arpa(random_arpa(np.random.default_rng(2), 2))


@settings(max_examples=40)
@given(whole_grammars(), st.booleans())
def test_there_and_back(grammar: SynchronousGrammar, with_model: bool) -> None:
    with TemporaryDirectory() as folder:
        save_grammar(Path(folder), grammar, MODEL if with_model else None)
        found, model = load_grammar(Path(folder))
        assert same(found.scfg, grammar.scfg)
        assert (found.limits, found.goal, found.copy_label) == (grammar.limits, grammar.goal, grammar.copy_label)
        assert (found.labels, found.marked) == (grammar.labels, grammar.marked)
        assert (model is not None) == with_model
        assert model is None or np.array_equal(model.arrays.slots_H, MODEL.arrays.slots_H)


@settings(max_examples=60)
@given(whole_grammars(), st.lists(st.lists(st.sampled_from("abcz"), min_size=1, max_size=4), min_size=1, max_size=2))
def test_what_a_text_needs_translates_it_alike(grammar: SynchronousGrammar, text: list[list[str]]) -> None:
    needed = grammar.needed_for(text)
    whole, part = (CkyDecoder(one, {**WEIGHTS, LANGUAGE: 0.7}, MODEL) for one in (grammar, needed))
    for sentence in text:
        expected, found = ([*islice(decoder.translations(sentence), 3)] for decoder in (whole, part))
        assert [(one.words, one.score) for one in found] == [(one.words, one.score) for one in expected]
    assert set(needed.scfg.rules) <= set(grammar.scfg.rules)


def test_rules_of_which_a_phrase_or_a_label_is_missing_are_left_out() -> None:
    rules = [
        ScfgRule("X", ("a", Gap("X", 1), "b"), ("u", Gap("X", 1))),
        ScfgRule("X", ("a", "b"), ("v",)),
        ScfgRule("X", ("a", Gap("Y", 1)), ("w", Gap("Y", 1))),
        ScfgRule("Y", ("c",), ("w",)),
        ScfgRule("X", ("a",), ("u",)),
    ]
    parts = [(Scfg(rules, (), np.zeros((5, 0))), 4), (glue_grammar(), NO_LIMIT)]
    grammar = SynchronousGrammar(*joined(parts), "S")
    needed = grammar.needed_for([["b", "a"], ["b"]])
    assert needed.scfg.rules == [rules[0], rules[4], *glue_grammar().rules]
    assert needed.limits[:2] == [4, 4]
    assert needed.limits[2] > 4


def test_a_label_without_rules_is_said() -> None:
    grammar = SynchronousGrammar(Scfg([ScfgRule("S", ("a",), ("u",))], (), np.zeros((1, 0))), [NO_LIMIT], "S")
    with pytest.raises(InputError, match="unknown label"):
        grammar.needed_for([["b"]])
