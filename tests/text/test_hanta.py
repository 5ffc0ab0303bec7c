"""Parts of speech by HanTa: what stands around its tagger."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.text import tagging
from xlate.text.tagging import MODELS, MOST_LETTERS, HantaTagger, open_tagger
from xlate.text.tokens import Preprocessor, between_blanks

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


@settings(deadline=None, max_examples=200)
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
    with pytest.raises(InputError, match=r"(?s)does not know.*fr.*de, en, nl.*classes=FILE"):
        HantaTagger("fr")

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(tagging, "version", absent)
    with pytest.raises(InputError, match=r'(?s)HanTa is not installed.*pip install "xlate\[tag\]"'):
        HantaTagger("de")
