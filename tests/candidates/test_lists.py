"""Pooled lists: the union of the rounds, each hypothesis once, in the order they came.

How much scores differ within lists, against a loop over the lists.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.candidates.plain_lists import listed
from tests.strategies import ragged_batches
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import pool, spread_of_scores

Row = tuple[float, float, tuple[int, ...]]
rows = st.tuples(
    st.sampled_from([0.0, -0.0, 1.5]), st.sampled_from([0.0, 2.0]), st.sampled_from([(), (1,), (2,), (1, 2), (2, 1)])
)
lists = st.lists(st.lists(rows, max_size=4), min_size=2, max_size=2)


def batch_of(instances: list[list[Row]]) -> CandidateBatch:
    flat = [row for instance in instances for row in instance]
    return CandidateBatch(
        offsets_of([len(instance) for instance in instances]),
        np.array([[row[0]] for row in flat], np.float32).reshape(-1, 1),
        np.array([[row[1]] for row in flat], np.float32).reshape(-1, 1),
        offsets_of([len(row[2]) for row in flat]),
        np.array([i for row in flat for i in row[2]], np.int32),
    )


@given(st.lists(lists, min_size=1, max_size=3))
def test_pool_is_the_union_in_order(rounds: list[list[list[Row]]]) -> None:
    expected: list[list[Row]] = [[], []]
    for instances in rounds:
        for kept, new in zip(expected, instances, strict=True):
            for row in new:
                known = {(r[0], r[1], tuple(sorted(r[2]))) for r in kept}
                if (row[0], row[1], tuple(sorted(row[2]))) not in known:
                    kept.append(row)
    pooled = pool([batch_of(instances) for instances in rounds]).validate()
    assert listed(pooled) == listed(batch_of(expected))
    again = pool([pooled, *(batch_of(instances) for instances in rounds)])
    assert listed(again) == listed(pooled)


def test_values_of_sparse_features_count() -> None:
    one = batch_of([[(0.0, 0.0, (3,))]])
    other = replace(one, part_values_N=np.array([2.0], np.float32))
    pooled = pool([one, other, one])
    assert pooled.candidates == 2
    assert pooled.part_values_N.tolist() == [1.0, 2.0]


def as_units(batch: CandidateBatch) -> CandidateBatch:
    """The ids of a part become the words of a unit, whose number is how many they are."""
    return replace(
        batch,
        unit_PU=np.diff(batch.part_id_offsets_P1).astype(np.int32)[:, None],
        between_offsets_P1=batch.part_id_offsets_P1,
        between_T=batch.part_ids_N,
        part_id_offsets_P1=np.zeros_like(batch.part_id_offsets_P1),
        part_ids_N=np.zeros(0, np.int32),
    )


def compared(batch: CandidateBatch) -> list[list[object]]:
    """What the candidates of every instance are compared by: the words of their units in order, or all ids as a bag."""
    is_unit = batch.unit_PU is not None
    ids, ends = (batch.between_T, batch.between_offsets_P1) if is_unit else (batch.part_ids_N, batch.part_id_offsets_P1)
    parts = [tuple(ids[a:b].tolist()) for a, b in pairwise(ends)]
    part_K, rows = batch.part_of_K(), []
    for c, (a, b) in enumerate(pairwise(batch.candidate_part_offsets_C1)):
        bag = [parts[part] for part in part_K[a:b]]
        rows.append((batch.dense_CD[c].tolist(), batch.gain_CG[c].tolist(), sorted(bag if is_unit else chain(*bag))))
    return [rows[a:b] for a, b in pairwise(batch.candidate_offsets_I1)]


@settings(max_examples=200)
@given(
    st.lists(ragged_batches(two_level=True, dense=1, sparse=3, max_instances=2), min_size=2, max_size=3), st.booleans()
)
def test_parts_are_compared_as_the_bags_they_are(batches: list[CandidateBatch], units: bool) -> None:
    """Parts may have ids, or be units with words in between."""
    size = min(map(len, batches))
    some = [replace(b.select(range(size)), base_C=None, part_values_N=None) for b in batches]
    some = [replace(b, dense_CD=np.round(b.dense_CD)) for b in some]
    if units:
        some = [as_units(b) for b in some]
    rows = [list(chain(*lists)) for lists in zip(*map(compared, some), strict=True)]
    expected = [[one for n, one in enumerate(row) if one not in row[:n]] for row in rows]
    pooled = pool(some).validate()
    assert compared(pooled) == expected
    # Parts that no candidate holds are left out.
    assert set(pooled.part_of_K().tolist()) == set(range(len(pooled.part_id_offsets_P1) - 1))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to pool"):
        pool([])
    with pytest.raises(ValueError, match="instances"):
        pool([batch_of([[], []]), batch_of([[]])])
    with pytest.raises(ValueError, match="without words"):
        pool([batch_of([[(0.0, 0.0, ())], []])], by_words=True)


def with_words(batch: CandidateBatch, texts: list[list[int]]) -> CandidateBatch:
    return replace(
        batch,
        word_offsets_C1=offsets_of([len(text) for text in texts]),
        words_T=np.array([word for text in texts for word in text], np.int32),
    )


texts = st.lists(st.lists(st.integers(0, 2), max_size=3), max_size=5)


@given(st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=3))
def test_by_words_the_first_derivation_of_every_translation_stays(rounds: list[list[list[list[int]]]]) -> None:
    batches, expected, number = [], [{}, {}], 0
    for instances in rounds:
        rows: list[list[Row]] = [[], []]
        for held, known, found in zip(rows, expected, instances, strict=True):
            for text in found:
                number += 1
                held.append((float(number), 0.0, (number,)))
                known.setdefault(tuple(text), held[-1])
        batches.append(with_words(batch_of(rows), [text for found in instances for text in found]))
    pooled = pool(batches, by_words=True).validate()
    assert listed(pooled) == listed(batch_of([list(known.values()) for known in expected]))


def test_it_is_the_mean_over_lists_of_more_than_one() -> None:
    lists = [[1.0, 3.0, 8.0], [], [5.0], [-2.0, -2.0], [100.0, 101.0, 99.0, 100.0]]
    offsets = np.cumsum([0, *map(len, lists)])
    expected = np.mean([np.std(one) for one in lists if len(one) > 1])
    assert spread_of_scores(np.concatenate(lists), offsets) == pytest.approx(expected)
    for sizes in ([], [0], [1, 0, 1]):
        assert spread_of_scores(np.ones(sum(sizes)), np.cumsum([0, *sizes])) == 0
