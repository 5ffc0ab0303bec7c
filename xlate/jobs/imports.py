"""xlate import: a system of other software as a run that translates."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from xlate.config.load import load
from xlate.config.model_schema import GrammarModelConfig, ModelConfig, PhraseModelConfig
from xlate.config.schema import ImportConfig, TrainConfig
from xlate.config.stored import MODEL as MODEL_FOLDER
from xlate.config.stored import to_yaml
from xlate.config.typed import build, with_settings
from xlate.errors import InputError, refuse_if
from xlate.formats.moses_ini import MODELS, MosesIni, read_moses_ini
from xlate.formats.moses_rules import is_hierarchical
from xlate.formats.moses_table import phrases_in
from xlate.formats.scfg import normal_form, words_of
from xlate.jobs.translate import PreparedText, TokenizedText
from xlate.models.grammar.kind import KIND, open_grammar, save_grammar
from xlate.models.kind import GRAMMAR_SUFFIXES
from xlate.models.phrase.kind import MODEL, SET
from xlate.models.phrase.model import save_phrase_model
from xlate.models.phrase.moses import KINDS, moses_model
from xlate.models.run_files import made_with
from xlate.report.run_directory import RunDirectory
from xlate.scoring.weights import WEIGHTS_FILE, Weights, save_weights
from xlate.search.settings import DecoderSettings, GrammarSearch, PhraseSearch
from xlate.settings import Json, plain
from xlate.text.folders import refused_while_written
from xlate.text.lines import atomic_write, iterate_lines
from xlate.text.opening import open_unpacked
from xlate.text.tokens import DASH, ESCAPED, Truecaser
from xlate.work.corpus_files import SIDES
from xlate.work.directory import TextSides
from xlate.work.stages import file_hash

log = logging.getLogger(__name__)


# What is assumed of a system's words if no casing is set.
ASSUMED = {
    "lower": " (the system's words have no capitals; otherwise set case=keep)",
    "keep": " (the system's words have capitals; if it is truecased, set truecase=[SOURCE,TARGET])",
}
# The most source sides that are read to find how words are written.
LOOKED_AT = 1_000_000


def imported_text(config: ImportConfig, sources: Iterable[str]) -> TextSides:
    """How text is prepared for a system: from the import's settings, the rest from the source sides of its units.

    Raises:
        InputError: settings that are unknown or do not go together.
    """
    source_language, _, target_language = (config.pair or "").partition("-")
    refuse_if(
        config.pair is not None and not (source_language and target_language),
        "not a language pair",
        config.pair,
        "pair=SOURCE-TARGET, such as de-en",
    )
    # If no casing is set, the units show it.
    case = config.case or ("true" if config.truecase else None)
    refuse_if(
        len(config.truecase) != (len(SIDES) if case == "true" else 0),
        "truecasing needs two models",
        f"case={case} truecase={list(config.truecase)}",
        "truecase=[SOURCE,TARGET], and case=true",
    )
    if config.pair is None and case in (None, "keep"):
        return TokenizedText()
    capitals, escape, dashes = (True, False, False) if config.pair is None else _written(sources)
    case = case or ("keep" if capitals else "lower")
    tokenize = config.tokenize and config.pair is not None
    files = dict(zip(SIDES, config.truecase, strict=True)) if case == "true" else {}
    casers = {side: Truecaser.of_moses(file) for side, file in files.items()}
    marks = escape and tokenize, dashes and tokenize
    return PreparedText(source_language, target_language, tokenize, case, *marks, casers)


def _written(sources: Iterable[str]) -> tuple[bool, bool, bool]:
    """Whether source words have any capitals, `&apos;` or `@-@`; reads source sides until all are found, at most
    `LOOKED_AT` of them.
    """
    capitals = escape = dashes = False
    for source in islice(sources, LOOKED_AT):
        capitals |= source != source.lower()
        escape |= "&" in source and any(mark in source for mark in ESCAPED)
        dashes |= DASH in source
        if capitals and escape and dashes:
            break
    return capitals, escape, dashes


def _write_run(
    config: ImportConfig,
    file: str,
    text: TextSides,
    model: ModelConfig,
    decoder: DecoderSettings,
    weights: Mapping[str, Weights],
    save: Callable[[Path], None],
    figures: Json,
) -> Json:
    """Makes the run of a system that was read completely, says how it reads text, and returns its figures.

    `file` is the system's original configuration; `save` writes its other parts into the run's folder.
    """
    trained = replace(load(TrainConfig, "train", ["model=phrase", "work=''"]), model=model, decoder=decoder)
    identity: Json = {"imported": file, "ini": file_hash(file)}
    if config.filter is not None:
        identity["filter"] = file_hash(config.filter)
    if isinstance(text, PreparedText):
        identity["text"] = text.identity
    run = RunDirectory.create(config.out, to_yaml(trained), identity)
    save(run.path)
    save_weights(run.path / WEIGHTS_FILE, weights, metadata={"imported": file, **made_with(model)})
    figures = {"run": str(run.path), **figures}
    if not isinstance(text, PreparedText):
        run.write_summary({"finished": True, **figures})
        log.info("the run reads and writes tokens separated by spaces; for raw text, set pair=SOURCE-TARGET")
        return figures
    text.save(run.path)
    run.write_summary({"finished": True, **figures})
    assumed = ASSUMED.get(text.case, "") if config.case is None else ""
    gives = f"plain {text.target_language} text" if text.tokenize else "tokens"
    log.info("the run reads %s%s, and writes %s", text, assumed, gives)
    return figures


LM_FILE = "lm.arpa.gz"
# In the order of Moses's numbers for them.
ALGORITHMS = ("stack", "cube")
# Moses's names for settings of the decoder.
SEARCH = {
    "distortion-limit": "distortion_limit",
    "search-algorithm": "algorithm",
    "stack": "stack",
    "cube-pruning-pop-limit": "pop_limit",
    "beam-threshold": "threshold",
    "early-discarding-threshold": "early_threshold",
    "max-phrase-length": "max_phrase",
}


def _import_phrases(config: ImportConfig, file: str) -> Json:
    """The system of a moses.ini, with `filter` only the phrases that a text needs."""
    given = with_settings(PhraseSearch(), config.decoder, "decoder")
    ini = read_moses_ini(file)
    search, table = search_of(ini, given), ini.find(*KINDS["TranslationModel0"])
    lines = () if table is None else iterate_lines(ini.file(table))
    text = imported_text(config, (line.partition("|||")[0] for line in lines))
    refuse_if(
        "weight-file" in ini.settings,
        "sparse weights cannot be imported yet",
        "[weight-file]",
        "a system of dense features",
        file=file,
    )
    only = None
    if config.filter is not None:
        only = phrases_in(map(text.source_tokens, iterate_lines(config.filter)), search.max_phrase)
    model, weights_D = moses_model(ini, only)
    reordering = "none" if model.reordering is None else model.reordering.kind

    def save(run: Path) -> None:
        save_phrase_model(run / MODEL, model)
        copy_packed(ini.file(ini.find(*MODELS)), run / LM_FILE)  # type: ignore[arg-type]

    figures = {
        "pairs": len(model.table),
        "source_phrases": len(model.table.source_phrases),
        "lm_order": model.lm.order,
        "reordering": reordering,
    }
    weights = {SET: Weights(weights_D, np.zeros(0), model.columns)}
    return _write_run(config, file, text, PhraseModelConfig(reordering=reordering), search, weights, save, figures)


def search_of(ini: MosesIni, given: PhraseSearch) -> PhraseSearch:
    """The given settings, overridden by those of the file.

    Raises:
        InputError: a setting that is not a number or out of range, or an unknown search.
    """
    held, table = plain(given), ini.find(*KINDS["TranslationModel0"])
    if table is not None:
        held["options"] = ini.argument(table, "table-limit", given.options)
    for name, key in SEARCH.items():
        if key != "algorithm":
            held[key] = (ini.number if name.endswith("threshold") else ini.whole)(name, held[key])
    if "search-algorithm" in ini.settings:
        number = ini.whole("search-algorithm", -1)
        if not 0 <= number < len(ALGORITHMS):
            raise InputError(
                "a search algorithm that this decoder does not have",
                f"[search-algorithm] {number}",
                ", ".join(f"{number} ({name})" for number, name in enumerate(ALGORITHMS)),
                file=ini.path,
            )
        held["algorithm"] = ALGORITHMS[number]
    return build(PhraseSearch, held, "decoder.", ini.path)


def copy_packed(source: Path, target: Path) -> None:
    """Copies a text file, plain or packed, into one whose name ends in .gz."""
    with open_unpacked(source) as text, atomic_write(target) as stream:
        shutil.copyfileobj(text, stream)


def import_system(config: ImportConfig) -> Json:
    """Makes a run directory from a system: its tables or grammar, language model, weights and search settings.

    Raises:
        InputError: no system or two, or whatever reading its files raises; `out` holds something else, or another
            process is writing it.
    """
    with refused_while_written(Path(config.out), "run"):
        if (config.moses is None) == (config.grammar is None):
            raise InputError(
                "the system to import is not clear",
                "neither moses= nor grammar=" if config.moses is None else "moses= and grammar=",
                "one of moses=MOSES.INI, grammar=JOSHUA.CONFIG and grammar=CDEC.INI",
            )
        if config.moses is not None and not is_hierarchical(read_moses_ini(config.moses)):
            return _import_phrases(config, config.moses)
        path = Path(config.moses or config.grammar or "")
        if config.moses is None and path.suffix not in GRAMMAR_SUFFIXES:
            raise InputError(
                "not the name of a grammar's configuration file",
                path.name,
                f"a name in {' or '.join(GRAMMAR_SUFFIXES)}, such as joshua.config, cdec.ini or moses.ini",
                "moses=FILE takes a moses.ini of any name",
                file=path,
            )
        # A whole grammar of Joshua, cdec or Moses, with `filter` only the rules that a text needs.
        settings = with_settings(GrammarSearch(), config.decoder, "decoder")
        system = open_grammar(path, config.decoder)
        grammar, model = system.grammar, system.model
        text = imported_text(config, (" ".join(words_of(rule.source)) for rule in grammar.scfg.rules))
        if config.filter is not None:
            grammar = grammar.needed_for(map(text.source_tokens, iterate_lines(config.filter)))
            system = system.changed(grammar=grammar)
        figures = {
            "rules": len(grammar.scfg),
            "features": len(system.feature_names),
            "lm_order": None if model is None else model.order,
            "decoder": settings.algorithm,
            "normal_form": normal_form(grammar.scfg, grammar.copy_label)[0],
        }

        def save(run: Path) -> None:
            save_grammar(run / MODEL_FOLDER, grammar, model)

        return _write_run(
            config, str(path), text, GrammarModelConfig(), settings, {KIND: system.weights}, save, figures
        )
