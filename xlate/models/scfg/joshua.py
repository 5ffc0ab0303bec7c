"""A system of Joshua as it stands in its configuration: grammars, language model and weights for the CKY decoder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xlate.formats.scfg.bracketed import read_joshua_grammar
from xlate.formats.scfg.cdec_config import read_cdec_weights
from xlate.formats.scfg.joshua_config import MODEL, MODEL_OPTIONS, JoshuaConfig, read_joshua_config
from xlate.formats.scfg.normal_form import LN10
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.scfg.decoder import COPIES, LANGUAGE, WORDS, CkyDecoder
from xlate.models.scfg.rules import SynchronousGrammar

# The second is the first with states as small as can be, which alters no score.
MODELS, WORD_PENALTY, OOV_PENALTY = (MODEL, "StateMinimizingLanguageModel"), "WordPenalty", "OOVPenalty"
GRAMMARS = ("thrax", "hiero", "samt")
# What Joshua's penalties count a word as: log10(1/e), and a copied word.
WORD_VALUE, OOV_VALUE = -1 / LN10, -100.0


def open_joshua_system(path: str | Path, pops: int | None) -> CkyDecoder:
    """The decoder of a joshua.config, with Joshua's scores; of the language models only the first is taken.

    Differences: Joshua copies every word where it may, here only those that no rule translates alone.

    Args:
        path: of the configuration; the files it names may lie beside it.
        pops: hypotheses for each label over each span; Joshua's own `pop-limit` is for all labels of a span.

    Raises:
        InputError: a file is missing or cannot be used, or the system has grammars, feature functions or options of
            models that are not known here.
    """
    config = read_joshua_config(path)
    known = (*MODELS, WORD_PENALTY, OOV_PENALTY)
    for function in config.functions:
        if function.kind not in known:
            raise config.error("an unknown feature function", function.line, function.kind, ", ".join(known))
        options = ("lm_type", *MODEL_OPTIONS) if function.kind in MODELS else ()
        for option in function.options.keys() - options:
            raise config.error("an unknown option", function.line, f"-{option}", ", ".join(options) or "no option")
    parts = []
    for line in config.grammars:
        if line.kind not in GRAMMARS:
            raise config.error("an unknown kind of grammar", line.line, line.kind, ", ".join(GRAMMARS))
        named = config.file(line.line, line.options.get("path"))
        scfg = read_joshua_grammar(named, line.options.get("owner", "pt"))
        parts.append((scfg, config.number(line, "maxspan")))
    label, goal = config.value("defaultnonterminal", "X"), config.value("goalsymbol", "GOAL")
    grammar = SynchronousGrammar(parts, goal.strip("[]"), label.strip("[]"))
    return CkyDecoder(grammar, _weights(config), _model(config), pops)


def _weights(config: JoshuaConfig) -> dict[str, float]:
    named = config.settings.get("weightsfile")
    weights = ({} if named is None else read_cdec_weights(config.file(*named))) | config.weights
    weights[LANGUAGE] = weights.get("lm_0", 0.0) / LN10
    weights[WORDS] = WORD_VALUE * _penalty(config, weights, WORD_PENALTY)
    copied = _penalty(config, weights, OOV_PENALTY)
    # A copied word counts 1 in Joshua 5, whose weight is fixed at -100, and -100 in Joshua 6, whose weight is about 1.
    weights[COPIES] = copied if copied <= OOV_VALUE / 10 else OOV_VALUE * copied
    return weights


def _penalty(config: JoshuaConfig, weights: Mapping[str, float], kind: str) -> float:
    """The weight of a penalty; Joshua 5 writes its name in small letters, too."""
    return weights.get(kind, weights.get(kind.lower(), 0.0)) if config.function(kind) else 0.0


def _model(config: JoshuaConfig) -> NgramModel | None:
    line = config.function(*MODELS)
    if line is None:
        return None
    return NgramModel.from_arpa(read_arpa(config.file(line.line, line.options.get("lm_file"))))
