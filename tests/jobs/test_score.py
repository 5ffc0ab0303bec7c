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
from xlate.text.lines import read_lines, write_lines

REFERENCES = [f"the cat number {n} sat on the mat today" for n in range(12)]
# Three runs of each of two systems.
RUNS = ["hyp=[a0,a1,a2]", "against=[b0,b1,b2]"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with the references, three outputs of each system, and a column of each output."""
    monkeypatch.chdir(tmp_path)
    write_lines("ref", REFERENCES)
    write_lines("short", ["1"] * 11)
    for seed in range(3):
        worse = [r.replace("sat", "sits") if n % (seed + 2) == 0 else r for n, r in enumerate(REFERENCES)]
        write_lines(f"a{seed}", worse)
        write_lines(f"b{seed}", [line.replace("mat", "rug") for line in worse])
        for name, shift in (("a", 0.1), ("b", 0.0)):
            write_lines(f"{name}{seed}.comet", [str(0.5 + shift + n / 100) for n in range(12)])


def scored(capsys: Capture, *arguments: str) -> tuple[dict[str, Any], str]:
    assert main(["score", "ref=ref", "bootstrap=50", *arguments]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def test_runs_have_mean_and_deviation_and_a_test(capsys: Capture) -> None:
    figures, words = scored(capsys, *RUNS, "measures=[bleu,lexacc]")
    each = [evaluate(read_lines(f"a{seed}"), [REFERENCES], bootstrap=0)["bleu"] for seed in range(3)]
    assert figures["runs"] == figures["paired"]["runs"] == 3
    assert figures["bleu"] == pytest.approx(statistics.fmean(each))
    assert figures["bleu_deviation"] == pytest.approx(statistics.stdev(each))
    assert figures["bleu_runs"] == pytest.approx(each)
    assert figures["paired"]["lexacc"]["p_by_sentence"] < 0.01
    assert figures["paired"]["bleu"]["difference"] == pytest.approx(figures["bleu"] - figures["against"]["bleu"])
    assert f"± {statistics.stdev(each):.2f} (3)" in words
    assert "by sentence" in words


def test_columns_made_elsewhere_have_means_and_tests(capsys: Capture) -> None:
    columns, others = (",".join(f"comet={name}{seed}.comet" for seed in range(3)) for name in "ab")
    figures, words = scored(capsys, *RUNS, "measures=[bleu]", f"columns=[{columns}]", f"against_columns=[{others}]")
    assert figures["comet"] == pytest.approx(0.655)
    assert figures["comet_deviation"] == 0
    assert figures["paired"]["comet"]["difference"] == pytest.approx(0.1)
    assert figures["paired"]["comet"]["p_randomisation"] < 0.01
    assert "comet   0.6550 ± 0.0000 (3)" in words


def test_columns_alone_need_no_references(printed: Said, refused: Said) -> None:
    outputs, column = ["hyp=a0", "against=b0", "measures=[]"], "columns=[comet=a0.comet]"
    figures = json.loads(printed("score", *outputs, column, "against_columns=[comet=b0.comet]"))
    assert set(figures["paired"]) == {"samples", "trials", "seed", "comet"}
    assert figures["comet"] - figures["against"]["comet"] == pytest.approx(figures["paired"]["comet"]["difference"])
    assert "lines: 12 in a0, 11 in short" in refused("score", "hyp=[a0,short]", "columns=[comet=x]", "measures=[]")
    # Systems without a column in common.
    assert "nothing to compare" in refused("score", *outputs, column)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("hyp=[]", "seen:     no output"),
        ("hyp=a0 measures=[]", "measures=[] and no columns"),
        ("hyp=empty", "no line in empty"),
        ("hyp=[a0,a1,a2] against=[b0,b1]", "3 runs and 2 runs"),
        ("hyp=[a0,a1,a2] columns=[comet=a0.comet]", "1 files for 3 outputs"),
        ("hyp=a0 columns=[comet=short]", "a column of a different length"),
        ("hyp=a0 columns=[comet=ref]", "one number per line"),
        ("hyp=a0 columns=[bleu=short]", "already in use"),
        ("hyp=a0 against_columns=[comet=short]", "against_columns without against"),
        ("hyp=[a0,short]", "outputs of different length"),
        ("hyp=.", "a folder that is not a run"),
        ("hyp=nowhere", "no such run or file"),
    ],
)
def test_what_does_not_fit_is_refused(refused: Said, arguments: str, message: str) -> None:
    write_lines("empty", [])
    assert message in refused("score", "ref=ref", "bootstrap=0", "measures=[bleu]", *arguments.split())


@pytest.mark.parametrize(
    ("split", "remedy"), [("test", "measure_test=true, or use split=dev"), ("dev", "xlate translate")]
)
def test_a_set_that_a_run_has_not_translated(split: str, remedy: str) -> None:
    write_lines(MARK, [])
    with pytest.raises(InputError, match=f"has not translated the {split} set(?s:.*){remedy}") as caught:
        read_output(".", split)
    assert caught.value.file == f"{split}.out"
    assert (split == "dev") == ("split=dev" not in str(caught.value))
