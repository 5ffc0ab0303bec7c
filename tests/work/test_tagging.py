"""Source text that is tagged as it is prepared, and again when lines are translated."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.work.test_annotated_text import small_corpus, values
from tests.work.test_corpus_stage import built
from xlate.errors import InputError
from xlate.text.lines import write_lines
from xlate.work import corpus_files
from xlate.work.corpus_files import corpus_identity, resolve_files
from xlate.work.directory import WorkDirectory
from xlate.work.settings import DataConfig

# An empty pair; more than five tokens; a bar.
SOURCE = ["Das Haus, das brennt.", "", "So viel zu lang ist das.", "Haus|Haus.", "Das Ende."]
TARGET = ["The house on fire.", "nothing", "Much too long.", "House|house.", "The end."]
CLASSES = ["das\tDET", "Haus\tN", "Ende\tN", ".\tSTOP", "brennt\tV"]


def corpus(folder: Path, **settings: object) -> DataConfig:
    tagger = {"tagger": "classes", "tagger_classes": f"{folder}/c"}
    return small_corpus(folder, {"s": SOURCE, "t": TARGET, "c": CLASSES}, max_words=6, **{**tagger, **settings})


def test_words_are_tagged_as_they_were_written_and_stay_what_they_were(tmp_path: Path) -> None:
    tagged, plain = tmp_path / "tagged", tmp_path / "plain"
    for folder, settings in ((tagged, {}), (plain, {"tagger": None, "tagger_classes": None})):
        folder.mkdir()
        built(corpus(tmp_path, case="true", **settings), folder / "corpus")
    files = [path for path in plain.glob("corpus/**/*") if path.is_file()]
    for path in files:
        same = (tagged / path.relative_to(plain)).read_bytes() == path.read_bytes()
        assert same == (path.name not in ("preprocessing.json", "stage.json")), path
    (tmp_path / "c").unlink()
    work = WorkDirectory(tagged)
    assert work.factor_names("source").names == ("pos",)
    assert work.factor_names("target").names == ()
    pos = work.factor_vocabulary("source", "pos")
    kept = [["DET", "N", "UNKNOWN", "DET", "V", "STOP"], ["N", "UNKNOWN", "N", "STOP"], ["DET", "N", "STOP"]]
    assert values(work.factor("source", "pos"), pos) == kept
    assert values(work.factor("source", "pos", "dev"), pos) == kept[1:]
    # Lines to be translated are plain, and tagged as those were.
    assert work.source_lines("dev") == SOURCE[3:]
    assert [work.source_factors(line) for line in SOURCE] == [
        {"pos": tags} for tags in (kept[0], [], ["UNKNOWN"] * 5 + ["DET", "STOP"], *kept[1:])
    ]
    assert [len(work.source_tokens(line)) for line in SOURCE] == [6, 0, 7, 4, 3]
    assert WorkDirectory(plain).source_factors(SOURCE[0]) == {}


def test_tokens_between_blanks_are_tagged_and_a_bar_is_a_bar(tmp_path: Path) -> None:
    built(corpus(tmp_path, tokenize=False), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    assert work.source_tokens("Haus|N das")[1:] == ["das"]
    assert work.source_factors("Haus|N das") == {"pos": ["UNKNOWN", "DET"]}


def test_another_tagger_makes_another_corpus_and_none_the_one_before(tmp_path: Path) -> None:
    data = corpus(tmp_path)
    write_lines(tmp_path / "other", ["das\tART"])
    changes: list[dict[str, Any]] = [
        {"tagger": None, "tagger_classes": None}, {}, {"tagger_classes": f"{tmp_path}/other"}
    ]  # fmt: skip
    seen = [corpus_identity(resolve_files(replace(data, **change), tmp_path)) for change in changes]
    assert "tagger" not in seen[0]
    assert all(one not in seen[:place] for place, one in enumerate(seen))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tagger": None}, r"only the tagger by word classes needs a file(?s:.)*data.tagger=None"),
        ({"tagger_classes": None}, "only the tagger by word classes needs a file"),
        ({"source_factors": ["lemma"], "tokenize": False}, r"that has factors cannot be tagged(?s:.)*lemma"),
        ({"tagger_classes": "absent"}, "absent: cannot be read"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        built(corpus(tmp_path, **settings), tmp_path / "corpus")


def test_a_damaged_record_or_file_of_classes_is_refused(tmp_path: Path) -> None:
    stage = built(corpus(tmp_path), tmp_path / "corpus")
    (stage / corpus_files.STORED_CLASSES).write_text("das\n")
    with pytest.raises(InputError, match=r"tagger\.classes:1: not a word and its class"):
        WorkDirectory(tmp_path).source_factors("das")
    record = stage / "preprocessing.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "tagger": {"name": 3}}))
    with pytest.raises(InputError, match=r"preprocessing\.json: damaged"):
        WorkDirectory(tmp_path).source_factors("das")


def test_hanta_tags_a_corpus(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("HanTa")
    built(corpus(tmp_path, tagger="hanta", tagger_classes=None), tmp_path / "corpus")
    work = WorkDirectory(tmp_path)
    tags = ["ART", "NN", "$,", "PDS", "VV(FIN)", "$."]
    assert values(work.factor("source", "pos"), work.factor_vocabulary("source", "pos"))[0] == tags
    assert work.source_factors(SOURCE[0]) == {"pos": tags}
    assert work.source_tokens(SOURCE[0])[:2] == ["das", "Haus"]
    assert "HanTa" not in caplog.text
    monkeypatch.setattr(corpus_files, "hanta_version", lambda: "9.9")
    with caplog.at_level(logging.WARNING):
        WorkDirectory(tmp_path).source_factors(SOURCE[0])
    assert "was tagged by HanTa 1.2.1, but the installed version is 9.9" in caplog.text
