"""Grammars, configurations and weights of cdec and Joshua: what is read, and messages for what is not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.formats.written_rules import scfg_of
from xlate.errors import InputError
from xlate.formats.cdec import (
    LN10,
    read_cdec_grammar,
    read_cdec_system,
    read_cdec_weights,
    read_joshua_system,
)
from xlate.formats.scfg import NO_LIMIT

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
    written = scfg_of("X → ne X1 pas | not X1", "X → X1 de X2 | X2 's X1", "S → S1 X2 | S1 X2")
    assert grammar.rules == written.rules
    first = {"PhraseModel_0": 0.5, "PhraseModel_1": -0.2, "Fresh": 3.0}
    assert [grammar.features(b) for b in range(3)] == [first, {"PhraseModel_0": 1, "PhraseModel_1": 2}, {"Glue": 1.0}]
    weights = {"PhraseModel_0": 2.0, "Fresh": 10.0, "Glue": -1.0}
    assert grammar.scores(weights).tolist() == [31.0, 2.0, -1.0]
    assert str(grammar.rules[1]) == "X → [X,1] de [X,2] | [X,2] 's [X,1]"


def test_bare_features_of_joshua_change_their_sign(tmp_path: Path) -> None:
    grammar = read_cdec_grammar(write(tmp_path / "file", "[X] ||| a ||| b ||| 0.5 tm_pt_1=7 Own=2 \n"), "tm_pt_", -1.0)
    assert grammar.features(0) == {"tm_pt_0": -0.5, "tm_pt_1": 7.0, "Own": 2.0}


def test_non_terminals_are_numbered_by_the_source_side(tmp_path: Path) -> None:
    grammar = read_cdec_grammar(write(tmp_path / "file", "[X] ||| [A,2] b [B,1] ||| [2] [B,1] c ||| 1\n"))
    assert grammar.rules == scfg_of("X → A1 b B2 | A1 B2 c").rules


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
    {
        "[X] ||| a": "wrong number of fields",
        "X ||| a ||| b ||| 1 2": "no label for the left side",
        "[X] |||  ||| b ||| 1 2": "an empty side",
        "[X] ||| a  b ||| c ||| 1 2": "two spaces in a row",
        "[X] ||| a [X,1] ||| b ||| 1 2": "non-terminals that do not match",
        "[X] ||| a ||| b [X,1] ||| 1 2": "non-terminals that do not match",
        "[X] ||| a [X,1] ||| b [Y,1] ||| 1 2": "non-terminals that do not match",
        "[X] ||| [X,1] [X,1] ||| [X,1] [X,1] ||| 1 2": "non-terminals that do not match",
        "[X] ||| a [1] ||| b [1] ||| 1 2": "neither a word nor a non-terminal",
        "[X] ||| a [X,y] ||| b [X,1] ||| 1 2": "neither a word nor a non-terminal",
        "[X] ||| a ||| b ||| 1": "a different number of features",
        "[X] ||| a ||| b ||| 1 nan": "not numbers",
        "[X] ||| a ||| b ||| 1 2 F=nan": "not a finite number",
        "[X] ||| a ||| b ||| 1 2 F=1 F=2": "one that appears twice",
        "[X] ||| a ||| b ||| 1 2 =1": "a feature without a name",
        "[X] ||| a ||| b ||| 1 2 ||| 0:0": "malformed link",
        "[X] ||| a ||| b ||| 1 2 ||| 0-1": "a link outside its rule",
    }.items(),
)
def test_bad_lines_are_refused_with_their_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"file:2: .*{message}(?s:.*expected: .*)remedy: "):
        read_cdec_grammar(write(tmp_path / "file", f"{GOOD}{line}\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "[feature]\n": r"1: not a setting(?s:.*)import moses=FILE",
        "grammar=a\n=x\n": "2: not a setting",
        "grammar=a\nscfg_max_span_limit=ten\n": "2: not a whole number",
        "# a comment\n\ngrammar=b\n": "3: a missing file",
        "grammar=\n": "1: a missing file",
        f"grammar={'a' * 5000}\n": "1: a missing file",
        "grammar=a\0b\n": "1: a missing file",
    }.items(),
)
def test_bad_settings_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "a", "[X] ||| a ||| b\n")
    with pytest.raises(InputError, match=f"cdec.ini:{message}"):
        read_cdec_system(write(tmp_path / "cdec.ini", text))


def test_limits_and_labels_have_defaults(tmp_path: Path) -> None:
    write(tmp_path / "a", "[X] ||| a ||| b\n")
    found = read_cdec_system(write(tmp_path / "cdec.ini", "formalism=scfg\n\ngrammar = elsewhere/a\n"))
    assert (found.scfg.rules[0].limit, found.goal, found.label, found.lm) == (10, "S", "X", None)
    assert found.scfg.rules[1:] == scfg_of("S → X1 | X1", "S → S1 X2 | S1 X2").rules
    assert [found.scfg.features(b) for b in (1, 2)] == [{}, {"Glue": 1}]
    text = "grammar=a\nscfg_max_span_limit=3\nscfg_max_span_limit=15\ngoal=U\ngoal=T\n"
    found = read_cdec_system(write(tmp_path / "cdec.ini", text))
    assert (found.scfg.rules[0].limit, found.goal) == (15, "T")


def test_weights(tmp_path: Path) -> None:
    found = read_cdec_weights(write(tmp_path / "w", "# of dpmert\nLanguageModel 0.5\n\nGlue -1e-1\n"))
    assert found == {"LanguageModel": 0.5, "Glue": -0.1}


@pytest.mark.parametrize(
    ("line", "message"),
    {"Glue": "not a weight", "Glue nan": "not a weight", "Glue 1e200": "not a weight", "a 1": "appears twice"}.items(),
)
def test_lines_that_are_no_weights(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=f"w:2: .*{message}"):
        read_cdec_weights(write(tmp_path / "w", f"a 1\n{line}\n"))


JOSHUA = """\
# a comment
feature-function = LanguageModel -lm_order 5 -lm_file far/away/lm.gz

