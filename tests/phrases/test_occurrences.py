"""Where pairs were extracted, against the textbook definition, and what is listed of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import encoded, phrase_of, table_of
from tests.phrases.test_extract import naive_spans
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.phrases.occurrences import listed_pairs, occurrences_of


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_places_are_those_of_the_textbook(data: st.DataObject) -> None:
    words = st.integers(3, 5)
    sizes = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=3))
    source = [data.draw(st.lists(words, min_size=n, max_size=n)) for n, _ in sizes]
    target = [data.draw(st.lists(words, min_size=m, max_size=m)) for _, m in sizes]
    grids = [[(i, j) for i in range(n) for j in range(m)] for n, m in sizes]
    links = [data.draw(st.sets(st.sampled_from(grid), max_size=5)) if grid else set() for grid in grids]
    every = [
        (s, i1, i2, tuple(source[s][i1:i2]), tuple(target[s][j1:j2]), {j for _, j in links[s]} >= {j1, j2 - 1})
        for s in range(len(source))
        for i1, i2, j1, j2 in naive_spans(source[s], target[s], links[s], 3, 3)
    ]
    kept = [row for row in every if data.draw(st.booleans())] or every
    if not kept:
        return
    table = table_of([(row[3], row[4]) for row in kept])
    found = occurrences_of(table, encoded(source), encoded(target), Links.from_pairs(links), 3)
    listed = {(row[3], row[4]) for row in kept}
    rows = zip(found.sentence_X, found.start_X, found.end_X, found.pair_X, found.tight_X, strict=True)
    seen = [(int(s), int(a), int(b), *phrase_of(table, int(pair)), bool(tight)) for s, a, b, pair, tight in rows]
    assert sorted(seen) == sorted(row for row in every if (row[3], row[4]) in listed)
    order = [row[:3] for row in seen]
    assert order == sorted(order)


def test_texts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError):
        occurrences_of(table_of([([3], [4])]), encoded([[3]]), encoded([]), Links.from_pairs([]))


def test_the_most_frequent_pairs_are_listed_first() -> None:
    table = table_of([([3], [3]), ([3], [4]), ([3], [5]), ([4], [3]), ([5], [3])])
    listed = listed_pairs(table, np.array([1, 3, 3, 0, 2]), 2)
    assert listed.offsets_P1.tolist() == [0, 2, 2, 3]
    assert listed.pair_N.tolist() == [1, 2, 4]
    # Shares are of all translations, those that are not listed with them.
    assert np.exp(listed.log_share_N) == pytest.approx([3 / 7, 3 / 7, 1.0])
    places, offsets = listed.of(np.array([2, 1, 0]))
    assert (places.tolist(), offsets.tolist()) == ([2, 0, 1], [0, 1, 1, 3])
