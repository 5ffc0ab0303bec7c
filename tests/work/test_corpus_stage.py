"""The corpus stage: what is trained on, what is held out, what was tokenised already."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from xlate.errors import InputError
from xlate.jobs.train.online import training_sentences
from xlate.text.lines import read_lines, write_lines
from xlate.text.vocabulary import Vocabulary
from xlate.tuners.settings import TuneConfig
from xlate.work.corpus_files import corpus_identity, resolve_files
from xlate.work.corpus_stage import make_corpus
from xlate.work.directory import WorkDirectory
from xlate.work.settings import DataConfig


def corpus(folder: Path, **settings: object) -> DataConfig:
    for side in ("fr", "en"):
        write_lines(folder / f"train.{side}", (f"{side} {number}" for number in range(10)))
        write_lines(folder / f"test.{side}", [f"l&apos; an de &quot; {side} &quot; , n&apos; est @-@ ce &amp; co"])
    return DataConfig(
        name="small",
        pair="fr-en",
        train_source=[f"{folder}/train.fr"],
        train_target=[f"{folder}/train.en"],
        test_source=f"{folder}/test.fr",
        test_references=[f"{folder}/test.en"],
        tokenize=True,
        case="keep",
        max_words=50,
        **settings,  # type: ignore[arg-type]
    )


def built(data: DataConfig, folder: Path) -> Path:
    return make_corpus(folder.parent, resolve_files(data, folder)).folder


def test_the_end_of_the_training_text_is_the_dev_set(tmp_path: Path) -> None:
    stage = built(corpus(tmp_path, dev_pairs=3, max_sentences=5), tmp_path / "corpus")
    assert read_lines(stage / "train.source.gz") == [f"fr {n}" for n in range(5)]
    assert read_lines(stage / "dev.source.gz") == ["fr 7", "fr 8", "fr 9"]
    assert read_lines(stage / "dev.reference.0.gz") == ["en 7", "en 8", "en 9"]


@pytest.mark.parametrize(("drop_copied", "text"), [(False, "en شدرخ xne 12"), (True, "en xne 12")])
def test_copied_words_in_other_letters_are_left_out_of_text_if_asked_for(
    tmp_path: Path, drop_copied: bool, text: str
) -> None:
    built(corpus(tmp_path, drop_copied=drop_copied), tmp_path / "corpus")
    assert WorkDirectory(tmp_path).target_text(["en", "شدرخ", "xne", "12"]) == text


@pytest.mark.parametrize(("case", "seen"), [("keep", "Seen"), ("true", "seen")])
def test_further_translations_of_the_training_text(tmp_path: Path, case: str, seen: str) -> None:
    others = {"one": [f"Seen {n}" for n in range(10)], "two": [f"en {n} fr" for n in range(10)]}
    data = corpus(tmp_path, dev_pairs=3, train_references=[str(tmp_path / name) for name in others])
    write_lines(tmp_path / "train.en", [f"en {n}" if n != 1 else "" for n in range(10)])
    for name, lines in others.items():
        write_lines(tmp_path / name, lines)
    stage = built(replace(data, case=case), tmp_path / "corpus")
    # The second pair is left out, and so are its further translations.
    assert read_lines(stage / "train.reference.0.gz") == [f"{seen} {n}" for n in (0, 2, 3, 4, 5, 6)]
    work = WorkDirectory(tmp_path)
    target, known = work.target_vocabulary.ids, len(work.target_vocabulary)
    # A word of the source has a number after those of the target, and a word that is in neither the next one.
    en, two = target(["en", "2"]).tolist()
    found = [words.tolist() for words in work.training_references(1)]
    assert found == [[en, two], [known + 2, two], [en, two, known]]
    # The same for hierarchical systems that learn online.
    text = training_sentences(work, TuneConfig("online"), 6, 50)
    assert text.references[1] == [["en", "2"], [seen, "2"], ["en", "2", "fr"]]
    write_lines(tmp_path / "two", ["one line"])
    with pytest.raises(InputError, match="a reference of a different length"):
        built(data, tmp_path / "corpus")


def test_each_setting_and_each_use_of_a_file_makes_another_corpus(tmp_path: Path) -> None:
    data, english = corpus(tmp_path), f"{tmp_path}/train.en"
    changes: list[dict[str, Any]] = [
        {},
        {"pair": "fr-de"},
        {"case": "lower"},
        {"tokenize": False},
        {"max_words": 49},
        {"max_sentences": 5},
        {"compounds": True},
        {"affixes": True},
        {"drop_copied": True},
        {"train_references": [english]},
        {"lm_text": [english]},
        {"test_references": [*data.test_references, english]},
    ]
    seen = [corpus_identity(resolve_files(replace(data, **change), tmp_path)) for change in changes]
    assert all(one not in seen[:place] for place, one in enumerate(seen))


def test_tokenised_text_is_made_plain(tmp_path: Path) -> None:
    stage = built(corpus(tmp_path, tokenized=["test"]), tmp_path / "corpus")
    assert read_lines(stage / "test.source.gz") == ["l'an de \"fr\", n'est-ce & co"]
    assert read_lines(stage / "test.reference.0.gz") == ["l' an de \"en\", n' est-ce & co"]
    assert not (stage / "dev.source.gz").exists()


@pytest.mark.parametrize(("side", "word"), [("fr", "<S>"), ("en", "<unk>"), ("lm", "</s>")])
def test_reserved_words_are_refused_with_their_line(tmp_path: Path, side: str, word: str) -> None:
    more = {name: f"{tmp_path}/more.{name}" for name in ("fr", "en", "lm")}
    for name, file in more.items():
        write_lines(file, ["a", "", "b", f"b {word}" if name == side else "c"])
    data = replace(corpus(tmp_path, lm_text=[more["en"], more["lm"]]), tokenize=False, case="lower")
    data.train_source.append(more["fr"])
    data.train_target.append(more["en"])
    with pytest.raises(InputError, match="a reserved word") as caught:
        built(data, tmp_path / "corpus")
    assert (caught.value.file, caught.value.line, caught.value.seen) == (more[side], 4, word.lower())


def test_text_that_comes_tokenised_keeps_its_tokens(tmp_path: Path) -> None:
    data, lines = replace(corpus(tmp_path), tokenize=False), ["a\u2028b c\xa0d", "e\x85 \x0bf g\u200bh"]
    write_lines(tmp_path / "train.fr", lines)
    write_lines(tmp_path / "train.en", lines)
    stage = built(data, tmp_path / "corpus")
    assert read_lines(stage / "train.source.gz") == read_lines(stage / "train.target.gz") == lines
    assert Vocabulary.load(stage / "vocabulary.source").words[3:] == sorted(" ".join(lines).split(" "))


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"dev_pairs": 3, "dev_source": "dev.fr"}, "pairs cannot be held out"),
        ({"train_target": []}, "training files do not pair up"),
        ({"dev_pairs": 10}, "none usable"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], seen: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=seen):
        built(replace(corpus(tmp_path), **settings), tmp_path / "corpus")


def test_a_changed_vocabulary_is_refused(tmp_path: Path) -> None:
    stage = built(corpus(tmp_path), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    assert work.words == (14, 14)
    path = stage / "vocabulary.target"
    path.write_bytes(path.read_bytes().replace(b"en", b"em"))
    with pytest.raises(InputError, match=r"vocabulary\.target: damaged: its checksum differs"):
        _ = WorkDirectory(tmp_path).source_vocabulary
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"vocabulary\.target: missing or of the wrong size"):
        _ = WorkDirectory(tmp_path).target_vocabulary


def test_damaged_preprocessing_settings_are_refused(tmp_path: Path) -> None:
    stage = built(corpus(tmp_path), tmp_path / "corpus")
    assert WorkDirectory(tmp_path).preprocessing["case"] == "keep"
    (stage / "preprocessing.json").write_text('{"source_language": "fr"}')
    with pytest.raises(InputError, match=r"preprocessing\.json: damaged"):
        _ = WorkDirectory(tmp_path).preprocessing
