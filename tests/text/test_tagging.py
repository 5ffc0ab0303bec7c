"""Tags of a table of word classes, and tagged lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.classes import commonest_classes
from xlate.text.factors import FactorNames
from xlate.text.tagging import UNKNOWN, ClassTagger, open_tagger, tagged_line
from xlate.text.tokens import Preprocessor

CLASSES = {"das": "7", "Haus": "3", "|": "B|R", ".": "0"}
GERMAN = Preprocessor("de")


def test_a_word_has_the_class_of_its_form_or_of_its_lower_cased_form() -> None:
    tagger = ClassTagger({**CLASSES, "haus": "4"})
    assert tagger.tags(["Das", "Haus", "HAUS", "dass", "."]) == ["7", "3", "4", UNKNOWN, "0"]
    assert tagger.tags([]) == []


def test_a_line_becomes_tokens_with_their_tags():
    tagger = ClassTagger(CLASSES)
    assert tagged_line("Das Haus|Das.", GERMAN, tagger) == "Das|7 Haus|3 &#124;|B&#124;R Das|7 .|0"
    assert [tagged_line(line, GERMAN, tagger) for line in ("", " \u00a0", "\u200c")] == ["", "", ""]
    assert tagged_line("Haus. das", Preprocessor("de", tokenize=False), tagger) == f"Haus.|{UNKNOWN} das|7"


@settings(deadline=None)
@given(st.text(alphabet="Das Haus|.\u00a0\u200c&#124;x"))
def test_tagged_lines_are_read_as_the_tokens_that_prepare_makes(line: str) -> None:
    tagger = ClassTagger(CLASSES)
    tokens = GERMAN.tokens(line)
    # What is written like an escaped bar is read as one; text is not full of that.
    words, factors = FactorNames(("pos",)).split(tagged_line(line, GERMAN, tagger))
    assert words == [token.replace("&#124;", "|") for token in tokens]
    assert factors.get("pos", []) == tagger.tags(tokens)


def test_classes_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "classes"
    path.write_text("0110\tdas\t20\n0111\tHaus\t3\n")
    assert open_tagger("xx", path).tags(["Das", "Haus"]) == ["0110", "0111"]
    for damaged in ("das\t7\nHaus\t\n", "das\t7\nHaus\t3 4\n"):
        path.write_text(damaged)
        with pytest.raises(InputError, match=r"(?s)a class that cannot be a factor.*'Haus'"):
            open_tagger("xx", path)


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