tm = thrax -owner pt -maxspan 12 -path grammar
tm = thrax -owner glue -maxspan -1 -path /nowhere/glue
goalSymbol=GOAL
top_n = 10
output-format = "%c %s"
lm_0 1.5
tm_pt_0 -2e-1
"""
GLUE = "[GOAL] ||| <s> ||| <s> ||| -1\n[GOAL] ||| [GOAL,1] </s> ||| [GOAL,1] </s> ||| 0\n"


def test_a_system_of_joshua(tmp_path: Path) -> None:
    config = write(tmp_path / "joshua.config", JOSHUA)
    with pytest.raises(InputError, match=r"joshua\.config:4: a missing file"):
        read_joshua_system(config)
    write(tmp_path / "grammar", "[X] ||| a ||| b ||| 0.5\n")
    write(tmp_path / "glue", GLUE)
    with pytest.raises(InputError, match=r"joshua\.config:2: a missing file"):
        read_joshua_system(config)
    lm = write(tmp_path / "lm.gz", "")
    found = read_joshua_system(config)
    assert (found.goal, found.label, found.lm) == ("GOAL", "X", lm)
    assert [rule.limit for rule in found.scfg.rules] == [12, NO_LIMIT, NO_LIMIT]
    assert [found.scfg.features(b) for b in range(3)] == [{"tm_pt_0": -0.5}, {"tm_glue_0": 1.0}, {}]
    assert found.weights["tm_pt_0"] == -0.2
    assert found.weights["LanguageModel"] == 1.5 / LN10


@pytest.mark.parametrize(
    ("line", "message"),
    {
        "tm_pt_0": "neither a setting nor a weight",
        "tm_pt_0 1e200": r"neither a setting nor a weight(?s:.*)at most 3\.4e\+38",
        "tm = ": "malformed options",
        "tm = thrax -owner": "malformed options",
        "tm = thrax -maxspan x -path joshua.config": "not a whole number",
        "tm = thrax owner pt": r"malformed options(?s:.*)a kind and owner, maxspan, path",
        "lm = kenlm 5 true lm.gz": "malformed options",
    }.items(),
)
def test_bad_lines_of_joshua(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=f":2: .*{message}"):
        read_joshua_system(write(tmp_path / "joshua.config", f"top_n = 10\n{line}\n"))
