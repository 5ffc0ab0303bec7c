"""xlate import moses=INI: a phrase system of Moses, for a run that translates."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.config.decoder_schema import PhraseDecoderConfig
from xlate.config.limits import check_limits
from xlate.config.model_schema import PhraseModelConfig
from xlate.config.schema import ImportConfig
from xlate.config.typed import with_settings
from xlate.errors import InputError
from xlate.formats.moses_ini import FeatureLine, MosesIni, read_moses_ini
from xlate.formats.moses_table import phrases_in
from xlate.jobs.imports.imported import ImportedSystem
from xlate.jobs.imports.text import imported_text
from xlate.jobs.systems.phrase import MODEL, SET
from xlate.models.phrase.moses import moses_model
from xlate.models.phrase.store import save_phrase_model
from xlate.scoring.weights import Weights
from xlate.text.lines import atomic_write, iterate_lines
from xlate.text.opening import open_unpacked

LM_FILE = "lm.arpa.gz"
# Moses's numbers of search algorithms.
ALGORITHMS = {0: "stack", 1: "cube"}


def phrase_system(config: ImportConfig, file: str) -> ImportedSystem:
    """The system of a moses.ini, or with `filter` those of its phrases that a text needs.

    Raises:
        InputError: whatever reading the system's files raises.
    """
    given = with_settings(PhraseDecoderConfig(), config.decoder, "decoder")
    ini = read_moses_ini(file)
    search, text = search_of(ini, given), imported_text(config, _sources(ini))
    if "weight-file" in ini.settings:
        raise InputError(
            "sparse weights cannot be imported yet",
            file=file,
            seen="[weight-file]",
            expected="a system of dense features",
        )
    only = None
    if config.filter is not None:
        assert search.max_phrase is not None
        only = phrases_in(map(text.source_tokens, iterate_lines(config.filter)), search.max_phrase)
    model, weights_D = moses_model(ini, only)
    reordering = "none" if model.reordering is None else model.reordering.kind

    def save(run: Path) -> None:
        save_phrase_model(run / MODEL, model)
        copy_packed(ini.file(_lm_line(ini)), run / LM_FILE)

    return ImportedSystem(
        file=file,
        model=PhraseModelConfig(reordering=reordering),
        decoder=search,
        set_name=SET,
        weights=Weights(weights_D, np.zeros(0), model.columns),
        save=save,
        text=text,
        figures={
            "pairs": len(model.table),
            "source_phrases": len(model.table.source_phrases),
            "lm_order": model.lm.order,
            "reordering": reordering,
        },
    )


def _sources(ini: MosesIni) -> Iterator[str]:
    """The source phrases of the table, if the file names one."""
    table = _table_line(ini)
    if table is not None:
        yield from (line.partition("|||")[0] for line in iterate_lines(ini.file(table)))


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
