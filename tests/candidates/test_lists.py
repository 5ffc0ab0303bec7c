"""Pooled lists: the union of the rounds, each hypothesis once, in the order they came.

How much scores differ within lists, against a loop over the lists.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.candidates.plain_lists import listed
from tests.strategies import ragged_batches
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import UNITS, CandidateBatch
from xlate.candidates.lists import chosen, pool, spread_of_scores

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


@given(st.lists(ragged_batches(two_level=True, dense=1, sparse=3, max_instances=2), min_size=2, max_size=3))
def test_parts_are_compared_as_the_bags_they_are(batches: list[CandidateBatch]) -> None:
    """Pooled in parts and pooled with the ids of every candidate written out: the same candidates."""
    size = min(map(len, batches))
    some = [replace(b.select(range(size)), base_C=None, part_values_N=None) for b in batches]
    some = [replace(b, dense_CD=np.round(b.dense_CD)) for b in some]
    plain = []
    for batch in some:
        ids, offsets, _ = batch.flat_ids()
        plain.append(CandidateBatch(batch.candidate_offsets_I1, batch.dense_CD, batch.gain_CG, offsets, ids))
    assert listed(pool(some).validate()) == listed(pool(plain).validate())
    # The same of units, which are told apart by their numbers and the words in between, in their order.
    units = []
    for batch in some:
        nothing = np.zeros(len(batch.part_id_offsets_P1), np.int64), np.zeros(0, np.int32)
        between = {"between_offsets_P1": batch.part_id_offsets_P1, "between_T": batch.part_ids_N}
        numbers_PU = np.diff(batch.part_id_offsets_P1).astype(np.int32)[:, None]
        given = dict(zip(("part_id_offsets_P1", "part_ids_N"), nothing, strict=True))
        units.append(replace(batch, unit_PU=numbers_PU, **between, **given))
    known: dict[tuple[int, ...], int] = {}
    assert listed(numbered(pool(units).validate(), known)) == listed(pool([numbered(one, known) for one in units]))


def numbered(units: CandidateBatch, known: dict[tuple[int, ...], int]) -> CandidateBatch:
    """Parts with one id in place of the unit that they are."""
    numbers_PU, offsets_P1, between_T = units.units
    between = [between_T[a:b].tolist() for a, b in pairwise(offsets_P1.tolist())]
    rows = [(*row, *words) for row, words in zip(numbers_PU.tolist(), between, strict=True)]
    ids = np.array([known.setdefault(row, len(known)) for row in rows], np.int32)
    given = {"part_id_offsets_P1": np.arange(len(rows) + 1), "part_ids_N": ids}
    return replace(units, **given, **dict.fromkeys(UNITS))


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


@given(ragged_batches(), st.randoms(use_true_random=False))
def test_chosen_candidates_keep_what_they_hold(batch: CandidateBatch, random) -> None:
    places = [list(range(*batch.candidate_offsets_I1[i : i + 2])) for i in range(len(batch))]
    wanted = [random.sample(rows, random.randint(0, len(rows))) for rows in places]
    some = chosen(batch, np.array([c for rows in wanted for c in rows], np.int64)).validate()
    every = [candidate for instance in listed(batch) for candidate in instance]
    assert listed(some) == [[every[c] for c in rows] for rows in wanted]
    if not some.is_plain:
        assert set(some.part_of_K().tolist()) == set(range(len(some.part_id_offsets_P1) - 1))


def test_it_is_the_mean_over_lists_of_more_than_one() -> None:
    lists = [[1.0, 3.0, 8.0], [], [5.0], [-2.0, -2.0], [100.0, 101.0, 99.0, 100.0]]
    offsets = np.cumsum([0, *map(len, lists)])
    expected = np.mean([np.std(one) for one in lists if len(one) > 1])
    assert spread_of_scores(np.concatenate(lists), offsets) == pytest.approx(expected)
    for sizes in ([], [0], [1, 0, 1]):
        assert spread_of_scores(np.ones(sum(sizes)), np.cumsum([0, *sizes])) == 0
