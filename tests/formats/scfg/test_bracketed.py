"""Grammars of cdec and Joshua are read back as they were written, and refused in words."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.formats.scfg.small_grammars import grammars, same
from xlate.errors import InputError
from xlate.formats.scfg.bracketed import (
    read_cdec_grammar,
    read_joshua_grammar,
    write_cdec_grammar,
    write_joshua_grammar,
)
from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule

CDEC = """\
[X] ||| ne [X,1] pas ||| not [1] ||| 0.5 -2e-1 Fresh=3 ||| 0-0 2-0
[X] ||| [X,1] de [X,2] ||| [X,2] 's [X,1] ||| 1 2
[S] ||| [S,1] [X,2] ||| [1] [2] ||| Glue=1
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_grammar_of_cdec(tmp_path: Path) -> None:
    grammar = read_cdec_grammar(write(tmp_path / "file", CDEC))
    one, two = Gap("X", 1), Gap("X", 2)
    assert grammar.rules == [
        ScfgRule("X", ("ne", one, "pas"), ("not", one), ((0, 0), (2, 0))),
        ScfgRule("X", (one, "de", two), (two, "'s", one)),
        ScfgRule("S", (Gap("S", 1), two), (Gap("S", 1), two)),
    ]
    first = {"PhraseModel_0": 0.5, "PhraseModel_1": -0.2, "Fresh": 3.0}
    assert [grammar.features(b) for b in range(3)] == [first, {"PhraseModel_0": 1, "PhraseModel_1": 2}, {"Glue": 1.0}]
    assert grammar.count_B is None
    weights = {"PhraseModel_0": 2.0, "Fresh": 10.0, "Glue": -1.0}
    assert grammar.scores(weights).tolist() == [31.0, 2.0, -1.0]
    assert str(grammar.rules[1]) == "X → [X,1] de [X,2] | [X,2] 's [X,1]"


def test_bare_features_of_joshua_change_their_sign(tmp_path: Path) -> None:
    grammar = read_joshua_grammar(write(tmp_path / "file", "[X] ||| a ||| b ||| 0.5 tm_pt_1=7 Own=2 \n"))
    assert grammar.features(0) == {"tm_pt_0": -0.5, "tm_pt_1": 7.0, "Own": 2.0}
    glue = read_joshua_grammar(write(tmp_path / "glue", "[GOAL] ||| <s> ||| <s> ||| -1\n"), "glue")
    assert glue.features(0) == {"tm_glue_0": 1.0}
    assert glue.rules == [ScfgRule("GOAL", ("<s>",), ("<s>",))]


def test_non_terminals_are_numbered_by_the_source_side(tmp_path: Path) -> None:
    grammar = read_cdec_grammar(write(tmp_path / "file", "[X] ||| [A,2] b [B,1] ||| [2] [B,1] c ||| 1\n"))
    assert grammar.rules[0][1:3] == ((Gap("A", 1), "b", Gap("B", 2)), (Gap("A", 1), Gap("B", 2), "c"))


def test_gzip_and_words_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "file.gz").write_bytes(gzip.compress(b"[X] ||| [ a,b ] | ||| [] [a] ||| \n"))
    grammar = read_cdec_grammar(tmp_path / "file.gz")
    assert grammar.rules[0][1:3] == (("[", "a,b", "]", "|"), ("[]", "[a]"))
    assert grammar.dense_BD.shape == (1, 0)


def test_labelled_features_of_most_rules_become_columns(tmp_path: Path) -> None:
    text = (
        "".join(f"[X] ||| a{n} ||| b ||| F={n} G={n * n}\n" for n in range(3)) + "[X] ||| c ||| d ||| G=5 x\u2028y=2\n"
    )
    grammar = read_cdec_grammar(write(tmp_path / "file", text))
    assert grammar.names == ("F", "G")
    assert grammar.dense_BD.tolist() == [[0, 0], [1, 1], [2, 4], [0, 5]]
    assert grammar.sparse == {3: {"x\u2028y": 2.0}}


