"""xlate compare on text files of two systems: what is printed, the page, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.commands import Said
from tests.report.pages import Page
from xlate.cli.commands import run_compare
from xlate.config.load import load
from xlate.config.schema import CompareConfig
from xlate.text.lines import write_lines

REFERENCES = [f"the {'very ' * (n % 9)}old house number {n} stands here" for n in range(30)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with the files that are compared."""
    monkeypatch.chdir(tmp_path)
    write_lines("ref", REFERENCES)
    write_lines("src", [f"Haus {n} <&" for n in range(30)])
    write_lines("train", ["the old house stands", "The house", "a house"])
    write_lines("a", [*REFERENCES[:4], "nothing of it", *REFERENCES[5:]])
    write_lines("b", [line.replace("old", "new") if n < 20 else line for n, line in enumerate(REFERENCES)])


def test_what_is_said_of_two_outputs(printed: Said) -> None:
    text = printed("compare", "a", "b", "ref=ref", "src=src", "train=train", "top=3", "out=out")
    assert "30 sentences, 10 of them identical" in text
    for heading in (
        "Paired test", "BLEU by words of the reference", "F1 of words by their frequency in the training text",
        "N-grams that B has right more often", "Sentences where A is most ahead",
    ):  # fmt: skip
        assert heading in text
    assert "sentence 5: chrf" in text
    assert "  A          [nothing of it]" in text
    assert "  source     Haus 4 <&" in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.startswith(Path("out/compare.txt").read_text())
    page = Page(Path("out/compare.html").read_text())
    page.check_whole()
    assert page.texts["h1"] == ["A a, B b"]
    assert "Haus 4 <&" in page.texts["span"]
    assert "new" in page.texts["mark"]
    assert page.texts["h2"][1] == "Paired test"
    # New minus old, right-aligned, with the better one of each measure and whether that may be chance.
    lines = [line.split() for line in text.splitlines()]
    tests = {words[0]: words[1:] for words in lines if words[:1] in (["bleu"], ["chrf"], ["ter"])}
    for old, new, difference, plus, _, p, better, significant in tests.values():
        assert plus == "±"
        assert float(difference) == pytest.approx(float(new) - float(old), abs=0.011)
        assert (better, significant) == ("A", "yes" if float(p) < 0.05 else "no")
    assert float(tests["ter"][2]) > 0 > float(tests["bleu"][2])
    assert len({line.rindex("±") for line in text.splitlines() if line.split()[:1] in (["bleu"], ["ter"])}) == 1


def test_without_a_training_text_there_are_no_frequencies(printed: Said) -> None:
    text = printed("compare", "a", "a", "ref=ref")
    assert "F1 of words" not in text
    assert "30 of them identical" in text
    assert text.count("  none") == 4


def test_files_are_written_before_anything_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stdout", closed)
    with pytest.raises(ValueError, match="closed file"):
        run_compare(load(CompareConfig, "compare", ["a=a", "b=b", "ref=ref", "out=out"]))
    assert {path.name for path in Path("out").iterdir()} == {"compare.html", "compare.txt"}


def test_what_does_not_fit_is_refused(refused: Said) -> None:
    assert "nothing to score against" in refused("compare", "a", "b")
    assert "a source of a different length" in refused("compare", "a", "b", "ref=ref", "src=train")
