"""Gains of hypotheses and their expected gains within lists, against sacrebleu sentence by sentence."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.candidates import nbest_gains
from xlate.candidates.nbest import NbestArrays
from xlate.candidates.nbest_gains import column_values, gain_statistics, probabilities, utilities
from xlate.errors import InputError
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import Style, by_sentence
from xlate.metrics.objective import Objective
from xlate.metrics.score import measure_sentences

WORD = st.sampled_from(["a", "b", "ab", "ba", "é", "a b", "the cat"])
TEXT = st.lists(WORD, max_size=6).map(" ".join)
LISTS = st.lists(st.lists(TEXT, min_size=1, max_size=4), min_size=1, max_size=3)


def arrays_of(lists: list[list[str]]) -> NbestArrays:
    lines = [f"{i} ||| {text} ||| x= {k / 4} ||| {-k}" for i, texts in enumerate(lists) for k, text in enumerate(texts)]
    return nbest_arrays(by_sentence([Style().line(line, n)[0] for n, line in enumerate(lines)], "l"))


@given(LISTS, st.sampled_from(["bleu", "chrf"]), st.sampled_from([0.0, 0.5]), st.sampled_from([1, 6, 1000]))
@settings(max_examples=10, deadline=None)
def test_expected_gains_are_means_over_the_list(lists: list[list[str]], measure: str, scale: float, most: int) -> None:
    with mock.patch.object(nbest_gains, "MOST_PAIRS", most):
        found = iter(utilities(arrays_of(lists), measure, scale).tolist())
    objective = Objective.of(measure)
    for texts in lists:
        weight = np.exp(-scale * np.arange(len(texts)))
        for text in texts:
            rows = [gain_statistics(arrays_of([[text]]), [[other]], objective)[0] for other in texts]
            expected = np.average(objective.sentences(np.array(rows)), weights=weight)
            assert next(found) == pytest.approx(expected, abs=1e-6)


@given(LISTS, st.lists(TEXT.filter(str.strip), min_size=2, max_size=2))
@settings(max_examples=10, deadline=None)
def test_statistics_of_chrf_and_ter_are_those_of_sacrebleu(lists: list[list[str]], references: list[str]) -> None:
    found = gain_statistics(arrays_of(lists), [references] * len(lists), Objective.of("chrf:1,ter:1"))
    flat = [text for texts in lists for text in texts]
    given = [[line] * len(flat) for line in references]
    # Of references that are equally near another one may be taken, so scores are compared.
    assert Objective({"chrf": 1.0}).sentences(found[:, :28]) * 100 == pytest.approx(
        [measure_sentences("chrf", [text], [[line] for line in references]).score for text in flat], abs=1e-6
    )
    assert found[:, 28:] == pytest.approx(measure_sentences("ter", flat, given).stats.values_SK)


def test_a_column_of_the_list_is_a_gain() -> None:
    arrays = arrays_of([["a", "b"], ["c"]])
    objective = Objective.of("bleu:1,column:3", column=True)
    rows = gain_statistics(arrays, [["b"], ["c"]], objective, "x")
    assert rows[:, -2:].tolist() == [[0, 1], [0.25, 1], [0, 1]]
    assert Objective.of("column", column=True).corpus(rows.sum(axis=0)[None])[0] == pytest.approx(100 * 0.25 / 3)
    assert objective.sentences(rows)[1] == pytest.approx((1.0 + 3 * 0.25) / 4)
    with pytest.raises(InputError, match="no such feature"):
        column_values(arrays, "y")
    with pytest.raises(InputError, match="not a measure"):
        Objective.of("column")


@given(LISTS, st.data())
@settings(max_examples=10, deadline=None)
def test_some_of_the_lists_are_as_if_read_alone(lists: list[list[str]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(range(len(lists))), min_size=1, unique=True))
    some, alone = arrays_of(lists).select(np.array(chosen)), arrays_of([lists[i] for i in chosen])
    assert some.sentence_I.tolist() == chosen
    for name in ("candidate_offsets_I1", "columns_V", "values_V", "value_offsets_C1", "total_C"):
        assert getattr(some, name).tolist() == getattr(alone, name).tolist(), name
    assert some.texts(np.arange(len(some.text))) == alone.texts(np.arange(len(alone.text)))


def test_probabilities_need_totals() -> None:
    arrays = arrays_of([["a", "b"], ["c"]])
    assert probabilities(arrays, 0.0).tolist() == [0.5, 0.5, 1.0]
    assert probabilities(arrays, 2.0)[0] == pytest.approx(1 / (1 + np.exp(-2)))
    arrays.total_C[0] = float("nan")
    with pytest.raises(InputError, match="without totals"):
        utilities(arrays, "bleu", 1.0)
    with pytest.raises(InputError, match="no such utility"):
        utilities(arrays, "ter")
