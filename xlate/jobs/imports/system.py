"""xlate import: a system of other software as a run that translates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xlate.config.decoder_schema import GrammarDecoderConfig
from xlate.config.identity import MODEL
from xlate.config.model_schema import GrammarModelConfig
from xlate.config.schema import ImportConfig
from xlate.config.typed import with_settings
from xlate.errors import InputError
from xlate.formats.grammars.grammar import normal_form, words_of
from xlate.formats.grammars.moses import is_hierarchical
from xlate.formats.moses_ini import read_moses_ini
from xlate.jobs.imports.imported import ImportedSystem
from xlate.jobs.imports.moses import phrase_system
from xlate.jobs.imports.text import imported_text
from xlate.jobs.systems.grammar import KIND, open_grammar
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.registry import GRAMMAR_SUFFIXES
from xlate.models.grammar.store import save_grammar
from xlate.text.lines import iterate_lines
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
        return (_grammar_system if hierarchical else phrase_system)(config, config.moses)
    if config.grammar is not None and config.moses is None:
        path = Path(config.grammar)
        if path.suffix not in GRAMMAR_SUFFIXES:
            raise InputError(
                "not the name of a configuration of a whole grammar",
                file=path,
                seen=path.name,
                expected=f"a name in {' or '.join(GRAMMAR_SUFFIXES)}, such as joshua.config, cdec.ini or moses.ini",
                remedy="moses=FILE takes a moses.ini of any name",
            )
        return _grammar_system(config, config.grammar)
    raise InputError(
        "one system is imported",
        seen="neither moses= nor grammar=" if config.moses is None else "moses= and grammar=",
        expected="moses=MOSES.INI, or grammar=JOSHUA.CONFIG or grammar=CDEC.INI",
    )


def _grammar_system(config: ImportConfig, file: str) -> ImportedSystem:
    """A whole grammar of Joshua, cdec or Moses, or with `filter` those of its rules that a text needs."""
    settings = with_settings(GrammarDecoderConfig(), config.decoder, "decoder")
    system = open_grammar(Path(file), config.decoder, Asked())
    grammar, model = system.decoder.grammar, system.decoder.languages.model
    text = imported_text(config, (" ".join(words_of(rule.source)) for rule in grammar.scfg.rules))
    if config.filter is not None:
        grammar = grammar.needed_for(map(text.source_tokens, iterate_lines(config.filter)))
        system = system.changed(decoder=system.decoder.over(grammar))
    figures = {
        "rules": len(grammar.scfg),
        "features": len(system.feature_names),
        "lm_order": None if model is None else model.order,
        "decoder": settings.algorithm,
        "normal_form": normal_form(grammar.scfg, grammar.copy_label)[0],
    }
    return ImportedSystem(
        file=file,
        model=GrammarModelConfig(),
        decoder=settings,
        set_name=KIND,
        weights=system.weights,
        text=text,
        save=lambda run: save_grammar(run / MODEL, grammar, model),
        figures=figures,
    )
