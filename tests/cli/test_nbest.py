"""xlate nbest check, import, oracle and rescore."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Said, succeed

LINES = [
    "0 ||| the house ||| lm= -1 tm= 1 2 ||| 3",
    "0 ||| the home ||| lm= -2 tm= 2 2 ||| 2",
    "1 ||| a small cat ||| lm= -3 tm= 1 1 ||| 4",
    "1 ||| a little cat sat ||| lm= -2 tm= 1 0 ||| 3",
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in LINES))
    (tmp_path / "ref").write_text("the home\na small cat sat\n")
    (tmp_path / "weights").write_text("lm= 1\ntm= 1 0\n")
    return tmp_path


def test_check(files: Path, printed: Said) -> None:
    figures = json.loads(printed("nbest", "check", str(files / "list"), f"ref={files / 'ref'}"))
    assert (figures["hypotheses"], figures["lists"], figures["oddities"]) == (4, 2, {})
    assert figures["bleu"]["worst"] <= figures["bleu"]["first"] < figures["bleu"]["oracle"]


def test_rescore(files: Path, printed: Said) -> None:
    out = files / "new"
    arguments = ["nbest", "rescore", str(files / "list"), f"weights={files / 'weights'}", f"out={out}"]
    figures = json.loads(printed(*arguments, f"ref={files / 'ref'}"))
    assert figures["features_without_weight"] == 0
    assert [line.split(" ||| ")[1::2] for line in out.read_text().splitlines()] == [
        ["the house", "0"],
        ["the home", "0"],
        ["a little cat sat", "-1"],
        ["a small cat", "-2"],
    ]


def test_rescoring_refuses_what_has_no_finite_total(files: Path, refused: Said) -> None:
    (files / "weights").write_text("lm= 1e308\ntm= 1 0\n")
    (files / "list").write_text(LINES[0].replace("lm= -1", "lm= -100") + "\n")
    said = refused("nbest", "rescore", str(files / "list"), f"weights={files / 'weights'}", f"out={files / 'new'}")
    assert "the total is not a finite number" in said
    assert not (files / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["import", "{list}", "out=x"], "ref is not set"),
        (["import", "{list}", "ref={ref}"], "out is not set"),
        (["rescore", "{list}", "out=x"], "weights=FILE, run=RUN or mbr=chrf"),
        (["oracle", "{list}", "ref={list}", "first_id=3"], "do not match"),
        (["pairs", "{list}", "ref={ref}", "source={ref}", "first_id=9", "out=x"], "do not match"),
        (["chek", "{list}"], "did you mean check?"),
        (["check"], "nbest is not set"),
        (["check", "{list}", "merge=[b={list}]"], "takes one list at a time"),
        (["rescore", "{list}", "mbr=chrf", "out=x", "best_out=x"], "two outputs in one file"),
        (["rescore", "{list}", "mbr=chrf", "out={list}"], "an output would overwrite an input"),
        (["check", "absent"], "cannot be read"),
    ],
)
def test_bad_input(arguments: list[str], words: str, files: Path, refused: Said) -> None:
    assert words in refused("nbest", *(x.format(list=files / "list", ref=files / "ref") for x in arguments))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rescore", "@list", "mbr=chrf", "source=@twice", "out=@out"], "twice:3: more sources than"),
        (
            ["rescore", "@json", "weights=@weights", "source=@other", "out=@out"],
            "json:3: a source that differs from that in",
        ),
        (["pairs", "@json", "ref=@ref", "source=@other", "out=@out"], "json:3: a source that differs from that in"),
    ],
)
def test_files_that_contradict_each_other(arguments: list[str], words: str, files: Path, refused: Said) -> None:
    (files / "twice").write_text(2 * (files / "ref").read_text())
    (files / "other").write_text("ein Haus\neine Katze\n")
    rows = [(0, "ein haus", "a"), (0, "ein haus", "b"), (1, "ein Hund", "c"), (1, "ein Hund", "d")]
    text = "".join(json.dumps({"id": i, "src": source, "hyp": words}) + "\n" for i, source, words in rows)
    (files / "json").write_text(text)
    told = refused("nbest", *(x.replace("@", f"{files}/") for x in arguments))
    assert all(part in told for part in (words, "seen: ", "expected: ", "remedy: "))
    assert not (files / "out").exists()


def test_the_list_of_moses_against_its_references(shared_data: Path, printed: Said) -> None:
    folder = shared_data / "moses"
    reference = folder / "corpus" / "val.tok.en.gz"
    figures = json.loads(printed("nbest", "oracle", str(folder / "nbest" / "val.100best.gz"), f"ref={reference}"))
    # moses/README.md: BLEU 40.43 without further tokenising.
    assert figures["first"] == 40.43
    assert figures["worst"] < figures["first"] < figures["oracle"]


def test_texts_are_in_the_order_of_the_sentences(files: Path, printed: Said, remarked: Said) -> None:
    (files / "list").write_text("".join(f"{line}\n" for line in [*LINES[2:], *LINES[:2]]))
    (files / "ref").write_text("the home\na small cat sat\nnobody\n")
    given = [str(files / "list"), f"ref={files / 'ref'}", "first_id=0"]
    figures = json.loads(printed("nbest", "oracle", *given, f"out={files / 'oracle'}"))
    assert figures["oracle"] > figures["first"]
    assert (files / "oracle").read_text().splitlines()[::2] == ["the home", ""]
    arguments = [f"weights={files / 'weights'}", f"out={files / 'new'}", f"best_out={files / 'best'}"]
    assert "1 of 3 sentences have no list" in remarked("nbest", "rescore", *given, *arguments)
    assert (files / "best").read_text() == "the house\na little cat sat\n\n"
    # Without references the source says how many lines there are.
    succeed("nbest", "rescore", str(files / "list"), *arguments, f"source={files / 'ref'}", "first_id=0")
    assert (files / "best").read_text() == "the house\na little cat sat\n\n"
    assert (files / "new").read_text().startswith("1 ||| a little cat sat")


@pytest.mark.parametrize(
    ("action", "some", "others"),
    [("score", {"lm", "out"}, {"ref", "weights", "metric"}), ("rescore", {"ref", "weights", "mbr"}, {"lm", "metric"})],
)
def test_the_help_of_an_action_has_its_keys(action: str, some: set[str], others: set[str], printed: Said) -> None:
    keys = {line.split("=")[0].strip() for line in printed("nbest", action, "--help").splitlines() if "=" in line}
    assert some <= keys
    assert not others & keys
    shown = printed("nbest", "--help")
    assert all(f"  {key}=" in shown for key in others & {"lm"})
