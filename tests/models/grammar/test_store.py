"""Whole grammars on disk, and those of what a text needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.formats.grammars.written_rules import scfg_of
from tests.models.grammar.enumeration import random_grammar
from tests.models.small_models import random_arpa
from xlate.errors import InputError
from xlate.formats.grammars.grammar import NO_LIMIT, glue_grammar, joined
from xlate.lm.model import NgramModel
from xlate.models.grammar.parsing import SynchronousGrammar
from xlate.models.grammar.store import load_grammar, save_grammar

MODEL = NgramModel.from_arpa(random_arpa(np.random.default_rng(2), 2))


@pytest.mark.parametrize("seed", range(6))
def test_there_and_back(tmp_path: Path, seed: int) -> None:
    grammar, given = random_grammar(seed), MODEL if seed % 2 else None
    save_grammar(tmp_path, grammar, given)
    found, model = load_grammar(tmp_path)
    assert (found.limits, found.goal, found.copy_label) == (grammar.limits, grammar.goal, grammar.copy_label)
    assert found.scfg.rules == grammar.scfg.rules
    assert all(found.scfg.features(b) == grammar.scfg.features(b) for b in range(len(grammar.scfg)))
    assert (model is None) == (given is None)
    assert model is None or np.array_equal(model.arrays.slots_H, MODEL.arrays.slots_H)


def test_rules_of_which_a_phrase_or_a_label_is_missing_are_left_out() -> None:
    scfg = scfg_of("X → a X1 b | u X1", "X → a b | v", "X → a Y1 | w Y1", "Y → c | w", "X → a | u")
    parts = [(scfg, 4), (glue_grammar(), NO_LIMIT)]
    grammar = SynchronousGrammar(*joined(parts), "S")
    needed = grammar.needed_for([["b", "a"], ["b"]])
    assert needed.scfg.rules == [scfg.rules[0], scfg.rules[4], *glue_grammar().rules]
    assert needed.limits[:2] == [4, 4]
    assert needed.limits[2] > 4
    with pytest.raises(InputError, match="unknown label"):
        SynchronousGrammar(scfg_of("S → a | u"), [NO_LIMIT], "S").needed_for([["b"]])
