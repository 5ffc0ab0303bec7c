"""xlate import moses=INI out=RUN: a Moses system as a run that translates."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.config.decoder_schema import PhraseDecoderConfig
from xlate.config.limits import check_limits
from xlate.config.load import load
from xlate.config.model_schema import PhraseModelConfig
from xlate.config.schema import ImportConfig, TrainConfig
from xlate.config.stored import to_yaml
from xlate.errors import InputError
from xlate.formats.moses_ini import FeatureLine, MosesIni, read_moses_ini
from xlate.formats.moses_table import phrases_in
from xlate.jobs.prepare.stages import file_hash
from xlate.jobs.run_text import PreparedText, TextSides, imported_text, say_text
from xlate.jobs.run_weights import made_with
from xlate.jobs.systems.phrase import MODEL, SET
from xlate.models.phrase.model import PhraseModel, load_moses_model
from xlate.models.phrase.store import save_phrase_model
from xlate.report.run_directory import RunDirectory
from xlate.scoring.weights import WEIGHTS_FILE, Weights, save_weights
from xlate.text.lines import atomic_write, iterate_lines
from xlate.text.locks import refused_while_written
from xlate.text.opening import open_unpacked

LM_FILE = "lm.arpa.gz"
# Moses's numbers of search algorithms.
ALGORITHMS = {0: "stack", 1: "cube"}


def import_moses(config: ImportConfig) -> dict[str, Any]:
    """Makes a run directory of a Moses system: tables, language model, weights, search settings.

    Raises:
        InputError: whatever reading the system's files raises; `out` holds something else, or is written by another
            process.
    """
    with refused_while_written(Path(config.out), "run"):
        return _imported(config)


def _imported(config: ImportConfig) -> dict[str, Any]:
    text = _text(config)
    model, weights_D, ini = _loaded(config, text)
    trained = load(TrainConfig, "train", ["model=phrase", "work=''"])
    if "weight-file" in ini.settings:
        raise InputError(
            "sparse weights cannot be imported yet",
            file=config.moses,
            seen="[weight-file]",
            expected="a system of dense features",
        )
    reordering = "none" if model.reordering is None else model.reordering.kind
    trained = replace(
        trained,
        model=PhraseModelConfig(reordering=reordering),
        decoder=search_of(ini, config.decoder),
    )
    identity: dict[str, Any] = {"imported": str(config.moses), "ini": file_hash(config.moses)}
    if config.filter is not None:
        identity["filter"] = file_hash(config.filter)
    if isinstance(text, PreparedText):
        identity["text"] = text.identity
    run = RunDirectory.create(config.out, to_yaml(trained), identity)
    save_phrase_model(run.path / MODEL, model)
    copy_packed(ini.file(_lm_line(ini)), run.path / LM_FILE)
    if isinstance(text, PreparedText):
        text.save(run.path)
    weights = Weights(weights_D, np.zeros(0), model.columns)
    metadata = {"imported": str(config.moses), **made_with(trained.model)}
    save_weights(run.path / WEIGHTS_FILE, {SET: weights}, metadata=metadata)
    figures = {
        "run": str(run.path),
        "pairs": len(model.table),
        "source_phrases": len(model.table.source_phrases),
        "lm_order": model.lm.order,
        "reordering": reordering,
    }
    run.write_summary({"finished": True, **figures})
    say_text(text, config)
    return figures


def _text(config: ImportConfig) -> TextSides:
    """How lines become what the system translates."""
    ini = read_moses_ini(config.moses)
    table = _table_line(ini)
    return imported_text(config, None if table is None else ini.file(table))


def _loaded(config: ImportConfig, text: TextSides) -> tuple[PhraseModel, NDArray[np.float64], MosesIni]:
    """The whole model of a system, or only the phrases that occur in the text `filter`."""
    if config.filter is None:
        return load_moses_model(config.moses)
    longest = search_of(read_moses_ini(config.moses), config.decoder).max_phrase
    assert longest is not None
    return load_moses_model(config.moses, phrases_in(map(text.source_tokens, iterate_lines(config.filter)), longest))


def _table_line(ini: MosesIni) -> FeatureLine | None:
    return ini.find("PhraseDictionaryMemory", "PhraseDictionaryCompact", "PhraseDictionaryOnDisk")


def _lm_line(ini: MosesIni) -> Any:
    return ini.find("KENLM", "SRILM", "IRSTLM")


def search_of(ini: MosesIni, given: PhraseDecoderConfig) -> PhraseDecoderConfig:
    """The settings of the file over those given.

    Raises:
        InputError: one that is no number, out of range, or a search that there is not.
    """
    table = _table_line(ini)
    limit = ini.argument(table, "table-limit", given.options) if table else given.options
    search = replace(
        given,
        options=limit,
        algorithm=_algorithm(ini, given.algorithm),
        stack=ini.whole("stack", given.stack),
        threshold=ini.number("beam-threshold", given.threshold),
        early_threshold=ini.number("early-discarding-threshold", given.early_threshold),
        max_phrase=ini.whole("max-phrase-length", given.max_phrase),
        pop_limit=ini.whole("cube-pruning-pop-limit", given.pop_limit),
        distortion_limit=ini.whole("distortion-limit", given.distortion_limit),
    )
    check_limits(search, "decoder.", ini.path)
    return search


def _algorithm(ini: MosesIni, given: str) -> str:
    number = ini.whole("search-algorithm", -1)
    if "search-algorithm" in ini.settings and number not in ALGORITHMS:
        raise InputError(
            "a search algorithm this decoder has not",
            file=ini.path,
            seen=f"[search-algorithm] {number}",
            expected=", ".join(f"{number} ({name})" for number, name in ALGORITHMS.items()),
        )
    return ALGORITHMS.get(number, given)


def copy_packed(source: Path, target: Path) -> None:
    """Copies a text file, plain or packed, into one whose name ends in .gz."""
    with open_unpacked(source) as text, atomic_write(target) as stream:
        shutil.copyfileobj(text, stream)
