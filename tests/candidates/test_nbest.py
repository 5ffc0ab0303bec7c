"""N-best lists become candidates whose scores and gains are those of the lines."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from xlate.candidates.nbest import (
    NAMES_FILE,
    nbest_arrays,
    nbest_candidates,
    read_sparse_names,
    reference_rows,
    statistic_names,
    write_nbest_store,
)
from xlate.candidates.store import CandidateStore
from xlate.errors import InputError


class Line(NamedTuple):
    line: int
    sentence: int
    text: str
    layout: tuple[tuple[str, int], ...]
    values: list[float]
    total: float | None


def line(sentence: int, text: str, **features: list[float]) -> Line:
    layout = tuple((name, len(values)) for name, values in features.items())
    return Line(7, sentence, text, layout, [v for values in features.values() for v in values], None)


LISTS = [
    [line(0, "a b", lm=[-1.0], tm=[1, 2], x=[1]), line(0, "a  c", lm=[-2.0], tm=[3, 4], y=[2.5], x=[0])],
    [line(2, "", lm=[0.5])],
]
REFERENCES = [["a b", "never", "a c"]]


def test_kinds_of_features_and_gains() -> None:
    candidates = nbest_candidates(nbest_arrays(LISTS), REFERENCES)
    candidates.batch.validate()
    assert candidates.dense_names == ("lm", "tm_0", "tm_1")
    assert candidates.sparse_names == ("x", "y")
    assert candidates.batch.dense_CD.tolist() == [[-1, 1, 2], [-2, 3, 4], [0.5, 0, 0]]
    # The value of x that has cancelled is no id.
    assert candidates.batch.part_id_offsets_P1.tolist() == [0, 1, 2, 2]
    assert candidates.batch.part_ids_N.tolist() == [0, 1]
    assert candidates.batch.part_values_N.tolist() == [1, 2.5]
    assert candidates.batch.candidate_offsets_I1.tolist() == [0, 2, 3]
    assert candidates.batch.gain_CG[:, :4].tolist() == [[2, 2, 2, 1], [2, 2, 1, 0], [0, 2, 0, 0]]
    assert candidates.batch.gain_CG.shape[1] == len(statistic_names())


def test_through_the_store(tmp_path: Path) -> None:
    candidates = nbest_candidates(nbest_arrays(LISTS), REFERENCES)
    write_nbest_store(tmp_path / "store", candidates, {"list": "some.nbest"})
    store = CandidateStore.open(tmp_path / "store")
    assert read_sparse_names(store) == candidates.sparse_names
    assert store.dense_names == list(candidates.dense_names)
    assert store.gain_names == list(statistic_names())
    assert store.arrays.sentence_I is not None
    assert store.arrays.sentence_I.tolist() == [0, 2]
    assert np.array_equal(store.batch([1]).gain_CG, candidates.batch.gain_CG[2:])
    (tmp_path / "store" / NAMES_FILE).unlink()
    with pytest.raises(InputError):
        read_sparse_names(store)


def test_a_missing_reference_is_left_out() -> None:
    lists = [[line(0, "a b", lm=[1])], [line(1, "a b", lm=[1])]]
    gains = nbest_candidates(nbest_arrays(lists), [["a b", ""], ["", None]]).batch.gain_CG
    assert gains[:, :3].tolist() == [[2, 2, 2], [2, 0, 0]]


def test_which_reference_belongs_to_a_list() -> None:
    assert reference_rows(np.array([0, 2]), [3]) == [0, 2]
    assert reference_rows(np.array([50, 51, 52]), [3]) == [0, 1, 2]
    assert reference_rows(np.array([50, 52]), [3], first_sentence=50) == [0, 2]
    assert reference_rows(np.array([1, 3]), [3], first_sentence=1) == [0, 2]
    assert reference_rows(np.array([0, 1]), [4], first_sentence=0) == [0, 1]
    for sentences, lengths, first in (([1, 3], [3], None), ([0], [1, 2], None), ([0], [1], 1)):
        with pytest.raises(InputError):
            reference_rows(np.array(sentences), lengths, first)
    with pytest.raises(InputError, match="f:3: more references than") as caught:
        reference_rows(np.array([1, 0]), [4], file="f")
    assert "first_id=0" in str(caught.value.remedy)


@pytest.mark.parametrize(
    "other", [line(1, "a", lm=[1, 2]), line(1, "a", lm=[1], tm=[1]), line(1, "a", tm_0=[1]), line(1, "a", tm=[1] * 3)]
)
def test_features_that_change_their_shape(other: Line) -> None:
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
