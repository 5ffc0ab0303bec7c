"""A system of Joshua as it stands in its configuration: grammars, language model and weights for the CKY decoder."""

from __future__ import annotations

from pathlib import Path

from xlate.formats.scfg.bracketed import read_joshua_grammar
from xlate.formats.scfg.joshua_config import JoshuaConfig, read_joshua_config
from xlate.formats.scfg.normal_form import LN10
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.scfg.decoder import COPIES, LANGUAGE, WORDS, CkyDecoder
from xlate.models.scfg.rules import SynchronousGrammar

MODEL, WORD_PENALTY, OOV_PENALTY = "LanguageModel", "WordPenalty", "OOVPenalty"
# What Joshua's penalties count a word as: log10(1/e), and a copied word.
WORD_VALUE, OOV_VALUE = -1 / LN10, -100.0


def open_joshua_system(path: str | Path, pops: int | None) -> CkyDecoder:
    """The decoder of a joshua.config, with Joshua's scores; of the language models only the first is taken.

    Differences: Joshua copies every word where it may, here only those that no rule translates alone.

    Args:
        path: of the configuration; the files it names may lie beside it.
        pops: hypotheses for each label over each span; Joshua's own `pop-limit` is for all labels of a span.

    Raises:
        InputError: a file is missing or cannot be used, or the system has feature functions that are not known here.
    """
    config = read_joshua_config(path)
    known = (MODEL, WORD_PENALTY, OOV_PENALTY)
    for function in config.functions:
        if function.kind not in known:
            raise config.error("an unknown feature function", function.line, function.kind, ", ".join(known))
    parts = []
    for line in config.grammars:
        scfg = read_joshua_grammar(config.file(line, "path"), line.options.get("owner", "pt"))
        parts.append((scfg, config.number(line, "maxspan")))
    label, goal = config.settings.get("default-non-terminal", "X"), config.settings.get("goalsymbol", "GOAL")
    grammar = SynchronousGrammar(parts, goal.strip("[]"), label.strip("[]"))
    return CkyDecoder(grammar, _weights(config), _model(config), pops)


def _weights(config: JoshuaConfig) -> dict[str, float]:
    weights = dict(config.weights)
    weights[LANGUAGE] = weights.get("lm_0", 0.0) / LN10
    weights[WORDS] = WORD_VALUE * weights.get(WORD_PENALTY, 0.0) if config.function(WORD_PENALTY) else 0.0
    weights[COPIES] = OOV_VALUE * weights.get(OOV_PENALTY, 0.0) if config.function(OOV_PENALTY) else 0.0
    return weights


def _model(config: JoshuaConfig) -> NgramModel | None:
    line = config.function(MODEL)
    return None if line is None else NgramModel.from_arpa(read_arpa(config.file(line, "lm_file")))
