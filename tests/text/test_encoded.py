"""Flat sentences give back what went in."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=6)


@settings(deadline=None)
@given(SENTENCES)
def test_sentences_come_back(sentences: list[list[str]]) -> None:
    vocabulary = Vocabulary("abcde")
    text = EncodedText.encode(sentences, vocabulary)
    assert len(text) == len(sentences)
    back = [[vocabulary.word(number) for number in text[s]] for s in range(len(text))]
    assert back == [[w if w in "abcde" else "<unk>" for w in sentence] for sentence in sentences]
    assert (text.ids_T.dtype, text.offsets_S1.dtype) == (np.int32, np.int64)


def test_the_drawn_example() -> None:
    text = EncodedText.encode([["a", "b"], [], ["c"]], Vocabulary("abc"))
    assert text.ids_T.tolist() == [3, 4, 5]
    assert text.offsets_S1.tolist() == [0, 2, 2, 3]
    assert text[1].tolist() == []
