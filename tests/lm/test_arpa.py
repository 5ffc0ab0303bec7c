"""ARPA files come back as they were; every damaged one is refused with its line."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lm.oracles import back_off_models
from xlate.errors import InputError
from xlate.lm.arpa import ArpaModel, NgramTable, read_arpa, write_arpa
from xlate.text.vocabulary import Vocabulary

TEXT = """\
\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.5\t<unk>\t0
0\t<s>\t-0.3
-1\t</s>
-0.5\ta\t-0.25
-0.75\tb\t0.125

\\2-grams:
-0.5\t<s> a\t-0.1
-0.25\ta b\t-0.2
-0.375\tb </s>

\\3-grams:
-0.125\t<s> a b

\\end\\
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lm.arpa"


def refused(path: Path, text: str) -> InputError:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_arpa(path)
    assert caught.value.file == str(path)
    return caught.value


def changed(old: str, new: str) -> str:
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


@settings(deadline=None, max_examples=40)
@given(back_off_models(), st.sampled_from(["lm.arpa", "lm.arpa.gz"]))
def test_written_is_read(model: ArpaModel, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_arpa(Path(folder) / name, model)
        back = read_arpa(Path(folder) / name)
    assert back.vocabulary.words == model.vocabulary.words
    assert (back.order, back.counts) == (model.order, model.counts)
    for one, other in zip(back.tables, model.tables, strict=True):
        np.testing.assert_array_equal(one.words_Kn, other.words_Kn)
        np.testing.assert_allclose(one.log10_K, other.log10_K, rtol=1e-7)
        np.testing.assert_allclose(one.backoff_K, other.backoff_K, rtol=1e-7)


def test_what_is_read(path: Path) -> None:
    path.write_text("\n \n" + TEXT, encoding="utf-8")
    model = read_arpa(path)
    assert model.vocabulary.words == ["<unk>", "<s>", "</s>", "a", "b"]
    assert (model.order, model.counts) == (3, [5, 3, 1])
    assert model.tables[0].log10_K.tolist() == [-1.5, 0, -1, -0.5, -0.75]
    assert model.tables[0].backoff_K.tolist() == [0, -0.3, 0, -0.25, 0.125]
    assert model.tables[1].words_Kn.tolist() == [[1, 3], [3, 4], [4, 2]]
    assert model.tables[1].backoff_K.tolist() == [-0.1, -0.2, 0]
    assert model.tables[2].words_Kn.tolist() == [[1, 3, 4]]


def test_words_in_any_order_and_of_any_script(path: Path) -> None:
    path.write_text(
        "\\data\\\nngram 1=5\n\n\\1-grams:\n-1\tb\xa0c\n-2\t</s>\n-3\t<s>\n-4\t\u2028\n-5\t<unk>\n\n\\end\\\n",
        encoding="utf-8",
    )
    model = read_arpa(path)
    assert model.vocabulary.words == ["<unk>", "<s>", "</s>", "b\xa0c", "\u2028"]
    assert model.tables[0].log10_K.tolist() == [-5, -3, -2, -1, -4]


def test_special_words_that_are_missing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_text("\\data\\\nngram 1=1\n\n\\1-grams:\n-0.5\ta\n\n\\end\\\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING, logger="xlate.lm.arpa"):
        assert read_arpa(path).tables[0].log10_K.tolist() == [-100, 0, -100, -0.5]
    assert "<unk>" in caplog.text
    assert "</s>" in caplog.text


def test_cut_off_anywhere(path: Path) -> None:
    for end in range(len(TEXT) - 1):
        error, lines = refused(path, TEXT[:end]), TEXT[:end].count("\n")
        assert error.line is not None
        if TEXT[:end].endswith("\n"):
            assert error.message == "the ARPA file is cut off"
            assert lines <= error.line <= lines + 1
    assert refused(path, "").message == "not an ARPA file"


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("ngram 1=5", "ngram 1=4", "wrong n-gram count", 11),
        ("ngram 1=5", "ngram 1=6", "wrong n-gram count", 12),
        ("ngram 3=1", "ngram 3=2", "wrong n-gram count", 20),
        ("ngram 3=1\n", "", "wrong n-gram count", 17),
        ("ngram 2=3\n", "", "malformed header line", 3),
        ("ngram 2=3", "ngram 2=three", "malformed header line", 3),
        ("ngram 2=3", "ngram 2=" + "3" * 5000, "malformed header line", 3),
        ("-0.25\ta b", "-1e300\ta b", "malformed n-gram line", 15),
        ("-0.25\ta b\t-0.2", "-0.25\ta b\t1.5e38", "malformed n-gram line", 15),
        ("\\data\\", "mmap lm http://kheafield.com/code format version 5", "not an ARPA file", 1),
        ("-0.5\ta\t-0.25", "0.5\ta\t-0.25", "a positive log-probability", 10),
        ("-0.25\ta b", "-0.25 a b", "malformed n-gram line", 15),
        ("-0.25\ta b\t-0.2", "-0.25\ta b\t-0.2\t1", "malformed n-gram line", 15),
        ("-0.25\ta b\t-0.2", "-0.25\ta b\tx", "malformed n-gram line", 15),
        ("-0.25\ta b", "-0.25\ta b b", "malformed n-gram line", 15),
        ("-0.25\ta b", "-0.25\ta c", "a word without a unigram", 15),
        ("-0.75\tb", "-0.75\ta", "a 1-gram appears twice", 11),
        ("-0.375\tb </s>", "-0.375\t<s> a", "a 2-gram appears twice", 16),
        ("\\2-grams:", "\\3-grams:", "wrong n-gram count", 13),
        ("\\end\\", "\\4-grams:", "wrong n-gram count", 21),
    ],
)
def test_bad_files(path: Path, old: str, new: str, message: str, line: int) -> None:
    error = refused(path, changed(old, new))
    assert (error.message, error.line) == (message, line)
    assert str(error).startswith(f"{path}:{line}: {message}")
    assert error.expected is not None


def test_minus_infinity_is_never_for_the_beginning_alone(path: Path) -> None:
    path.write_text(TEXT.replace("\n0\t<s>", "\n-inf\t<s>"), encoding="utf-8")
    table = read_arpa(path).tables[0]
    assert table.log10_K[1] == -99
    assert refused(path, TEXT.replace("-0.5\ta", "-inf\ta")).message == "malformed n-gram line"


def test_an_order_too_high(path: Path) -> None:
    header = "".join(f"ngram {n}=1\n" for n in range(1, 9))
    assert refused(path, f"\\data\\\n{header}\n\\1-grams:\n").message == "unusable order"
    assert refused(path, "\\data\\\n\n\\1-grams:\n").message == "unusable order"


@pytest.mark.parametrize("word", ["", "two words", "tab\there", "line\nend"])
def test_words_that_cannot_be_written(path: Path, word: str) -> None:
    unigrams = NgramTable(np.arange(4, dtype=np.int32)[:, None], np.full(4, -1.0), np.zeros(4))
    with pytest.raises(InputError, match="a word that ARPA cannot hold"):
        write_arpa(path, ArpaModel(Vocabulary([word]), [unigrams]))
    assert not path.exists()
