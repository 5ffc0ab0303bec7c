"""Grammars of other systems, as found: how many rules they have, and how many of them are in target normal form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.scfg.small_grammars import same
from xlate.formats.scfg.bracketed import (
    read_cdec_grammar,
    read_joshua_grammar,
    write_cdec_grammar,
    write_joshua_grammar,
)
from xlate.formats.scfg.normal_form import normal_rules, normal_share

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def test_a_grammar_of_cdec(shared_data: Path, tmp_path: Path) -> None:
    grammar = read_cdec_grammar(shared_data / "foreign-models" / "cdec-nc-wmt11-de-en.scfg.gz")
    assert normal_share(grammar) == (72_745, 63_772, 20_334, 11_361)
    assert grammar.dense_BD.shape == (72_745, 7)
    write_cdec_grammar(tmp_path / "again.gz", grammar)
    assert same(read_cdec_grammar(tmp_path / "again.gz"), grammar)
    table = normal_rules(grammar, [f"PhraseModel_{n}" for n in (0, 1, 3, 4)], "-log10").table
    assert len(table) == 15_679
    assert 0 < table.scores_B4.min() < table.scores_B4.max() <= 1 + 1e-9


def test_a_grammar_of_joshua(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "foreign-models" / "joshua-bn-en-hiero"
    grammar = read_joshua_grammar(folder / "grammar.gz")
    assert normal_share(grammar) == (15_917, 11_338, 7_990, 3_411)
    assert grammar.dense_BD.shape == (15_917, 17)
    assert len(normal_rules(grammar, [f"tm_pt_{n}" for n in range(4)], "ln").table) == 7_990
    glue = read_joshua_grammar(folder / "glue-grammar", "glue")
    assert [str(rule) for rule in glue.rules] == [
        "GOAL → <s> | <s>",
        "GOAL → [GOAL,1] [X,2] | [GOAL,1] [X,2]",
        "GOAL → [GOAL,1] </s> | [GOAL,1] </s>",
    ]
    write_joshua_grammar(tmp_path / "again", grammar)
    assert same(read_joshua_grammar(tmp_path / "again"), grammar)
