"""Factors and documents go through the corpus stage, and nothing else is altered by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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

SMALL = ["data.generated.train=120", "data.generated.dev=12", "data.generated.test=12", "align=fast_align"]
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
        "train_source": [str(folder / "s")],
        "train_target": [str(folder / "t")],
        "dev_source": str(folder / "dev.s"),
        "dev_references": [str(folder / "dev.t")],
        **settings,
    }
    return DataConfig(name="x", pair="de-en", **given)  # type: ignore[arg-type]


def corpus(folder: Path, **settings: object) -> DataConfig:
    given: dict[str, object] = {
        "source_factors": ["pos"],
        "factor_files": {
            "train_source_lemma": [str(folder / "l")],
            "dev_source_lemma": [str(folder / "dev.l")],
            "train_target_tag": [str(folder / "t")],
        },
        "documents": {"train": [str(folder / "d")], "dev": [str(folder / "dev.d")]},
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
    assert values(work.factor("target", "tag"), work.factor_vocabulary("target", "tag"))[0] == ["the", "house"]
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
    files = {"train_source_lemma": [str(tmp_path / "l")]}
    documents = {"train": [str(tmp_path / "d")]}
    settings = {"dev_source": None, "dev_references": [], "dev_pairs": 2, "factor_files": files, "documents": documents}
    built(corpus(tmp_path, **settings), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    assert work.source_lines("dev") == ["a&#124;b|SYM|a&#124;b", "Ein|DET|ein Ende|NOUN|Ende"]
    assert values(work.factor("source", "pos", "dev"), work.factor_vocabulary("source", "pos")) == [
        ["<unk>"], ["DET", "NOUN"]
    ]  # fmt: skip
    assert (work.documents().names, work.documents("dev").names) == (["x"], ["y", "z"])


def bad_settings() -> Iterator[tuple[dict[str, object], str]]:
    yield {"tokenize": True}, "text with factors cannot be tokenised"
    yield {"factor_separator": " "}, "cannot separate factors"
    yield {"source_factors": ["lemma"]}, "not the name of a source factor"
    yield {"target_factors": ["pos"]}, "wrong number of factors"
    yield {"factor_files": {"train_source_lemma": ["l"]}}, "the factors of a text differ"
    yield {"factor_files": {"source_lemma": ["l"]}}, "not files of a factor"
    yield {"factor_files": {"train_source_lemma": ["l", "l"]}}, "do not pair up with their texts"
    yield {"documents": {"train": []}}, "do not pair up with their texts"
    yield {"documents": {"tset": ["d"]}}, "unknown part of a corpus"


@pytest.mark.parametrize(("settings", "message"), bad_settings())
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, object], message: str) -> None:
    data = corpus(tmp_path)
    for name, value in settings.items():
        setattr(data, name, value)
    with pytest.raises(InputError, match=message):
        built(data, tmp_path / "corpus")


def test_what_was_not_prepared_is_not_there(tmp_path: Path) -> None:
    built(corpus(tmp_path, documents={}), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    with pytest.raises(InputError, match=r"(?s)no such factor of the source.*ner.*pos, lemma"):
        work.factor("source", "ner")
    with pytest.raises(InputError, match="the documents of train are unknown"):
        work.documents()
    with pytest.raises(InputError, match=r"factors/target\.tag/dev"):
        work.factor("target", "tag", "dev")


def test_each_setting_makes_another_corpus_and_none_the_one_before(tmp_path: Path) -> None:
    plain = corpus(tmp_path, source_factors=[], factor_files={}, documents={})
    before = corpus_identity(resolve_files(plain, tmp_path))
    assert not {"factors", "documents", "document_pattern", "dev_pairs", "tokenized"} & before.keys()
    whole = corpus(tmp_path)
    seen = [before, corpus_identity(resolve_files(whole, tmp_path))]
    for settings in (
        {"factor_separator": "+"},
        {"documents": {}},
        {"document_pattern": "."},
        {"dev_pairs": 3},
        {"tokenized": ["test"]},
    ):
        other = corpus(tmp_path, **settings)
        seen.append(corpus_identity(resolve_files(other, tmp_path)))
    for name in ("l", "d"):
        write_lines(tmp_path / name, ["changed"])
        seen.append(corpus_identity(resolve_files(whole, tmp_path)))
    assert all(one not in seen[:place] for place, one in enumerate(seen))


def test_the_built_in_corpus_with_factors_is_the_same_text(tmp_path: Path) -> None:
    for data in ("demo", "demo_factored"):
        succeed("prepare", f"work={tmp_path / data}", f"data={data}", *SMALL)
    plain, work = WorkDirectory(tmp_path / "demo"), WorkDirectory(tmp_path / "demo_factored")
    assert plain.factor_names("source").names == ()
    for side in ("source", "target"):
        text = work.training_text(side)
        assert text.ids_T.tolist() == plain.training_text(side).ids_T.tolist()
        assert work.factor(side, "pos").offsets_S1.tolist() == text.offsets_S1.tolist()
    for split in ("dev", "test"):
        sizes = np.diff(work.factor("source", "pos", split).offsets_S1).tolist()
        assert sizes == [len(work.source_tokens(line)) for line in work.source_lines(split)]
        for number, reference in enumerate(work.references(split)):
            sizes = np.diff(work.factor("target", "pos", split, number).offsets_S1).tolist()
            assert sizes == [len(work.target_tokens(line)) for line in reference]
    assert len(work.documents()) == 12
