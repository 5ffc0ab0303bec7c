"""Flat sentences give back what went in."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.text.encoded import EncodedText, Numbering
from xlate.text.vocabulary import UNKNOWN, Vocabulary

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


words = st.lists(st.sampled_from(["the", "house", "Haus", "das", "Auto", UNKNOWN]), max_size=6)


def test_copied_words_stand_behind_the_vocabulary() -> None:
    numbering = Numbering(Vocabulary(["the", "house"]), ["das", "Haus", "das"])
    assert numbering.ids(["the", "Haus", "das", "Auto", "Bus", UNKNOWN]).tolist() == [3, 6, 5, 8, 8, 0]


@given(words, words, words)
def test_numbers_are_equal_where_words_are(source: list[str], one: list[str], other: list[str]) -> None:
    """What a translation may hold, words of the vocabulary or the source, has a number of its own, and reads back."""
    numbering = Numbering(Vocabulary(["the", "house"]), source)
    ours = [word for word in one if word in ("the", "house", *source)]
    assert numbering.words(numbering.ids(ours)) == ours
    for a, i in zip(ours, numbering.ids(ours).tolist(), strict=True):
        for b, j in zip(other, numbering.ids(other).tolist(), strict=True):
            assert (i == j) == (a == b)
