"""A system of cdec as it stands in its configuration: grammars, language model and weights for the CKY decoder."""

from __future__ import annotations

from pathlib import Path

from xlate.formats.scfg.bracketed import read_cdec_grammar
from xlate.formats.scfg.cdec_config import CdecConfig, read_cdec_config, read_cdec_weights
from xlate.formats.scfg.grammar import glue_grammar
from xlate.formats.scfg.normal_form import LN10
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.scfg.decoder import COPIES, LANGUAGE, WORDS, CkyDecoder
from xlate.models.scfg.rules import SynchronousGrammar

MODEL, WORD_PENALTY, SOURCE_PENALTY, PASS_THROUGH = "KLanguageModel", "WordPenalty", "SourceWordPenalty", "PassThrough"
# What a word counts in both penalties: log10(1/e).
WORD_VALUE = -1 / LN10
# cdec's own limit of spans, and the label of its copied words and glue rules.
SPAN, LABEL, GOAL = 10, "X", "S"


def open_cdec_system(path: str | Path, pops: int | None) -> CkyDecoder:
    """The decoder of a cdec.ini, with cdec's scores; of the language models only the first is taken.

    Differences: glue rules and copied words are there whatever `add_pass_through_rules` says, and cdec copies every
    word, here only those that no rule translates alone.

    Args:
        path: of the configuration; the files it names may lie beside it.
        pops: hypotheses for each label over each span.

    Raises:
        InputError: a file is missing or cannot be used, or the system is of another kind, or has feature functions that
            are not known here.
    """
    config = read_cdec_config(path)
    grammars = config.settings.get("grammar", [])
    if not grammars or config.value("formalism") not in (None, "scfg"):
        seen = f"formalism={config.value('formalism')}, {len(grammars)} grammars"
        raise config.error("no system with a grammar", None, seen, "formalism=scfg and grammar=FILE")
    for line, value in config.settings.get("aligner", []):
        raise config.error("a system that aligns", line, f"aligner={value}", "one that translates, without aligner=")
    functions = config.settings.get("feature_function", [])
    for line, function in functions:
        if function.split(" ")[0] not in (MODEL, WORD_PENALTY, SOURCE_PENALTY):
            expected = f"{MODEL} FILE, {WORD_PENALTY}, {SOURCE_PENALTY}"
            raise config.error("an unknown feature function", line, function, expected)
    counted = any(function.split(" ")[0] == SOURCE_PENALTY for _, function in functions)
    limit = config.number("scfg_max_span_limit", SPAN)
    parts = []
    for line, named in grammars:
        scfg = read_cdec_grammar(config.file(line, named))
        if counted:
            scfg = scfg.with_column(SOURCE_PENALTY, [WORD_VALUE * len(rule.source_words) for rule in scfg.rules])
        parts.append((scfg, limit))
    goal, label = config.value("goal") or GOAL, config.value("scfg_default_nt") or LABEL
    grammar = SynchronousGrammar([*parts, (glue_grammar((label,), goal), None)], goal, label)
    return CkyDecoder(grammar, _weights(config, counted), _model(config), pops)


def _weights(config: CdecConfig, counted: bool) -> dict[str, float]:
    """All weights; `counted` says whether a copied word has a source word penalty, too."""
    weights: dict[str, float] = {}
    for line, named in config.settings.get("weights", []):
        weights |= read_cdec_weights(config.file(line, named))
    # cdec's log probabilities are of base 10.
    weights[LANGUAGE] = weights.get(LANGUAGE, 0.0) / LN10
    weights[WORDS] = -weights.get(WORD_PENALTY, 0.0) / LN10
    weights[COPIES] = weights.get(PASS_THROUGH, 0.0)
    if counted:
        weights[COPIES] += WORD_VALUE * weights.get(SOURCE_PENALTY, 0.0)
    return weights


def _model(config: CdecConfig) -> NgramModel | None:
    for line, function in config.settings.get("feature_function", []):
        kind, *options = function.split()
        if kind == MODEL:
            return NgramModel.from_arpa(read_arpa(config.file(line, options[-1] if options else "")))
    return None
