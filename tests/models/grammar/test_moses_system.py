"""Hierarchical systems of Moses: scores by hand, limits, and what cannot be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.errors import InputError
from xlate.formats.moses_rules import read_moses_system
from xlate.models.grammar.system import GrammarSystem
from xlate.search.settings import GrammarSearch

LN = np.log
TABLE = """\
ne [X][X] pas [X] ||| do [X][X] not [X] ||| 0.5 0.25 ||| 0-0 1-1 2-2 ||| 1 1 1 ||| |||
va [X] ||| go [X] ||| 0.5 1 ||| 0-0 ||| 1 1 1 ||| |||
va [X] ||| do [X] ||| 0.25 0 ||| 0-0
"""
GLUE = """\
<s> [X] ||| <s> [S] ||| 1 ||| ||| 0
[X][S] </s> [X] ||| [X][S] </s> [S] ||| 1 ||| 0-0 ||| 0
[X][S] [X][X] [X] ||| [X][S] [X][X] [S] ||| 2.718 ||| 0-0 1-1 ||| 0
"""
ARPA = """\
\\data\\
ngram 1=7

\\1-grams:
-99\t<s>
-1\t</s>
-2\t<unk>
-1\tdo
-1\tgo
-1\tnot
-1\thouse

\\end\\
"""
INI = """\
[input-factors]
0

[mapping]
0 T 0
1 T 1

[search-algorithm]
3

[inputtype]
3

[max-chart-span]
20
1000

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=T0 num-features=2 path=table input-factor=0 output-factor=0
PhraseDictionaryMemory name=G num-features=1 path=glue input-factor=0 output-factor=0 tuneable=true
KENLM name=LM0 factor=0 path=lm.arpa order=1

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -0.4
PhrasePenalty0= 0.2
T0= 0.5 0.25
G= 0.3
LM0= 0.7
"""


def write_moses_system(folder: Path) -> Path:
    """Writes the system, and the text `in` beside it; returns its configuration."""
    for name, text in (("table", TABLE), ("glue", GLUE), ("lm.arpa", ARPA), ("moses.ini", INI)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "in").write_text("ne va va pas va\nmaison\n\n", encoding="utf-8")
    return folder / "moses.ini"


def opened(ini: Path) -> GrammarSystem:
    return GrammarSystem.of_foreign(read_moses_system(ini), GrammarSearch(nbest=9))


def changed(folder: Path, name: str, text: str) -> Path:
    ini = write_moses_system(folder)
    (folder / name).write_text(text, encoding="utf-8")
    return ini


def test_scores_are_those_of_moses(tmp_path: Path) -> None:
    system = opened(write_moses_system(tmp_path))
    best = system.translate(["ne", "va", "pas", "zz"])[0]
    assert best.words == ["do", "go", "not", "zz"]
    table = 0.5 * (LN(0.5) + LN(0.5)) + 0.25 * (LN(0.25) + LN(1))
    glue = 0.3 * 2 * LN(2.718)
    # Two rules, four of glue and the copied word; <s> and </s> are words of rules.
    penalties = 0.2 * 7 - 0.4 * -6 + 1.0 * -100
    # do, go, not, an unknown word, </s>.
    language = 0.7 * LN(10) * (-1 - 1 - 1 - 2 - 1)
    assert best.score == pytest.approx(table + glue + penalties + language)
    assert system.weights_D @ best.features_D == pytest.approx(best.score)
    # A probability of 0 counts as in Moses.
    scores = {" ".join(one.words): one.score for one in system.translate(["va"])}
    assert scores["go"] - scores["do"] == pytest.approx(0.5 * LN(0.5 / 0.25) + 0.25 * 100)


@pytest.mark.parametrize(("limit", "found"), [(" table-limit=1", 1), (" table-limit=0", 2), ("", 2)])
def test_the_most_promising_rules_of_a_source_side_are_kept(tmp_path: Path, limit: str, found: int) -> None:
    ini = changed(tmp_path, "moses.ini", INI.replace("path=table", f"path=table{limit}"))
    assert [one.words for one in opened(ini).translate(["va"])] == [["go"], ["do"]][:found]


def test_each_table_has_its_longest_span(tmp_path: Path) -> None:
    for spans, expected in (("2\n1000", "ne go pas"), ("3\n1000", "do go not"), ("0\n0", "do go not")):
        ini = changed(tmp_path, "moses.ini", INI.replace("20\n1000", spans))
        assert " ".join(opened(ini).translate(["ne", "va", "pas"])[0].words) == expected


def test_bars_stay_as_the_text_has_them(tmp_path: Path) -> None:
    ini = changed(tmp_path, "table", TABLE.replace("va", "&#124;"))
    assert opened(ini).translate(["&#124;"])[0].words == ["go"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("moses.ini", INI.replace("algorithm]\n3", "algorithm]\n1"), r"a phrase system(?s:.*)xlate import moses=FILE"),
        ("moses.ini", INI + "[weight-file]\nsparse\n", r"an unknown setting(?s:.*)weight-file"),
        ("moses.ini", INI.replace("20\n1000", "some"), "max-chart-span"),
        ("glue", "a [X] ||| b [X] ||| 1 ||| 0-0\n", r"no glue grammar(?s:.*)no label"),
        ("glue", GLUE + "a </s> [X] ||| b </s> [X] ||| 1 ||| 0-0\n", r"no glue grammar(?s:.*)S, X"),
        ("table", TABLE + "a [X] ||| b [X] ||| -1 1 ||| 0-0\n", "table:4: not a probability"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, name: str, text: str, message: str) -> None:
    ini = changed(tmp_path, name, text)
    with pytest.raises(InputError, match=message):
        opened(ini)