GOOD = "[X] ||| a [X,1] ||| [X,1] b ||| 1 2 ||| 0-1\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[X] ||| a", "wrong number of fields"),
        ("X ||| a ||| b ||| 1 2", "no label of a left side"),
        ("[X,1] ||| a ||| b ||| 1 2", "no label of a left side"),
        ("[X] |||  ||| b ||| 1 2", "an empty side"),
        ("[X] ||| a |||  ||| 1 2", "an empty side"),
        ("[X] ||| a  b ||| c ||| 1 2", "two blanks in a row"),
        ("[X] ||| a [X,1] ||| b ||| 1 2", "non-terminals that do not match"),
        ("[X] ||| a ||| b [X,1] ||| 1 2", "non-terminals that do not match"),
        ("[X] ||| a [X,1] ||| b [X,2] ||| 1 2", "non-terminals that do not match"),
        ("[X] ||| a [X,1] ||| b [Y,1] ||| 1 2", "non-terminals that do not match"),
        ("[X] ||| [X,1] [X,1] ||| [X,1] [X,1] ||| 1 2", "non-terminals that do not match"),
        ("[X] ||| [X,1] a ||| [X,1] [X,1] ||| 1 2", "non-terminals that do not match"),
        ("[X] ||| a [1] ||| b [1] ||| 1 2", "a symbol that is no word"),
        ("[X] ||| a [X,y] ||| b [X,1] ||| 1 2", "a symbol that is no word"),
        ("[X] ||| a ||| b ||| 1", "another number of features"),
        ("[X] ||| a ||| b ||| 1 2 3", "another number of features"),
        ("[X] ||| a ||| b ||| 1 nan", "not numbers"),
        ("[X] ||| a ||| b ||| 1 inf", "not numbers"),
        ("[X] ||| a ||| b ||| 1 2 F=nan", "not a finite number"),
        ("[X] ||| a ||| b ||| 1 2 F=1e999", "not a finite number"),
        ("[X] ||| a ||| b ||| 1 2 F=1 F=2", "for the second time"),
        ("[X] ||| a ||| b ||| 1 2 =1", "a feature without a name"),
        ("[X] ||| a ||| b ||| 1 2 RuleCount=-1", "a count below 0"),
        ("[X] ||| a ||| b ||| 1 2 ||| 0:0", "malformed link"),
        ("[X] ||| a ||| b ||| 1 2 ||| 0-1", "a link outside its rule"),
    ],
)
def test_bad_lines_are_refused_with_their_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_cdec_grammar(write(tmp_path / "file", f"{GOOD}{line}\n"))
    assert caught.value.line == 2
    assert caught.value.expected
    assert caught.value.remedy


@given(grammars())
def test_what_was_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, grammar: Scfg) -> None:
    folder = tmp_path_factory.mktemp("grammar")
    write_cdec_grammar(folder / "cdec", grammar, counts=True)
    assert same(read_cdec_grammar(folder / "cdec"), grammar)
    mine = replace(grammar, names=tuple(name.replace("PhraseModel", "tm_pt") for name in grammar.names))
    write_joshua_grammar(folder / "joshua.gz", mine, counts=True)
    assert same(read_joshua_grammar(folder / "joshua.gz"), mine)
    write_cdec_grammar(folder / "named", mine)
    assert same(read_cdec_grammar(folder / "named"), replace(mine, count_B=None))


@pytest.mark.parametrize("word", ["", "a b", "|||", "[X,1]", "[1]", "[X][X]", "a\nb"])
def test_words_that_would_be_read_as_something_else_are_not_written(tmp_path: Path, word: str) -> None:
    grammar = Scfg([ScfgRule("X", ("a",), (word,))], (), np.zeros((1, 0)))
    with pytest.raises(InputError, match="a symbol that a grammar file cannot hold"):
        write_cdec_grammar(tmp_path / "file", grammar)
    assert not (tmp_path / "file").exists()
