"""Outputs are read and scored."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Capture, Said
from xlate.cli.main import main
from xlate.errors import InputError
from xlate.jobs.score import read_output
from xlate.metrics.score import evaluate
from xlate.report.run_directory import MARK
from xlate.text.lines import write_lines

REFERENCES = [f"the cat number {n} sat on the mat today" for n in range(12)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "ref", REFERENCES)
    for seed in range(3):
        worse = [r.replace("sat", "sits") if n % (seed + 2) == 0 else r for n, r in enumerate(REFERENCES)]
        write_lines(tmp_path / f"a{seed}", worse)
        write_lines(tmp_path / f"b{seed}", [line.replace("mat", "rug") for line in worse])
        for name, shift in (("a", 0.1), ("b", 0.0)):
            write_lines(tmp_path / f"{name}{seed}.comet", [str(0.5 + shift + n / 100) for n in range(12)])
    return tmp_path


def scored(folder: Path, capsys: Capture, *arguments: str) -> tuple[dict[str, Any], str]:
    status = main(["score", f"ref={folder / 'ref'}", "bootstrap=50", *arguments])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    return json.loads(captured.out), captured.err


def files(folder: Path, name: str, ending: str = "") -> str:
    return ",".join(f"{folder / name}{seed}{ending}" for seed in range(3))


def test_runs_have_mean_and_deviation_and_a_test(folder: Path, capsys: Capture) -> None:
    figures, words = scored(
        folder, capsys, f"hyp=[{files(folder, 'a')}]", f"against=[{files(folder, 'b')}]", "measures=[bleu,lexacc]"
    )
    each = [
        evaluate((folder / f"a{seed}").read_text().splitlines(), [REFERENCES], bootstrap=0)["bleu"] for seed in range(3)
    ]
    assert figures["runs"] == 3
    assert figures["bleu"] == pytest.approx(statistics.fmean(each))
    assert figures["bleu_deviation"] == pytest.approx(statistics.stdev(each))
    assert figures["bleu_runs"] == pytest.approx(each)
    assert figures["paired"]["runs"] == 3
    assert figures["paired"]["lexacc"]["p_by_sentence"] < 0.01
    assert figures["paired"]["bleu"]["difference"] == pytest.approx(figures["bleu"] - figures["against"]["bleu"])
    assert f"± {statistics.stdev(each):.2f} (3)" in words
    assert "by sentence" in words


def test_a_line_that_ter_would_take_hours_for_is_refused(folder: Path, capsys: Capture, refused: Said) -> None:
    write_lines(folder / "long", [*REFERENCES[:-1], "a " * 2001])
    assert "2,001 words in line 12" in refused(
        "score", f"hyp={folder / 'long'}", f"ref={folder / 'ref'}", "measures=[ter]"
    )
    assert "bleu" in scored(folder, capsys, f"hyp={folder / 'long'}", "measures=[bleu]")[0]


def test_columns_made_elsewhere_have_means_and_tests(folder: Path, capsys: Capture) -> None:
    named = [",".join(f"comet={file}" for file in files(folder, name, ".comet").split(",")) for name in "ab"]
    figures, words = scored(
        folder, capsys, f"hyp=[{files(folder, 'a')}]", f"against=[{files(folder, 'b')}]", "measures=[bleu]",
        f"columns=[{named[0]}]", f"against_columns=[{named[1]}]",
    )  # fmt: skip
    assert figures["comet"] == pytest.approx(0.655)
    assert figures["comet_deviation"] == 0
    assert figures["paired"]["comet"]["difference"] == pytest.approx(0.1)
    assert figures["paired"]["comet"]["p_randomisation"] < 0.01
    assert "comet   0.6550 ± 0.0000 (3)" in words


def test_columns_alone_need_no_references(folder: Path, printed: Said, refused: Said) -> None:
    columns = [f"columns=[comet={folder / 'a0.comet'}]", f"against_columns=[comet={folder / 'b0.comet'}]"]
    outputs = [f"hyp={folder / 'a0'}", f"against={folder / 'b0'}"]
    figures = json.loads(printed("score", *outputs, *columns, "measures=[]"))
    assert set(figures["paired"]) == {"samples", "trials", "seed", "comet"}
    assert figures["comet"] - figures["against"]["comet"] == pytest.approx(figures["paired"]["comet"]["difference"])
    write_lines(folder / "short", ["1"] * 11)
    assert "lines: 12 in a0, 11 in short" in refused(
        "score", f"hyp=[{folder / 'a0'},{folder / 'short'}]", "columns=[comet=x]", "measures=[]"
    )
    # Systems without a column in common.
    assert "nothing to compare" in refused("score", *outputs, columns[0], "measures=[]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hyp=[]"], "seen:     no output"),
        (["hyp={a}0", "measures=[]"], "measures=[] and no columns"),
        (["hyp={f}/empty"], "no line in empty"),
        (["hyp=[{a}]", "against=[{b}0,{b}1]"], "3 runs and 2 runs"),
        (["hyp=[{a}]", "columns=[comet={a}0.comet]"], "1 files for 3 outputs"),
        (["hyp={a}0", "columns=[comet={f}/short]"], "a column of a different length"),
        (["hyp={a}0", "columns=[comet={f}/ref]"], "one number per line"),
        (["hyp={a}0", "columns=[bleu={f}/short]"], "already in use"),
        (["hyp={a}0", "against_columns=[comet={f}/short]"], "against_columns without against"),
        (["hyp=[{a}0,{f}/short]"], "outputs of different length"),
        (["hyp={f}"], "a folder that is not a run"),
        (["hyp={f}/nowhere"], "no such run or file"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, refused: Said, arguments: list[str], message: str) -> None:
    write_lines(folder / "short", ["1"] * 11)
    write_lines(folder / "empty", [])
    names = {"a": str(folder / "a"), "b": str(folder / "b"), "f": str(folder)}
    given = [argument.replace("[{a}]", f"[{files(folder, 'a')}]").format(**names) for argument in arguments]
    assert message in refused("score", f"ref={folder / 'ref'}", "bootstrap=0", "measures=[bleu]", *given)


@pytest.mark.parametrize(
    ("split", "remedy"), [("test", "measure_test=true, or use split=dev"), ("dev", "xlate translate")]
)
def test_a_set_that_a_run_has_not_translated(split: str, remedy: str, tmp_path: Path) -> None:
    (tmp_path / MARK).write_text("")
    with pytest.raises(InputError, match=f"has not translated the {split} set(?s:.*){remedy}") as caught:
        read_output(tmp_path, split)
    assert caught.value.file == str(tmp_path / f"{split}.out")
    assert (split == "dev") == ("split=dev" not in str(caught.value))
