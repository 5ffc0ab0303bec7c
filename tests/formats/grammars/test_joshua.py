"""Systems of Joshua: what is read of a configuration, and messages for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.grammars.test_cdec import write
from xlate.errors import InputError
from xlate.formats.grammars.cdec import LN10
from xlate.formats.grammars.grammar import NO_LIMIT
from xlate.formats.grammars.joshua import read_joshua_system

CONFIG = """\
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


def test_a_system(tmp_path: Path) -> None:
    config = write(tmp_path / "joshua.config", CONFIG)
    with pytest.raises(InputError, match=r"joshua\.config:4: a file that is not there"):
        read_joshua_system(config)
    write(tmp_path / "grammar", "[X] ||| a ||| b ||| 0.5\n")
    write(tmp_path / "glue", GLUE)
    with pytest.raises(InputError, match=r"joshua\.config:2: a file that is not there"):
        read_joshua_system(config)
    lm = write(tmp_path / "lm.gz", "")
    found = read_joshua_system(config)
    assert (found.goal, found.label, found.lm) == ("GOAL", "X", lm)
    assert found.limits == [12, NO_LIMIT, NO_LIMIT]
    assert [found.scfg.features(b) for b in range(3)] == [{"tm_pt_0": -0.5}, {"tm_glue_0": 1.0}, {}]
    assert found.weights["tm_pt_0"] == -0.2
    assert found.weights["LanguageModel"] == 1.5 / LN10
    with pytest.raises(InputError, match=r"joshua\.config:4: not a whole number"):
        read_joshua_system(write(config, CONFIG.replace("-maxspan 12", "-maxspan x")))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tm_pt_0", "neither a setting nor a weight"),
        ("tm_pt_0 1e200", r"neither a setting nor a weight(?s:.*)at most 3\.4e\+38"),
        ("tm = ", "malformed options"),
        ("tm = thrax -owner", "malformed options"),
        ("tm = thrax owner pt", r"malformed options(?s:.*)a kind and owner, maxspan, path"),
        ("lm = kenlm 5 true lm.gz", "malformed options"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_joshua_system(write(tmp_path / "joshua.config", f"top_n = 10\n{line}\n"))
    assert caught.value.line == 2
