"""Rule tables of Moses: what is read, and messages for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.test_cdec import write
from tests.formats.written_rules import scfg_of
from xlate.errors import InputError
from xlate.formats.moses_rules import read_moses_grammar

TABLE = """\
das [X][X] [X] ||| the [X][X] [X] ||| 0.5 0.25 ||| 0-0 1-1 ||| 4 3 2 ||| |||
[X][X] von [X][X] [X] ||| [X][X] 's [X][X] [X] ||| 0.5 1 ||| 0-2 1-1 2-0 ||| 4 3 1 ||| f 2 g -1 ||| {{Tree x}}
"""
GLUE = """\
<s> [X] ||| <s> [S] ||| 1 |||  ||| 0
[X][S] </s> [X] ||| [X][S] </s> [S] ||| 1 ||| 0-0 ||| 0
[X][S] [X][X] [X] ||| [X][S] [X][X] [S] ||| 2.718 ||| 0-0 1-1 ||| 0
"""


def test_a_rule_table(tmp_path: Path) -> None:
    grammar = read_moses_grammar(write(tmp_path / "file", TABLE), "TranslationModel0")
    assert grammar.rules == scfg_of("X → das X1 | the X1", "X → X1 von X2 | X2 's X1").rules
    assert grammar.names == ("TranslationModel0_0", "TranslationModel0_1")
    assert grammar.dense_BD.tolist() == [[0.5, 0.25], [0.5, 1]]
    assert grammar.sparse == {1: {"f": 2.0, "g": -1.0}}


@pytest.mark.parametrize("empty", ["|||  |||", "||| |||"])
def test_a_glue_grammar(tmp_path: Path, empty: str) -> None:
    """Moses writes an empty field with one blank."""
    text = GLUE.replace("|||  |||", empty)
    grammar = read_moses_grammar(write(tmp_path / "file", text), "TranslationModel1")
    assert grammar.rules == scfg_of("S → <s> | <s>", "S → S1 </s> | S1 </s>", "S → S1 X2 | S1 X2").rules
    assert grammar.features(2) == {"TranslationModel1_0": 2.718}


@pytest.mark.parametrize(
    ("line", "message"),
    {
        "a [X] ||| b [X]": "wrong number of fields",
        "a ||| b ||| 1 2 ||| 0-0": "sides that do not end in a label",
        "[X] ||| b [X] ||| 1 2 |||": "an empty side",
        "a [NP] ||| b [VP] ||| 1 2 |||": "labels that do not match",
        "a [NP][VP] [X] ||| b [NP][VP] [X] ||| 1 2 ||| 1-1": "neither a word nor a non-terminal",
        "a [X][X] [X] ||| b [X][Y] [X] ||| 1 2 ||| 1-1": "non-terminals that do not match",
        "a [X][X] [X] ||| b [X][X] [X] ||| 1 2 ||| 0-0": "not linked one to one",
        "[X][X] [X][X] [X] ||| [X][X] [X][X] [X] ||| 1 2 ||| 0-0 1-0": "not linked one to one",
        "a [X] b [X] ||| c [X] d [X] ||| 1 2 ||| 1-1": "a left side inside a rule",
        "a [X] ||| b [X] ||| 1 2 ||| 0-0 ||| 1 2 3 4": "wrong counts",
        "a [X] ||| b [X] ||| 1 2 ||| 0-0 ||| 1 2 -3": "wrong counts",
        "a [X] ||| b [X] ||| 1 2 ||| 0-0 ||| 1 1 1 ||| f": "malformed sparse features",
    }.items(),
)
def test_bad_lines_are_refused_with_their_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"file:2: .*{message}(?s:.*)expected: "):
        read_moses_grammar(write(tmp_path / "file", f"a [X] ||| b [X] ||| 1 2 ||| 0-0\n{line}\n"), "T")
