"""Every kind of fault is found with its line, and good lists give none."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.formats.nbest_check import NbestReport, check_nbest
from xlate.formats.nbest_file import NbestFile

GOOD = [
    "0 ||| a b ||| lm= -1 tm= 1 2 ||| 3 ||| 0=0-1 ||| 0-1",
    "0 ||| c ||| lm= -2 tm= 1 2 ||| 3 ||| 0=0 ||| 0-0",
    "1 ||| d ||| lm= -2 tm= 3 4 ||| 3 ||| 0=0 ||| 0-0",
]


def checked(tmp_path: Path, lines: list[str], references: tuple[int, ...] = ()) -> NbestReport:
    path = tmp_path / "list.nbest"
    path.write_text("".join(f"{line}\n" for line in lines))
    return check_nbest(path, references={f"ref{place}": lines for place, lines in enumerate(references)})


def test_a_good_list(tmp_path: Path) -> None:
    report = checked(tmp_path, GOOD, references=(2, 2))
    assert (report.errors, report.oddities) == ([], {})
    assert report.summary() == "nothing odd"
    assert report.to_json() == {
        "lines": 3, "errors": 0, "oddities": {}, "lists": 2, "hypotheses": 3, "shortest": 1, "longest": 2, "features": 3
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 ||| e ||| f ||| lm= 1 tm= 1 2 ||| 3", "||| inside the text"),
        ("1 ||| e ||| lm= nan tm= 1 2 ||| 3", "not a finite number: nan"),
        ("1 ||| e ||| lm= 1e300 tm= 1 2 ||| 3", "a number out of range: 1e300 is beyond 3.4e+38"),
        (f"1{'0' * 30} ||| e ||| lm= 1 tm= 1 2 ||| 3", f"the sentence number is out of range: 1{'0' * 30}"),
        ("1 ||| e", "too few fields"),
        ("0 ||| e ||| lm= 1 tm= 1 2 ||| 3", "a sentence that came before"),
        ("1 ||| e ||| lm= 1 tm= 1 2 3 ||| 3", "the feature tm has 3 values, and 2 before"),
    ],
)
def test_errors(line: str, message: str, tmp_path: Path) -> None:
    report = checked(tmp_path, [*GOOD, line])
    assert [(error.message, error.line) for error in report.errors] == [(message, 4)]
    assert message in report.summary()


def test_all_errors_are_collected_and_the_rest_is_used(tmp_path: Path) -> None:
    report = checked(tmp_path, ["x", *GOOD, "y"])
    assert [error.line for error in report.errors] == [1, 5]
    assert report.to_json()["hypotheses"] == 3


def test_an_empty_list(tmp_path: Path) -> None:
    assert [error.message for error in checked(tmp_path, []).errors] == ["no hypotheses"]
    report = checked(tmp_path, ["x"])
    assert [error.message for error in report.errors] == ["too few fields"]
    assert report.to_json() == {"lines": 1, "errors": 1, "oddities": {}}


@pytest.mark.parametrize(("references", "words"), [((1,), "fit"), ((2, 3), "fit"), ((0,), "fit"), ((4,), "more ref")])
def test_references_that_do_not_fit(references: tuple[int, ...], words: str, tmp_path: Path) -> None:
    (error,) = checked(tmp_path, GOOD, references).errors
    assert words in error.message


@pytest.mark.parametrize(
    ("line", "oddity"),
    [
        ("1 |||  ||| lm= 1 tm= 1 2 ||| 3", "empty hypotheses"),
        ("1 ||| d ||| lm= 1 tm= 1 2 ||| 3", "duplicates"),
        ("3 ||| e ||| lm= 1 tm= 1 2 ||| 3", "gaps in the numbers"),
        ("1 ||| e ||| lm= 1 tm= 1 2", "no total"),
        ("1 ||| e ||| lm= 1 tm= 1 2 ||| 3 ||| 0=0-1", "segmentations that do not tile the words"),
        ("1 ||| e |0-0| f ||| lm= 1 tm= 1 2 ||| 3", "segmentations that do not tile the words"),
        ("1 ||| e ||| lm= 1 tm= 1 2 ||| 3 ||| 0=0 ||| 0-1", "links outside the words"),
    ],
)
def test_oddities(line: str, oddity: str, tmp_path: Path) -> None:
    report = checked(tmp_path, [*GOOD, line])
    assert (report.errors, dict(report.oddities)) == ([], {oddity: 1})
    assert report.examples[oddity].startswith("line 4: ")


def test_numbers_that_begin_later_or_are_missing(tmp_path: Path) -> None:
    assert "numbers do not begin with 0" in checked(tmp_path, GOOD[2:]).oddities
    report = checked(tmp_path, ['"-1.5 a b"', '"-2 c"'])
    assert dict(report.oddities) == {"no sentence number: cannot be imported": 2}


def test_a_feature_missing_on_few_lines(tmp_path: Path) -> None:
    lines = [f"0 ||| w{n} ||| lm= {n} tm= {n % 3} ||| 1" for n in range(20)]
    lines[7] = lines[7].replace("lm= 7 ", "")
    report = checked(tmp_path, lines)
    assert report.examples["features missing on few lines"] == "line 8: lm"


SHARED = {
    "joshua-kbest-extraction.nbest.gz": set(),
    "marian-wmt16.nbest.gz": set(),
    # Marian divides by the length here, and no weights fit.
    "marian-ape.nbest.gz": set(),
    "moses-mert-scorer.nbest.gz": {"duplicates"},
    "phrasal-properSample.nbest.gz": {"duplicates", "no total"},
}


@pytest.mark.parametrize("name", SHARED)
def test_foreign_lists(name: str, shared_data: Path) -> None:
    report = check_nbest(shared_data / "nbest" / name)
    assert (report.errors, set(report.oddities)) == ([], SHARED[name])


def test_duplicates_that_are_dropped_are_counted_once(tmp_path: Path) -> None:
    lines = ["0 ||| a ||| lm= 1 ||| 1", "0 ||| b ||| lm= 1 ||| 1", "0 ||| a ||| lm= 2 ||| 1", "1 ||| a ||| lm= 1 ||| 1"]
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in lines))
    for duplicates, left in (("keep", 4), ("drop", 3)):
        report = check_nbest(NbestFile(tmp_path / "list", duplicates=duplicates))
        assert (report.lines, report.to_json()["hypotheses"], report.oddities["duplicates"]) == (4, left, 1)
