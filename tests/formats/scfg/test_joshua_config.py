"""Configurations of Joshua."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.formats.scfg.joshua_config import read_joshua_config

CONFIG = """\
# a comment
feature-function = LanguageModel -lm_order 5 -lm_file far/away/lm.gz

tm = thrax -owner pt -maxspan 12 -path grammar.gz
tm = thrax -owner glue -maxspan -1 -path /nowhere/glue
goalSymbol=GOAL
top_n = 10
output-format = "%c %s"
lm_0 1.5
tm_pt_0 -2e-1
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_configuration(tmp_path: Path) -> None:
    config = read_joshua_config(write(tmp_path / "joshua.config", CONFIG))
    assert config.weights == {"lm_0": 1.5, "tm_pt_0": -0.2}
    assert config.settings == {"goalsymbol": (6, "GOAL"), "topn": (7, "10"), "outputformat": (8, "%c %s")}
    first, second = config.grammars
    assert (first.kind, first.options["owner"], first.line) == ("thrax", "pt", 4)
    assert [config.number(line, "maxspan") for line in (first, second)] == [12, None]
    language = config.function("LanguageModel")
    assert language is not None
    write(tmp_path / "lm.gz", "")
    assert config.file(language.line, language.options["lm_file"]) == tmp_path / "lm.gz"
    with pytest.raises(InputError, match=r"joshua\.config:5: a file that is not there"):
        config.file(second.line, second.options["path"])
    with pytest.raises(InputError, match="not a whole number"):
        config.number(first, "owner")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tm_pt_0", "neither a setting nor a weight"),
        ("tm_pt_0 x", "neither a setting nor a weight"),
        ("tm_pt_0 nan", "neither a setting nor a weight"),
        ("tm_pt_0 1e200", r"neither a setting nor a weight(?s:.*)at most 3\.4e\+38"),
        ("a b c", "neither a setting nor a weight"),
        ("tm = ", "malformed options"),
        ("tm = thrax -owner", "malformed options"),
        ("tm = thrax owner pt", r"malformed options(?s:.*)a kind and owner, maxspan, path"),
        ("lm = kenlm 5 true lm.gz", "malformed options"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_joshua_config(write(tmp_path / "joshua.config", f"top_n = 10\n{line}\n"))
    assert caught.value.line == 2
