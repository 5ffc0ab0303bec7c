"""Keys among sorted ones, against looking for each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xlate.arrays.ragged import places_of_keys

KEYS = st.lists(st.integers(-5, 9), max_size=12)


@given(KEYS, KEYS)
def test_places_are_those_of_looking_for_each(among: list[int], keys: list[int]) -> None:
    among.sort()
    found = places_of_keys(np.array(among, np.int64), np.array(keys, np.int64))
    assert found.tolist() == [among.index(key) if key in among else -1 for key in keys]
