"""xlate import grammar=CONFIG: a whole grammar of Joshua, cdec or Moses, for a run that translates."""

from __future__ import annotations

from pathlib import Path

from xlate.config.decoder_schema import GrammarDecoderConfig
from xlate.config.identity import MODEL
from xlate.config.model_schema import GrammarModelConfig
from xlate.config.schema import ImportConfig
from xlate.config.typed import with_settings
from xlate.errors import InputError
from xlate.formats.scfg.normal_form import normal_share
from xlate.jobs.imports.imported import ImportedSystem
from xlate.jobs.imports.text import imported_text
from xlate.jobs.run_text import TextSides
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.whole_grammar import KIND, OPENERS, open_grammar
from xlate.models.scfg.store import save_grammar
from xlate.models.scfg.system import GrammarSystem
from xlate.text.lines import iterate_lines


def grammar_system(config: ImportConfig, file: str) -> ImportedSystem:
    """The system of a configuration, or with `filter` those of its rules that a text needs.

    Raises:
        InputError: whatever `open_grammar` raises.
    """
    settings = with_settings(GrammarDecoderConfig(), config.decoder, "decoder")
    system = open_grammar(Path(file), config.decoder, Asked())
    text = imported_text(config, (" ".join(rule.source_words) for rule in system.decoder.grammar.scfg.rules))
    if config.filter is not None:
        system = _needed(system, config.filter, text)
    grammar, model = system.decoder.grammar, system.decoder.languages.model
    figures = {
        "rules": len(grammar.scfg),
        "features": len(system.feature_names),
        "lm_order": None if model is None else model.order,
        "decoder": settings.algorithm,
        "normal_form": str(normal_share(grammar.scfg, grammar.copy_label)),
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


def _needed(system: GrammarSystem, file: str, text: TextSides) -> GrammarSystem:
    """The system with the rules that the lines of a file need."""
    decoder, lines = system.decoder, map(text.source_tokens, iterate_lines(file))
    return system.changed(decoder=decoder.over(decoder.grammar.needed_for(lines)))


def check_name(path: Path) -> None:
    """Looks whether a file has the name of a configuration that `xlate translate` would know, too.

    Raises:
        InputError: it has not.
    """
    if path.suffix not in OPENERS:
        raise InputError(
            "not the name of a configuration of a whole grammar",
            file=path,
            seen=path.name,
            expected=f"a name that ends in {' or '.join(OPENERS)}, as in joshua.config, cdec.ini and moses.ini",
            remedy="moses=FILE takes a moses.ini of any name",
        )
