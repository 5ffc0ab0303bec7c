"""Every kind of fault is found with its line, and good lists give none; totals are compared with w · f, known or
fitted, up to what printing lost.
"""

from __future__ import annotations

import numpy as np
import pytest

from xlate.formats.nbest_check import check_nbest, printed_error
from xlate.formats.nbest_file import NbestFile
from xlate.text.lines import write_lines

GOOD = [
    "0 ||| a b ||| lm= -1 tm= 1 2 ||| 3 ||| 0=0-1 ||| 0-1",
    "0 ||| c ||| lm= -2 tm= 1 2 ||| 3 ||| 0=0 ||| 0-0",
    "1 ||| d ||| lm= -2 tm= 3 4 ||| 3 ||| 0=0 ||| 0-0",
]


def checked(tmp_path, lines, references=(), weights=None, **how):
    path = tmp_path / "list.nbest"
    write_lines(path, lines)
    files = [tmp_path / f"ref{count}" for count in references]
    for file, count in zip(files, references, strict=True):
        file.write_text("a\n" * count)
    return check_nbest(NbestFile(path, **how), references=files, weights=weights)


def test_a_good_list(tmp_path):
    report = checked(tmp_path, GOOD, references=(2, 2))
    assert report.summary() == "nothing odd"
    assert report.to_json() == {
        "lines": 3, "errors": 0, "oddities": {}, "lists": 2, "hypotheses": 3, "shortest": 1, "longest": 2, "features": 3
    }  # fmt: skip


def test_all_errors_are_collected_and_the_rest_is_used(tmp_path):
    report = checked(tmp_path, ["x", *GOOD, "1 ||| e ||| f ||| lm= 1 tm= 1 2 ||| 3", "0 ||| e ||| lm= 1 tm= 1 2 ||| 3"])
    assert [error.line for error in report.errors] == [1, 5, 6]
    assert "||| inside the text" in report.summary()
    assert report.to_json()["hypotheses"] == 3
    (error,) = checked(tmp_path, [*GOOD, "1 ||| e ||| lm= 1 tm= 1 2 3 ||| 3"]).errors
    assert (error.message, error.line) == ("the feature tm has 3 values, but 2 before", 4)
    assert [error.message for error in checked(tmp_path, []).errors] == ["no hypotheses"]
    report = checked(tmp_path, ["x"])
    assert [error.message for error in report.errors] == ["too few fields"]
    assert report.to_json() == {"lines": 1, "errors": 1, "oddities": {}}
    assert "… and 2 more errors" in checked(tmp_path, ["x"] * 12).summary()
    report = checked(tmp_path, ["a", "b", "c"], size=2)
    assert [error.message for error in report.errors] == ["3 lines are not a multiple of 2"]


@pytest.mark.parametrize(("references", "words"), [((1,), "match"), ((2, 3), "different length"), ((4,), "more ref")])
def test_references_that_do_not_fit(references, words, tmp_path):
    (error,) = checked(tmp_path, GOOD, references).errors
    assert words in error.message


@pytest.mark.parametrize(
    ("line", "oddity"),
    {
        "1 |||  ||| lm= 1 tm= 1 2 ||| 3": "empty hypotheses",
        "1 ||| d ||| lm= 1 tm= 1 2 ||| 3": "duplicates",
        "3 ||| e ||| lm= 1 tm= 1 2 ||| 3": "gaps in the numbers",
        "1 ||| e ||| lm= 1 tm= 1 2": "no total",
        "1 ||| e ||| lm= 1 tm= 1 2 ||| 3 ||| 0=0-1": "segmentations that do not tile the words",
        "1 ||| e |0-0| f ||| lm= 1 tm= 1 2 ||| 3": "segmentations that do not tile the words",
        "1 ||| e ||| lm= 1 tm= 1 2 ||| 3 ||| 0=0 ||| 0-1": "links outside the words",
    }.items(),
)
def test_oddities(line, oddity, tmp_path):
    report = checked(tmp_path, [*GOOD, line])
    assert (report.errors, dict(report.oddities)) == ([], {oddity: 1})
    assert report.examples[oddity].startswith("line 4: ")


