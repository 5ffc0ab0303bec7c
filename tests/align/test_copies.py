"""Groups of copies against connected components by definition; folds that keep them together and are balanced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.align.parted_copies import parted_copies
from xlate.align.copies import balanced_folds, copy_groups, digests, heldout_pairs, normal_form

words = st.lists(st.sampled_from(["a", "A", "b", ".", "1"]), min_size=1, max_size=2)
pairs = st.lists(st.tuples(words, words), min_size=1, max_size=14)


def test_a_normal_form_is_letters_and_digits() -> None:
    assert normal_form(["Ein", "Haus", ",", "Nr.", "5", "!"]) == "einhausnr5"
    assert normal_form(["ß"]) == normal_form(["SS"])
    assert normal_form(["...", "?"]) == "... ?"


@given(pairs)
def test_groups_are_the_connected_components(rows: list[tuple[list[str], list[str]]]) -> None:
    forms = [(normal_form(s), normal_form(t)) for s, t in rows]
    linked = np.array([[a[0] == b[0] or a[1] == b[1] for b in forms] for a in forms])
    for _ in rows:
        linked = (linked.astype(int) @ linked.astype(int)) > 0
    expected = [int(row.argmax()) for row in linked]
    assert copy_groups(digests(s for s, _ in rows), digests(t for _, t in rows)).tolist() == expected


@given(st.lists(st.integers(0, 8), max_size=60), st.integers(1, 5))
def test_folds_hold_whole_groups_and_are_balanced(groups: list[int], folds: int) -> None:
    group_S = np.array(groups, np.int64)
    fold_S = balanced_folds(group_S, folds)
    assert parted_copies(group_S, fold_S) == 0
    sizes = np.bincount(fold_S, minlength=folds)
    assert len(sizes) == folds
    largest = max((groups.count(g) for g in set(groups)), default=0)
    assert sizes.max() - sizes.min() <= max(largest, 1)


def test_folds_are_neighbours_and_large_groups_take_their_own() -> None:
    assert balanced_folds(np.arange(7), 3).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert balanced_folds(np.array([0, 0, 0, 0, 4, 5, 6, 7]), 2).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="0 folds"):
        balanced_folds(np.arange(3), 0)


def test_every_so_many_groups_are_held_out_with_their_copies() -> None:
    group_S = np.arange(400)
    group_S[[50, 70]] = 3
    assert np.flatnonzero(heldout_pairs(group_S, 100)).tolist() == [101, 201, 301]
    assert np.flatnonzero(heldout_pairs(group_S, 4))[:2].tolist() == [3, 7]
    assert heldout_pairs(group_S, 4)[[3, 50, 70]].all()
    assert not heldout_pairs(group_S, 0).any()
    # A group that is much of the text is not held out.
    assert heldout_pairs(np.maximum(np.arange(100), 2), 1).tolist() == [False] * 3 + [True] * 97
