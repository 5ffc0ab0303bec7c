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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "ref", REFERENCES)
    write_lines(tmp_path / "src", [f"Haus {n} <&" for n in range(30)])
    write_lines(tmp_path / "train", ["the old house stands", "The house", "a house"])
    ours = list(REFERENCES)
    ours[4] = "nothing of it"
    write_lines(tmp_path / "a", ours)
    write_lines(tmp_path / "b", [line.replace("old", "new") if n < 20 else line for n, line in enumerate(REFERENCES)])
    return tmp_path


def test_what_is_said_of_two_outputs(folder: Path, printed: Said) -> None:
    given = ["compare", str(folder / "a"), str(folder / "b"), f"ref={folder / 'ref'}", f"src={folder / 'src'}"]
    text = printed(*given, f"train={folder / 'train'}", "top=3", f"out={folder / 'out'}")
    assert "30 sentences, 10 of them identical" in text
    for heading in (
        "Paired test", "BLEU by words of the reference", "F1 of words by their frequency in the training text",
        "N-grams that B has right more often", "Sentences where A is most ahead",
    ):  # fmt: skip
        assert heading in text
    assert "sentence 5: chrf" in text
    assert "  A          [nothing of it]" in text
    assert "  source     Haus 4 <&" in text
    assert max(map(len, text.splitlines()[:-2])) <= 100
    written = (folder / "out" / "compare.txt").read_text()
    assert text.startswith(written)
    page = Page((folder / "out" / "compare.html").read_text())
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
    ends = {line.rstrip().rfind("±") for line in text.splitlines() if line.split()[:1] in (["bleu"], ["ter"])}
    assert len(ends) == 1


def test_without_a_training_text_there_are_no_frequencies(folder: Path, printed: Said) -> None:
    text = printed("compare", str(folder / "a"), str(folder / "a"), f"ref={folder / 'ref'}")
    assert "F1 of words" not in text
    assert "30 of them identical" in text
    assert text.count("  none") == 4


def test_files_are_written_before_anything_is_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Closed())
    given = ["a=a", "b=b", "ref=[ref]", f"out={folder / 'out'}"]
    monkeypatch.chdir(folder)
    with pytest.raises(BrokenPipeError):
        run_compare(load(CompareConfig, "compare", given))
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["compare.html", "compare.txt"]


def test_what_does_not_fit_is_refused(folder: Path, refused: Said) -> None:
    write_lines(folder / "short", REFERENCES[:-1])
    for arguments, message in (
        ([str(folder / "a"), str(folder / "short"), f"ref={folder / 'ref'}"], "outputs of different length"),
        ([str(folder / "a"), str(folder / "b")], "nothing to score against"),
        (
            [str(folder / "a"), str(folder / "b"), f"ref={folder / 'ref'}", f"src={folder / 'short'}"],
            "a different length",
        ),
    ):
        assert message in refused("compare", *arguments)
