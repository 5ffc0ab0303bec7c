"""Word values in words: classes with their most frequent members."""

from __future__ import annotations

import numpy as np

from tests.models.test_every_system import phrase, structured
from xlate.features.word_values import every_word, word_classes
from xlate.text.vocabulary import Vocabulary

WORDS = Vocabulary(["haus", "hund", "katze", "geht", "maus"])


def test_a_class_has_its_first_words_behind_it() -> None:
    values = word_classes("class2", WORDS.words, {"haus": "7", "hund": "7", "katze": "7", "geht": "3"})
    nouns = int(values.value_V[WORDS.id("haus")])
    assert values.spelled(nouns, 0) == "7"
    assert values.spelled(nouns, 2) == "7{haus hund …}"
    assert values.spelled(nouns, 3) == "7{haus hund katze}"
    assert values.spelled(int(values.value_V[WORDS.id("geht")]), 3) == "3{geht}"
    assert values.spelled(int(values.value_V[1]), 3) == "<s>"


def test_other_values_stand_as_they_are() -> None:
    assert every_word(WORDS.words).spelled(WORDS.id("haus"), 3) == "haus"


def test_names_are_spelled_names_without_members() -> None:
    for system in (phrase("hier", sparse=True), structured()):
        index = system.features
        ids = np.arange(len(index))
        plain, spelled = list(index.names(ids)), list(index.names(ids, 2))
        assert list(index.names(ids, 0)) == plain
        for name, words in zip(plain, spelled, strict=True):
            assert ("{" in words) == (name != words)
        assert any("class2=1{" in name or "(1{" in name or ",1{" in name for name in spelled)
