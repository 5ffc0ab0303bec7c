"""Factors and documents go through the corpus stage, and nothing else is altered by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import succeed
from tests.work.test_corpus_stage import built
from xlate.errors import InputError
from xlate.text.lines import read_lines, write_lines
from xlate.text.vocabulary import EncodedText, Vocabulary
from xlate.work.corpus_files import corpus_identity, resolve_files
from xlate.work.directory import WorkDirectory
from xlate.work.settings import DataConfig

# Nothing on one side; more than three words; a bar in a word.
SOURCE = ["Das|DET Haus|NOUN", "Ein|DET", "so|ADV viel|ADV zu|ADV lang|ADJ", "a&#124;b|SYM", "Ein|DET Ende|NOUN"]
LEMMAS = ["der Haus", "ein", "so viel zu lang", "a|b", "ein Ende"]
TARGET = ["the house", "", "much too long", "a|b", "an end"]


def small_corpus(folder: Path, texts: Mapping[str, Sequence[str]], **settings: object) -> DataConfig:
    """A corpus of the texts `s` and `t`; the dev set is what follows the third line of each text."""
    for name, lines in texts.items():
        write_lines(folder / name, lines)
        write_lines(folder / f"dev.{name}", lines[3:])
    given = {
        "train_source": [f"{folder}/s"],
        "train_target": [f"{folder}/t"],
        "dev_source": f"{folder}/dev.s",
        "dev_references": [f"{folder}/dev.t"],
        **settings,
    }
    return DataConfig(name="x", pair="de-en", **given)  # type: ignore[arg-type]


def corpus(folder: Path, **settings: object) -> DataConfig:
    given: dict[str, object] = {
        "source_factors": ["pos"],
        "factor_files": {
            "train_source_lemma": [f"{folder}/l"],
            "dev_source_lemma": [f"{folder}/dev.l"],
            "train_target_tag": [f"{folder}/t"],
            "dev_target_tag": [f"{folder}/dev.t"],
        },
        "documents": {"train": [f"{folder}/d"], "dev": [f"{folder}/dev.d"]},
        **settings,
    }
    texts = {"s": SOURCE, "l": LEMMAS, "t": TARGET, "d": ["x", "x", "y", "y", "z"]}
    return small_corpus(folder, texts, tokenize=False, case="lower", max_words=3, **given)


def values(text: EncodedText, vocabulary: Vocabulary) -> list[list[str]]:
    return [[vocabulary.word(n) for n in text[row].tolist()] for row in range(len(text))]


def test_factors_and_documents_follow_the_pairs_that_are_kept(tmp_path: Path) -> None:
    stage = built(corpus(tmp_path), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    assert read_lines(stage / "train.source.gz") == ["das haus", "a|b", "ein ende"]
    assert read_lines(stage / "train.target.gz") == ["the house", "a|b", "an end"]
    assert work.factor_names("source").names == ("pos", "lemma")
    pos, lemmas = (work.factor_vocabulary("source", name) for name in ("pos", "lemma"))
    assert values(work.factor("source", "pos"), pos) == [["DET", "NOUN"], ["SYM"], ["DET", "NOUN"]]
    assert values(work.factor("source", "lemma"), lemmas) == [["der", "Haus"], ["a|b"], ["ein", "Ende"]]
    assert values(work.factor("source", "lemma", "dev"), lemmas) == [["a|b"], ["ein", "Ende"]]
    tags = work.factor_vocabulary("target", "tag")
    assert values(work.factor("target", "tag"), tags) == [["the", "house"], ["a|b"], ["an", "end"]]
    assert values(work.factor("target", "tag", "dev"), tags) == [["a|b"], ["an", "end"]]
    assert work.documents().names == ["x", "y", "z"]
    assert work.documents().ranges() == [range(1), range(1, 2), range(2, 3)]
    assert work.documents("dev").names == ["y", "z"]
    # A dev line carries its factors, in the form that is translated; references do not.
    assert work.source_lines("dev") == ["a&#124;b|SYM|a&#124;b", "Ein|DET|ein Ende|NOUN|Ende"]
    assert work.source_tokens(work.source_lines("dev")[0]) == ["a|b"]
    assert work.source_factors(work.source_lines("dev")[1]) == {"pos": ["DET", "NOUN"], "lemma": ["ein", "Ende"]}
    assert work.source_tokens("Ein Ende") == ["ein", "ende"]
    assert work.source_factors("Ein Ende") == {}
    assert work.references("dev") == [TARGET[3:]]


def test_the_end_of_the_training_text_takes_factors_and_documents_along(tmp_path: Path) -> None:
    annotations = {
        "factor_files": {"train_source_lemma": [f"{tmp_path}/l"]},
        "documents": {"train": [f"{tmp_path}/d"]},
    }
    built(corpus(tmp_path, dev_source=None, dev_references=[], dev_pairs=2, **annotations), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    assert work.source_lines("dev") == ["a&#124;b|SYM|a&#124;b", "Ein|DET|ein Ende|NOUN|Ende"]
    assert values(work.factor("source", "pos", "dev"), work.factor_vocabulary("source", "pos")) == [
        ["<unk>"], ["DET", "NOUN"]
    ]  # fmt: skip
    assert (work.documents().names, work.documents("dev").names) == (["x"], ["y", "z"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokenize": True}, "text with factors cannot be tokenised"),
        ({"factor_separator": " "}, "cannot separate factors"),
        ({"source_factors": ["lemma"]}, "not the name of a source factor"),
        ({"target_factors": ["pos"]}, "wrong number of factors"),
        ({"factor_files": {"train_source_lemma": ["l"]}}, "the factors of a text differ"),
        ({"factor_files": {"source_lemma": ["l"]}}, "not files of a factor"),
        ({"factor_files": {"train_source_lemma": ["l", "l"]}}, "do not pair up with their texts"),
        ({"documents": {"train": []}}, "do not pair up with their texts"),
        ({"documents": {"tset": ["d"]}}, "unknown part of a corpus"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        built(replace(corpus(tmp_path), **settings), tmp_path / "corpus")


def test_what_was_not_prepared_is_not_there(tmp_path: Path) -> None:
    built(corpus(tmp_path, documents={}), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    with pytest.raises(InputError, match=r"(?s)no such factor of the source.*ner.*pos, lemma"):
        work.factor("source", "ner")
    with pytest.raises(InputError, match="the documents of train are unknown"):
        work.documents()
    with pytest.raises(InputError, match=r"factors/target\.tag/test"):
        work.factor("target", "tag", "test")


def test_each_setting_makes_another_corpus_and_none_the_one_before(tmp_path: Path) -> None:
    plain = corpus(tmp_path, source_factors=[], factor_files={}, documents={})
    before = corpus_identity(resolve_files(plain, tmp_path))
    assert not {"factors", "documents", "document_pattern", "dev_pairs", "tokenized"} & before.keys()
    whole = corpus(tmp_path)
    changes: list[dict[str, Any]] = [
        {}, {"factor_separator": "+"}, {"documents": {}}, {"document_pattern": "."}, {"dev_pairs": 3},
        {"tokenized": ["test"]},
    ]  # fmt: skip
    seen = [before, *(corpus_identity(resolve_files(replace(whole, **change), tmp_path)) for change in changes)]
    for name in ("l", "d"):
        write_lines(tmp_path / name, ["changed"])
        seen.append(corpus_identity(resolve_files(whole, tmp_path)))
    assert all(one not in seen[:place] for place, one in enumerate(seen))


def test_texts_of_the_built_in_corpus_have_a_factor_per_token(tmp_path: Path) -> None:
    size = ["data.generated.train=120", "data.generated.dev=12", "data.generated.test=12", "align=fast_align"]
    succeed("prepare", f"work={tmp_path}", "data=demo_factored", "stages=[]", *size)
    work = WorkDirectory(tmp_path)
    for side in ("source", "target"):
        assert np.array_equal(work.factor(side, "pos").offsets_S1, work.training_text(side).offsets_S1)
    for number, reference in enumerate(work.references("test")):
        sizes = np.diff(work.factor("target", "pos", "test", number).offsets_S1).tolist()
        assert sizes == [len(work.target_tokens(line)) for line in reference]
    assert len(work.documents()) == 12
