"""xlate import: a system of other software as a run that translates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xlate.config.schema import ImportConfig
from xlate.errors import InputError
from xlate.formats.moses_ini import read_moses_ini
from xlate.jobs.imports.grammar import check_name, grammar_system
from xlate.jobs.imports.imported import ImportedSystem
from xlate.jobs.imports.moses import phrase_system
from xlate.models.scfg.moses import is_hierarchical
from xlate.text.locks import refused_while_written


def import_system(config: ImportConfig) -> dict[str, Any]:
    """Makes a run directory of a system, its tables or grammar, language model, weights and search settings.

    Raises:
        InputError: no system or two, whatever reading its files raises; `out` holds something else, or is written by
            another process.
    """
    with refused_while_written(Path(config.out), "run"):
        return _read(config).write_run(config)


def _read(config: ImportConfig) -> ImportedSystem:
    if config.moses is not None and config.grammar is None:
        hierarchical = is_hierarchical(read_moses_ini(config.moses))
        return (grammar_system if hierarchical else phrase_system)(config, config.moses)
    if config.grammar is not None and config.moses is None:
        check_name(Path(config.grammar))
        return grammar_system(config, config.grammar)
    raise InputError(
        "one system is imported",
        seen="neither moses= nor grammar=" if config.moses is None else "moses= and grammar=",
        expected="moses=MOSES.INI, or grammar=JOSHUA.CONFIG or grammar=CDEC.INI",
    )
