"""Systems of Moses, Joshua and cdec become runs that translate."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Said, succeed
from tests.models.grammar.test_kind import write_cdec_system
from tests.models.grammar.test_moses_system import ARPA, write_moses_system
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.formats.cdec import read_joshua_system
from xlate.formats.moses_ini import read_moses_ini
from xlate.jobs.imports import search_of
from xlate.search.settings import DecoderSettings, PhraseSearch
from xlate.translator import Translator

JOSHUA = """\
feature-function = LanguageModel -lm_order 1 -lm_file lm.arpa
feature-function = WordPenalty
feature-function = OOVPenalty
tm = thrax -owner pt -maxspan 3 -path grammar
tm = thrax -owner glue -maxspan -1 -path glue
default_non_terminal=X
goalSymbol=GOAL
lm_0 2
tm_pt_0 -0.5
Own 0.25
tm_glue_0 0.5
WordPenalty -1
OOVPenalty 1
"""
# The same system as Joshua 5 writes it.
JOSHUA_5 = """\
lm = kenlm 1 true false 100 lm.arpa
feature_function = WordPenalty
feature-function = OOVPenalty
tm = thrax pt 3 grammar
tm = thrax glue -1 glue
default-non-terminal=X
goal-symbol = [GOAL]
weights-file = far/away/weights
tm_pt_0 -0.5
wordpenalty -1
oovpenalty -100
"""
FILES = {
    "joshua.config": JOSHUA,
    "weights": "lm_0 2\ntm_pt_0 9\nOwn 0.25\ntm_glue_0 0.5\n",
    "lm.arpa": ARPA,
    "grammar": (
        "[X] ||| ne [X,1] pas ||| do [X,1] not ||| 1 Own=2\n[X] ||| va ||| go ||| 0.5\n[X] ||| va ||| do ||| 0.25\n"
    ),
    "glue": (
        "[GOAL] ||| <s> ||| <s> ||| 0\n[GOAL] ||| [GOAL,1] [X,2] ||| [GOAL,1] [X,2] ||| -1\n"
        "[GOAL] ||| [GOAL,1] </s> ||| [GOAL,1] </s> ||| 0\n"
    ),
}


def write_joshua_system(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "in").write_text("ne va va pas va\nmaison\n\n", encoding="utf-8")
    return folder / "joshua.config"


@pytest.fixture
def joshua(tmp_path: Path) -> Path:
    (tmp_path / "system").mkdir()
    return write_joshua_system(tmp_path / "system")


def translated(run: Path, text: Path, *given: str) -> tuple[str, str]:
    """The translations, and the lists with all features."""
    out, lists = text.parent.parent / "out", text.parent.parent / "lists"
    asked = [f"input={text}", f"output={out}", "nbest=4", f"nbest_out={lists}", "distinct=false", *given]
    succeed("translate", f"run={run}", *asked)
    return out.read_text(), lists.read_text()


@pytest.mark.parametrize("write", [write_cdec_system, write_joshua_system, write_moses_system])
def test_the_run_translates_as_the_system_does(write: Callable[[Path], Path], tmp_path: Path, printed: Said) -> None:
    (tmp_path / "system").mkdir()
    system = write(tmp_path / "system")
    text, run = shutil.copy(system.parent / "in", tmp_path / "system" / "text"), tmp_path / "run"
    expected = translated(system, text)
    # A hierarchical system of Moses is known by its search, whatever its name is.
    key = "moses" if system.name == "moses.ini" else "grammar"
    figures = json.loads(printed("import", f"{key}={system}", f"out={run}"))
    assert figures["rules"] == 6
    assert figures["decoder"] == "cky"
    assert "of 6 rules" in figures["normal_form"]
    decoder = config_of_run(run).decoder
    assert (decoder.algorithm, decoder.pop_limit) == ("cky", 100)
    for file in system.parent.iterdir():
        if file != text:
            file.unlink()
    assert translated(run, text) == expected
    assert translated(run, text, "processes=2", "decoder.pop_limit=1000") == expected


def test_joshua_5_writes_the_same_system_in_another_way(joshua: Path) -> None:
    expected = translated(joshua, joshua.with_name("in"))
    minimizing = "feature-function = StateMinimizingLanguageModel -lm_type kenlm -lm_order 1 -lm_file"
    for text in (JOSHUA_5, JOSHUA_5.replace("lm = kenlm 1 true false 100", minimizing)):
        joshua.write_text(text, encoding="utf-8")
        assert translated(joshua, joshua.with_name("in")) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-lm_file", "-class_map classes -lm_file", ":1: an unknown option"),
        ("LanguageModel", "Distortion", ":1: an unknown feature function"),
        ("thrax -owner pt", "regexp -owner pt", ":4: an unknown kind of grammar"),
        ("goalSymbol=GOAL", "weights-file = none", ":7: a missing file"),
    ],
)
def test_what_joshua_has_and_xlate_has_not(joshua: Path, old: str, new: str, message: str) -> None:
    joshua.write_text(JOSHUA.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=f"joshua.config{message}"):
        read_joshua_system(joshua)


def test_a_grammar_can_take_raw_text(tmp_path: Path) -> None:
    ini, run, raw = write_joshua_system(tmp_path), tmp_path / "run", tmp_path / "raw"
    raw.write_text("Ne va pas.\n", encoding="utf-8")
    succeed("import", f"grammar={ini}", f"out={run}", "pair=fr-en", f"filter={raw}")
    # Tokens are "ne va pas ." for the grammar, and a line again behind it.
    assert Translator.load(run).translate(raw.read_text().splitlines()) == ["do go not."]


def test_packed_it_is_one_file(joshua: Path, tmp_path: Path, refused: Said) -> None:
    text, run = joshua.parent / "in", tmp_path / "run"
    succeed("import", f"grammar={joshua}", f"out={run}", "decoder.pop_limit=20")
    assert config_of_run(run).decoder.pop_limit == 20
    expected = translated(run, text)
    pack = ["pack", f"run={run}", f"out={tmp_path / 'run.tar'}"]
    assert "input=FILE" in refused(*pack)
    succeed(*pack, f"input={text}")
    shutil.rmtree(run)
    assert translated(tmp_path / "run.tar", text) == expected


def test_its_weights_and_its_trees_are_shown(joshua: Path, tmp_path: Path, printed: Said) -> None:
    run = tmp_path / "run"
    succeed("import", f"grammar={joshua}", f"out={run}")
    assert "CopiedWords" in printed("inspect", f"run={run}")
    assert "ne [X,1] pas | do [X,1] not" in printed("inspect", f"run={run}", "sentence='ne va pas'")
    succeed("inspect", f"run={run}", f"weights={tmp_path / 'weights'}")
    assert "LanguageModel\t" in (tmp_path / "weights").read_text()


def test_only_what_a_text_needs(joshua: Path, tmp_path: Path, printed: Said) -> None:
    text = tmp_path / "system" / "filter"
    text.write_text("pas va\nva pas\n")
    assert json.loads(printed("import", f"grammar={joshua}", f"filter={text}", f"out={tmp_path / 'run'}"))["rules"] < 6
    # No line has "ne": the rule of it is gone, and with it the only feature of its own; glue rules are not.
    (words, lists), (expected, others) = translated(tmp_path / "run", text), translated(joshua, text)
    assert words == expected
    assert lists == others.replace(" Own= 0", "")


def test_what_it_cannot_do_is_said(joshua: Path, tmp_path: Path, refused: Said) -> None:
    run = tmp_path / "run"
    succeed("import", f"grammar={joshua}", f"out={run}")
    for asked, message in (
        (["train", "model=phrase", "loss=mira", f"base={run}", f"run={tmp_path / 'x'}"], "model=phrase"),
        (
            ["translate", f"run={run}", f"input={joshua.with_name('in')}", "decoder.algorithm=cube"],
            "decoder.algorithm=cky",
        ),
        (["import", f"out={tmp_path / 'x'}"], "neither moses= nor grammar="),
        (["import", f"grammar={joshua}", "moses=moses.ini", f"out={tmp_path / 'x'}"], "moses= and grammar="),
        (["import", "grammar=text", f"out={tmp_path / 'x'}"], "not the name of a grammar's configuration"),
    ):
        assert message in refused(*asked)
        assert not (tmp_path / "x").exists()


TABLE = "[feature]\nPhraseDictionaryMemory name=T path=t{}\n"


def search(tmp_path: Path, text: str) -> DecoderSettings:
    (tmp_path / "moses.ini").write_text(text)
    return search_of(read_moses_ini(tmp_path / "moses.ini"), PhraseSearch())


def test_settings_are_taken(tmp_path: Path) -> None:
    text = TABLE.format(" table-limit=7") + "[search-algorithm]\n0\n[stack]\n50\n[beam-threshold]\n0.25\n"
    found = search(tmp_path, text + "[distortion-limit]\n-1\n[max-phrase-length]\n4\n[cube-pruning-pop-limit]\n9\n")
    assert (found.options, found.algorithm, found.stack, found.threshold) == (7, "stack", 50, 0.25)
    assert (found.distortion_limit, found.max_phrase, found.pop_limit) == (-1, 4, 9)
    assert search(tmp_path, TABLE.format("")).algorithm == "cube"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE.format(" table-limit=0"), "decoder.options is out of range"),
        ("[search-algorithm]\n-1\n", "this decoder does not have"),
        ("[search-algorithm]\n2\n", r"(?s)this decoder does not have.*0 \(stack\), 1 \(cube\)"),
        ("[stack]\n2.7\n", "stack"),
        ("[beam-threshold]\n-1\n", "decoder.threshold is out of range"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        search(tmp_path, text)
    assert caught.value.file == f"{tmp_path}/moses.ini"
