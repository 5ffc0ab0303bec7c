"""Vocabularies, and sentences as word numbers."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.cli.main import main
from xlate.errors import InputError
from xlate.text.lines import write_lines
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN, UNKNOWN_ID, EncodedText, Numbering, Vocabulary

SPECIAL = ["<unk>", "<s>", "</s>"]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=6).filter(
    lambda word: word not in SPECIAL
)


def test_special_words_come_first() -> None:
    vocabulary = Vocabulary(["b", "</s>", "a", "<unk>"])
    assert vocabulary.words == [*SPECIAL, "b", "a"]
    assert [vocabulary.id(word) for word in SPECIAL] == [UNKNOWN_ID, BEGIN_ID, END_ID] == [0, 1, 2]
    # In a text they are unknown words.
    assert vocabulary.ids([*SPECIAL, "a"]).tolist() == [0, 0, 0, 4]
    assert not any(word in vocabulary for word in SPECIAL)
    assert len(vocabulary) == 5


@given(st.lists(st.lists(WORDS, max_size=6), max_size=6))
def test_build_equals_counting(sentences: list[list[str]]) -> None:
    counts = Counter(word for sentence in sentences for word in sentence)
    words = Vocabulary.build(sentences).words[3:]
    assert set(words) == counts.keys()
    assert words == sorted(words, key=lambda word: (-counts[word], word))


@given(st.lists(WORDS, unique=True, max_size=10), st.lists(WORDS, max_size=5))
def test_numbers_and_words_are_inverse(words: list[str], others: list[str]) -> None:
    vocabulary = Vocabulary(words)
    assert [vocabulary.word(vocabulary.id(word)) for word in words] == words
    ids = vocabulary.ids([*words, *others])
    assert ids.dtype == np.int32
    assert ids.tolist() == [vocabulary.words.index(w) if w in words else UNKNOWN_ID for w in [*words, *others]]
    assert all((word in vocabulary) == (word in words) for word in others)


@settings(max_examples=20)
@given(st.lists(WORDS, unique=True, max_size=10))
def test_saved_is_loaded(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.gz"
        Vocabulary(words).save(path)
        assert Vocabulary.load(path).words == [*SPECIAL, *words]


@pytest.mark.parametrize("twice", ["a", "<s>"])
def test_a_word_given_twice_is_refused(tmp_path, twice):
    with pytest.raises(InputError, match=r"a word appears twice in a vocabulary\n  seen: +a"):
        Vocabulary(["a", "b", "a"])
    path = tmp_path / "words.txt"
    write_lines(path, [*SPECIAL, "a", "b", twice, "c"])
    with pytest.raises(InputError, match=rf"{path}:6: a word appears twice in a vocabulary\n  seen: +{twice}"):
        Vocabulary.load(path)


@pytest.mark.parametrize("lines", [["<unk>", "<s>"], ["<s>", "<unk>", "</s>", "a"]])
def test_another_file_is_refused(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "words.txt"
    write_lines(path, lines)
    with pytest.raises(InputError, match=r"words\.txt:1: not a vocabulary file"):
        Vocabulary.load(path)


@pytest.mark.parametrize(("command", "word"), [("lm", "<unk>"), ("phrases", "</s>")])
def test_reserved_words_are_refused_with_their_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, word: str
) -> None:
    (good := tmp_path / "good").write_text("a b\n\n")
    (bad := tmp_path / "bad").write_text(f"a b\na {word}\n")
    (tmp_path / "links").write_text("0-0\n\n")
    given = {
        "lm": [f"text=[{good},{bad}]", "order=2"],
        "phrases": [f"source={good}", f"target={bad}", f"links={tmp_path / 'links'}"],
    }
    assert main([command, *given[command], f"out={tmp_path / 'out'}"]) == 2
    told = capsys.readouterr().err
    assert f"{bad}:2: a reserved word in a text\n  seen:     {word}\n" in told
    assert not (tmp_path / "out").exists()


SENTENCES = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=6)


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
