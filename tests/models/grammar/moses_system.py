"""A small hierarchical system of Moses, made by hand."""

from __future__ import annotations

from pathlib import Path

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
