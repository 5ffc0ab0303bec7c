"""The text that weights are tuned on: what keeps it from being one is said with the files' names and lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.jobs.train.tuning import tuning_text
from xlate.tuners.settings import TuneConfig


def tuned_on(folder: Path, source: str, *references: str) -> TuneConfig:
    (folder / "source").write_text(source, encoding="utf-8")
    names = []
    for number, text in enumerate(references):
        (folder / f"ref{number}").write_text(text, encoding="utf-8")
        names.append(f"{folder}/ref{number}")
    return TuneConfig(source=f"{folder}/source", references=names)


def test_lines_without_words_or_with_too_many_are_left_out(tmp_path: Path) -> None:
    text = tuning_text(tuned_on(tmp_path, "a b\n\na b c d\nc\n", "A\nB\nC\nD\n", "E\nF\nG\nH\n"), None, 3)
    assert text.sources == [["a", "b"], ["c"]]
    assert text.references == [[["A"], ["E"]], [["D"], ["H"]]]


@pytest.mark.parametrize(
    ("source", "references", "message"),
    [
        ("a\n", (), r"(?s)no references.*source.*one reference or more.*references=\[FILE"),
        ("a\nb\n", ("A\nB\n", "A\n"), r"(?s)source: .*differ in length.*2 lines; .*ref0: 2 lines, .*ref1: 1 lines"),
        ("\n \n", ("A\nB\n",), r"(?s)no sentence to tune on.*source: 2 lines.*a line of 1 to 5 words"),
        ("a b c d e f\n", ("A\n",), "no sentence to tune on"),
    ],
)
def test_what_is_no_such_text_is_refused(
    tmp_path: Path, source: str, references: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        tuning_text(tuned_on(tmp_path, source, *references), None, 5)
