"""Documents are ranges of sentences, whatever is left out of a text."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.documents import Documents, joined_documents, read_documents
from xlate.text.lines import write_lines

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=8)


def documents(lengths: list[int]) -> Documents:
    return Documents([f"d{n}" for n in range(len(lengths))], np.cumsum([0, *lengths]))


@given(LENGTHS, st.sets(st.integers(0, 39)))
def test_sentences_keep_their_document_when_others_are_left_out(lengths: list[int], wanted: set[int]) -> None:
    whole = documents(lengths)
    kept = sorted(row for row in wanted if row < whole.sentences)
    names = [f"d{n}" for n, length in enumerate(lengths) for _ in range(length)]
    left = [(name, len(list(rows))) for name, rows in groupby(names[row] for row in kept)]
    some = whole.rows(kept)
    assert list(zip(some.names, map(len, some.ranges()), strict=True)) == left
    assert some.sentences == len(kept)
    assert whole.rows(range(whole.sentences)).offsets_D1.tolist() == whole.offsets_D1.tolist()


@given(LENGTHS, st.integers(1, 8))
def test_folds_cut_no_document(lengths: list[int], folds: int) -> None:
    whole = documents(lengths)
    if folds > len(lengths):
        with pytest.raises(InputError, match="fewer documents than folds"):
            whole.folds(folds)
        return
    fold_S = whole.folds(folds)
    assert len(fold_S) == whole.sentences
    assert sorted(set(fold_S.tolist())) == list(range(folds))
    assert (np.diff(fold_S) >= 0).all()
    assert all(len(set(fold_S[rows.start : rows.stop].tolist())) == 1 for rows in whole.ranges())


def test_folds_are_as_even_as_documents_let_them_be() -> None:
    assert np.bincount(documents([1] * 10).folds(3)).tolist() == [3, 4, 3]
    assert np.bincount(documents([6, 2, 1, 3]).folds(2)).tolist() == [6, 6]
    assert np.bincount(documents([1, 1, 20]).folds(3)).tolist() == [1, 1, 20]


def test_names_are_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "ids", ["Gen.1.1", "Gen.1.2", "Gen.2.1", "Ex.1.1"])
    assert len(read_documents(tmp_path / "ids", 4)) == 4
    chapters = read_documents(tmp_path / "ids", 4, r"[^.]+\.[^.]+")
    assert (chapters.names, chapters.offsets_D1.tolist()) == (["Gen.1", "Gen.2", "Ex.1"], [0, 2, 3, 4])
    books = read_documents(tmp_path / "ids", 4, "[^.]+")
    assert books.ranges() == [range(3), range(3, 4)]
    # The last of one text and the first of the next stay two, though they have one name.
    twice = joined_documents([books, books.rows([3]), books.rows([3])])
    assert (twice.names, twice.offsets_D1.tolist()) == (["Gen", "Ex", "Ex", "Ex"], [0, 3, 4, 5, 6])
    assert twice.rows([0, 4, 5]).names == ["Gen", "Ex", "Ex"]
    write_lines(tmp_path / "none", [])
    assert read_documents(tmp_path / "none", 0).sentences == 0


@pytest.mark.parametrize(
    ("lines", "pattern", "line", "message"),
    [
        (["a", "b"], None, 3, "a file of documents of a different length"),
        (["a", "a", "b", "b"], None, 4, "a file of documents of a different length"),
        (["a", "  ", "b"], None, 2, "no document name"),
        (["a1", "a2", "b"], r"[a-z](?=\d)", 3, "no document name"),
        (["a", "b", "a"], None, 3, "continues after another began"),
    ],
)
def test_names_that_cannot_be_are_refused(
    tmp_path: Path, lines: list[str], pattern: str | None, line: int, message: str
) -> None:
    write_lines(tmp_path / "ids", lines)
    with pytest.raises(InputError, match=rf"ids:{line}: .*{message}\n  seen: .*\n  expected: "):
        read_documents(tmp_path / "ids", 3, pattern)
    with pytest.raises(InputError, match="not a regular expression"):
        read_documents(tmp_path / "ids", len(lines), "(")
