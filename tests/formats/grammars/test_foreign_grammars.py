"""Grammars of other systems, as found: how many rules they have, and how many of them are in target normal form."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.formats.grammars.cdec import read_cdec_grammar
from xlate.formats.grammars.grammar import normal_form

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def test_a_grammar_of_cdec(shared_data: Path) -> None:
    grammar = read_cdec_grammar(shared_data / "foreign-models" / "cdec-nc-wmt11-de-en.scfg.gz")
    share = "20334 of 72745 rules (28.0 %) are in target normal form, 11361 of the 63772 with non-terminals (17.8 %)"
    assert normal_form(grammar)[0] == share
    assert grammar.dense_BD.shape == (72_745, 7)


def test_a_grammar_of_joshua(shared_data: Path) -> None:
    folder = shared_data / "foreign-models" / "joshua-bn-en-hiero"
    grammar = read_cdec_grammar(folder / "grammar.gz", "tm_pt_", -1.0)
    share = "7990 of 15917 rules (50.2 %) are in target normal form, 3411 of the 11338 with non-terminals (30.1 %)"
    assert normal_form(grammar)[0] == share
    assert grammar.dense_BD.shape == (15_917, 17)
    glue = read_cdec_grammar(folder / "glue-grammar", "tm_glue_", -1.0)
    assert [str(rule) for rule in glue.rules] == [
        "GOAL → <s> | <s>",
        "GOAL → [GOAL,1] [X,2] | [GOAL,1] [X,2]",
        "GOAL → [GOAL,1] </s> | [GOAL,1] </s>",
    ]
