"""N-best lists become candidates whose scores and gains are those of the lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.candidates.nbest import (
    NAMES_FILE,
    nbest_candidates,
    read_references,
    reference_rows,
    statistic_names,
    write_nbest_store,
)
from xlate.candidates.store import CandidateStore
from xlate.errors import InputError
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import Hypothesis
from xlate.text.lines import read_lines


def line(sentence: int, text: str, **features: list[float]) -> Hypothesis:
    layout = tuple((name, len(values)) for name, values in features.items())
    return Hypothesis(7, sentence, text, layout, [v for values in features.values() for v in values], None)


LISTS = [
    [line(0, "a b", lm=[-1.0], tm=[1, 2], x=[1]), line(0, "a  c", lm=[-2.0], tm=[3, 4], y=[2.5], x=[0])],
    [line(2, "", lm=[0.5])],
]
REFERENCES = [["a b"], ["a c"]]


def test_kinds_of_features_and_gains() -> None:
    candidates = nbest_candidates(nbest_arrays(LISTS), REFERENCES)
    batch = candidates.batch.validate()
    assert candidates.dense_names == ("lm", "tm_0", "tm_1")
    assert candidates.sparse_names == ("x", "y")
    assert batch.dense_CD.tolist() == [[-1, 1, 2], [-2, 3, 4], [0.5, 0, 0]]
    # The value of x that has cancelled is no id.
    assert batch.part_id_offsets_P1.tolist() == [0, 1, 2, 2]
    assert batch.part_ids_N.tolist() == [0, 1]
    assert batch.part_values_N.tolist() == [1, 2.5]
    assert batch.candidate_offsets_I1.tolist() == [0, 2, 3]
    assert batch.gain_CG[:, :4].tolist() == [[2, 2, 2, 1], [2, 2, 1, 0], [0, 2, 0, 0]]
    assert batch.gain_CG.shape[1] == len(statistic_names())


@pytest.mark.parametrize(
    ("totals", "first"),
    [([-2.0, -1.0, -5.0], [1, 2]), ([-1.0, -1.0, -5.0], [0, 2]), ([-2.0, -1.0, None], [0, 2])],
)
def test_the_first_of_a_list_has_its_highest_total(totals: list[float | None], first: list[int]) -> None:
    given = iter(totals)
    lists = [[hypothesis._replace(total=next(given)) for hypothesis in group] for group in LISTS]
    assert nbest_arrays(lists).first_I.tolist() == first


def test_through_the_store(tmp_path: Path) -> None:
    candidates = nbest_candidates(nbest_arrays(LISTS), REFERENCES)
    write_nbest_store(tmp_path / "store", candidates, {"list": "some.nbest"})
    store = CandidateStore.open(tmp_path / "store")
    assert tuple(read_lines(tmp_path / "store" / NAMES_FILE)) == candidates.sparse_names
    assert store.dense_names == list(candidates.dense_names)
    assert store.gain_names == list(statistic_names())
    assert store.arrays.sentence_I.tolist() == [0, 2]
    assert np.array_equal(store.batch([1]).gain_CG, candidates.batch.gain_CG[2:])


def test_which_reference_belongs_to_a_list(tmp_path: Path) -> None:
    for sentences, length, first, rows in (
        ([0, 2], 3, None, [0, 2]),
        ([50, 51, 52], 3, None, [0, 1, 2]),
        ([50, 52], 3, 50, [0, 2]),
        ([1, 3], 3, 1, [0, 2]),
        ([0, 1], 4, 0, [0, 1]),
    ):
        assert reference_rows(np.array(sentences), length, first) == rows
    for sentences, length, first in (([1, 3], 3, None), ([0], 1, 1)):
        with pytest.raises(InputError):
            reference_rows(np.array(sentences), length, first)
    with pytest.raises(InputError, match="f:3: more references than") as caught:
        reference_rows(np.array([1, 0]), 4, file="f")
    assert "first_id=0" in str(caught.value.remedy)
    # A missing reference is left out; a list without any has an empty one.
    for name, text in (("a", "x\n \n"), ("b", "y\n\n")):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert read_references(files, np.array([0, 1])) == [["x", "y"], [""]]
    assert read_references([], np.array([0, 1])) == []


@pytest.mark.parametrize(
    "other", [line(1, "a", lm=[1, 2]), line(1, "a", lm=[1], tm=[1]), line(1, "a", tm_0=[1]), line(1, "a", tm=[1] * 3)]
)
def test_features_that_change_their_shape(other: Hypothesis) -> None:
    with pytest.raises(InputError) as caught:
        nbest_arrays([LISTS[0], [other]], "some.nbest")
    assert (caught.value.line, caught.value.file) == (7, "some.nbest")


def test_references_that_are_tokenised_otherwise_are_said(caplog: pytest.LogCaptureFixture) -> None:
    lists = [[line(0, "no , he said .", lm=[-1.0])]]
    nbest_candidates(nbest_arrays(lists), [["no , he said ."]])
    assert not caplog.messages
    nbest_candidates(nbest_arrays(lists), [["no, he said."]])
    assert "the references look tokenised differently from the lists" in caplog.text
    assert "67 %" in caplog.text
