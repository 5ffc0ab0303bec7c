"""Tags of a table of word classes, and tagged lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text.factors import FactorNames
from xlate.text.tagging import UNKNOWN, ClassTagger, LineTagger, open_tagger
from xlate.text.tokens import Preprocessor

CLASSES = {"das": "7", "Haus": "3", "|": "B|R", ".": "0"}
GERMAN = Preprocessor("de")


def test_a_word_has_the_class_of_its_form_or_of_its_lower_cased_form() -> None:
    tagger = ClassTagger({**CLASSES, "haus": "4"})
    assert tagger.tags(["Das", "Haus", "HAUS", "dass", "."]) == ["7", "3", "4", UNKNOWN, "0"]
    assert tagger.tags([]) == []


def test_a_line_becomes_tokens_with_their_tags() -> None:
    tagger = LineTagger(GERMAN, ClassTagger(CLASSES))
    assert tagger.tagged("Das Haus|Das.") == "Das|7 Haus|3 &#124;|B&#124;R Das|7 .|0"
    assert [tagger.tagged(line) for line in ("", " \u00a0", "\u200c")] == ["", "", ""]
    assert LineTagger(Preprocessor("de", tokenize=False), ClassTagger(CLASSES)).tagged("Haus. das") == (
        f"Haus.|{UNKNOWN} das|7"
    )


@settings(deadline=None)
@given(st.text(alphabet="Das Haus|.\u00a0\u200c&#124;x"))
def test_tagged_lines_are_read_as_the_tokens_that_prepare_makes(line: str) -> None:
    tagger = ClassTagger(CLASSES)
    tokens = GERMAN.tokens(line)
    # What is written like an escaped bar is read as one; text is not full of that.
    words, factors = FactorNames(("pos",)).split(LineTagger(GERMAN, tagger).tagged(line))
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
