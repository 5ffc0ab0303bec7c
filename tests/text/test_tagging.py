"""Taggers: of word classes, and of HanTa."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text import classes
from xlate.text.classes import (
    MODELS,
    MOST_LETTERS,
    UNKNOWN,
    ClassTagger,
    HantaTagger,
    commonest_classes,
    open_tagger,
    tagged_line,
)
from xlate.text.factors import FactorNames
from xlate.text.tokens import Preprocessor, between_blanks

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
    word_T, value_T = np.array(tokens, np.int32).reshape(-1, 2).T
    found = commonest_classes(WORDS, word_T, value_T, NAMES)
    assert set(found) == {WORDS[word] for word, _ in tokens if word}
    for word, name in found.items():
        counts = Counter(value for other, value in tokens if WORDS[other] == word)
        most = max(counts.values())
        assert name == NAMES[min(value for value, count in counts.items() if count == most)]


TOKENS = Preprocessor("de").tokens


@pytest.fixture(scope="module")
def german() -> HantaTagger:
    pytest.importorskip("HanTa")
    return HantaTagger("de")


def test_words_are_tagged_by_what_stands_around_them(german: HantaTagger) -> None:
    assert german.tags(TOKENS("Das Haus, das er kauft.")) == ["ART", "NN", "$,", "PRELS", "PPER", "VV(FIN)", "$."]
    assert german.tags([]) == []


@pytest.mark.parametrize("second", ["Oder nicht?", "Was hast du erwartet?", "„Ja, das ist gut.“", "Wie, ist mir egal."])
def test_every_sentence_of_a_line_is_tagged_as_if_it_stood_alone(german: HantaTagger, second: str) -> None:
    first = TOKENS("Er kam um drei.")
    words = TOKENS(second)
    assert german.tags([*first, *words])[len(first) :] == german.tags(words)
    assert german.tags(['"', *first]) == [*german.tags(['"']), *german.tags(first)]


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_every_word_has_a_tag_that_can_stand_in_a_line(german: HantaTagger, line: str) -> None:
    words = TOKENS(line)
    tags = german.tags(words)
    assert len(tags) == len(words)
    assert all(between_blanks(tag) == [tag] for tag in tags)


def test_what_was_found_out_of_a_word_alters_no_tag(german: HantaTagger) -> None:
    lines = [TOKENS(line) for line in ("Mehrere Männer bedienen ein Antriebsradsystem.", "Antriebsradsystem Männer")]
    fresh = [HantaTagger("de").tags(words) for words in lines]
    assert [german.tags(words) for words in lines] == [german.tags(words) for words in lines] == fresh


def test_of_a_word_without_end_only_its_end_is_looked_at(german: HantaTagger) -> None:
    assert german.tags(["die", "Z" + "x" * 50_000 + "freundlichkeit"])[1] == "NN"
    assert german.tags(["die", "Z" + "x" * (MOST_LETTERS - 11) + "verschönerung"])[1] == "NN"


def test_models_are_those_of_the_package_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("HanTa")
    monkeypatch.chdir(tmp_path)
    (tmp_path / MODELS["en"]).write_bytes(b"anything")
    assert open_tagger("en").tags(["the", "houses", "fall"]) == ["AT0", "NN2", "VVB"]


def test_what_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"(?s)does not support.*fr.*de, en, nl.*classes=FILE"):
        HantaTagger("fr")

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(classes, "version", absent)
    with pytest.raises(InputError, match=r'(?s)HanTa is not installed.*pip install "xlate\[tag\]"'):
        HantaTagger("de")