def test_numbers_that_begin_later_or_are_missing(tmp_path):
    assert "numbers do not begin with 0" in checked(tmp_path, GOOD[2:]).oddities
    report = checked(tmp_path, ['"-1.5 a b"', '"-2 c"'])
    assert dict(report.oddities) == {"no sentence number: cannot be imported": 2}


def test_a_feature_missing_on_few_lines(tmp_path):
    lines = [f"0 ||| w{n} ||| lm= {n} tm= {n % 3} ||| 1" for n in range(20)]
    lines[7] = lines[7].replace("lm= 7 ", "")
    assert checked(tmp_path, lines).examples["features missing on few lines"] == "line 8: lm"


def test_duplicates_that_are_dropped_are_counted_once(tmp_path):
    lines = [f"{i} ||| {text} ||| lm= 1 ||| 1" for i, text in ((0, "a"), (0, "b"), (0, "a"), (1, "a"))]
    for duplicates, left in (("keep", 4), ("drop", 3)):
        report = checked(tmp_path, lines, duplicates=duplicates)
        assert (report.lines, report.to_json()["hypotheses"], report.oddities["duplicates"]) == (4, left, 1)


SHARED = {
    "joshua-kbest-extraction.nbest.gz": set(),
    "marian-wmt16.nbest.gz": set(),
    # Marian divides by the length here, and no weights fit.
    "marian-ape.nbest.gz": set(),
    "moses-mert-scorer.nbest.gz": {"duplicates"},
    "phrasal-properSample.nbest.gz": {"duplicates", "no total"},
}


@pytest.mark.parametrize("name", SHARED)
def test_foreign_lists(name, shared_data):
    report = check_nbest(NbestFile(shared_data / "nbest" / name))
    assert (report.errors, set(report.oddities)) == ([], SHARED[name])


WEIGHTS = {"lm": 0.5, "tm_0": 0.25, "tm_1": -0.125}
WRONG = {None: "totals that are no sum of weighted features", "given": "totals that are not w · f"}


def a_list(rng, wrong):
    """Six lists of twenty, features printed with six digits; the totals of the `wrong` lines are off by so much."""
    lines = []
    for number in range(120):
        lm, first, second = rng.normal(scale=20, size=3)
        total = 0.5 * lm + 0.25 * first - 0.125 * second - 100 * (number // 20) + wrong.get(number, 0.0)
        lines.append(f"{number // 20} ||| w{number} ||| lm= {lm:.6g} tm= {first:.6g} {second:.6g} ||| {total:.6g}")
    return lines


@pytest.mark.parametrize("given", WRONG)
@pytest.mark.parametrize("wrong", [{3: 0.01}, {0: -5, 1: 3, 77: 1e6}])
def test_wrong_totals_are_found(tmp_path, given, wrong, rng):
    report = checked(tmp_path, a_list(rng, wrong), weights=WEIGHTS if given else None)
    assert report.oddities[WRONG[given]] == len(wrong)
    assert report.examples[WRONG[given]].startswith(f"line {min(wrong) + 1}: ")
    if given:
        constant = report.examples["a part of the totals that no feature shows"]
        assert float(constant.split()[2].rstrip(",")) == pytest.approx(500, abs=0.01)


def test_other_weights_do_not_fit_and_a_missing_total_is_not_compared(tmp_path, rng):
    lines = a_list(rng, {})
    assert checked(tmp_path, lines, weights={**WEIGHTS, "lm": 0.51}).oddities[WRONG["given"]] > 100
    lines[4] = lines[4].rpartition(" |||")[0]
    assert dict(checked(tmp_path, lines, weights={"lm": 1.0}).oddities) == {"no total": 1}


def test_printed_error():
    assert printed_error(np.array([-9.0, 3, 120])).tolist() == [0, 0, 0]
    assert printed_error(np.array([-103.644, 0, 1.68191, 12.3456])) == pytest.approx([5e-4, 5e-6, 5e-6, 5e-5])
    # Three decimals, however large.
    assert printed_error(np.array([-9.702, -1172.001, 0.5])) == pytest.approx([5e-4] * 3)
