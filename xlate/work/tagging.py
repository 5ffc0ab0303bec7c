"""The tagger of a corpus: it tags the source as it is prepared, and the lines that are translated later."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from xlate.errors import InputError
from xlate.text.classes import read_classes, write_classes
from xlate.text.json_files import Fields
from xlate.text.tagging import Tagger, hanta_version, open_tagger
from xlate.work.corpus_files import CorpusFiles
from xlate.work.settings import DataConfig
from xlate.work.stages import file_hash

log = logging.getLogger(__name__)
CLASSES = "classes"
# What a work directory says of its tagger; the version is that of HanTa, or the SHA-256 of the file of classes.
TAGGER: Fields = {"name": str, "version": str}
STORED_CLASSES = "tagger.classes"


def tagger_record(data: DataConfig, files: CorpusFiles) -> dict[str, str]:
    """The tagger of a corpus and its version, nothing when it has none.

    Raises:
        InputError: settings that cannot be met together; HanTa is asked for and not installed; a file of classes that
            cannot be read.
    """
    _check(data, files)
    if data.tagger is None:
        return {}
    if files.tagger_classes is None:
        return {"name": data.tagger, "version": hanta_version()}
    return {"name": data.tagger, "version": file_hash(files.tagger_classes)}


def keep_tagger(data: DataConfig, files: CorpusFiles, folder: Path) -> Tagger | None:
    """Opens the tagger of a corpus, and keeps its classes in the folder of the stage.

    Raises:
        InputError: as `tagger_record` and `open_tagger` do.
    """
    if not tagger_record(data, files):
        return None
    if files.tagger_classes is not None:
        write_classes(folder / STORED_CLASSES, read_classes(files.tagger_classes))
    return open_tagger(files.source_language, files.tagger_classes)


def kept_tagger(record: Mapping[str, str], language: str, folder: Path) -> Tagger:
    """The tagger that a corpus was prepared with; a warning when HanTa has another version by now.

    Raises:
        InputError: as `open_tagger` does.
    """
    if record["name"] == CLASSES:
        return open_tagger(language, folder / STORED_CLASSES)
    if (installed := hanta_version()) != record["version"]:
        log.warning("%s was tagged by HanTa %s, and HanTa is %s now", folder, record["version"], installed)
    return open_tagger(language)


def _check(data: DataConfig, files: CorpusFiles) -> None:
    if (data.tagger == CLASSES) != (files.tagger_classes is not None):
        raise InputError(
            "a tagger by word classes needs their file, and no other does",
            seen=f"data.tagger={data.tagger}, data.tagger_classes={data.tagger_classes}",
            expected="data.tagger=classes data.tagger_classes=FILE, or none of the two",
        )
    own = [*data.source_factors, *files.factors.get(("train", "source"), {})]
    if data.tagger is not None and own:
        raise InputError(
            "a source with factors of its own is not tagged",
            seen=f"data.tagger={data.tagger}, factors {', '.join(own)}",
            expected="one of the two",
            remedy="for several factors write them into the text: xlate tag writes one",
        )
