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
