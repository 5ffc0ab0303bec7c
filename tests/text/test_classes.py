"""Word classes: what a word is most often in a text."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xlate.text.classes import commonest_classes

WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c"]
NAMES = ["<unk>", "NOUN", "VERB"]


@given(st.lists(st.tuples(st.sampled_from([0, 3, 4, 5]), st.integers(0, 2)), max_size=30))
def test_the_value_that_a_word_has_most_often(tokens: list[tuple[int, int]]) -> None:
    word_T, value_T = np.array(tokens, dtype=np.int32).reshape(-1, 2).T
    found = commonest_classes(WORDS, word_T, value_T, NAMES)
    assert set(found) == {WORDS[word] for word, _ in tokens if word}
    for word, name in found.items():
        counts = Counter(value for other, value in tokens if WORDS[other] == word)
        most = max(counts.values())
        assert name == NAMES[min(value for value, count in counts.items() if count == most)]
