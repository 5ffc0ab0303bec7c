"""Systems of Joshua: settings `name = value`, feature functions and grammars with options, and weights.

Lines are `tm = thrax -owner pt -maxspan 12 -path grammar.gz`, `feature-function = WordPenalty`, `goal-symbol = GOAL`
and the like, or a weight, `tm_pt_0 -2.44`. Joshua 5 writes `tm = thrax pt 12 grammar.gz` and `lm = kenlm 5 true false
100 lm.gz`, which Joshua 6 reads too; the latter is the feature function `LanguageModel`. Grammars look as those of cdec
do, and bare features change their sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from xlate.formats.grammars.cdec import (
    LN10,
    WEIGHT,
    WORD_PENALTY,
    WORD_VALUE,
    Configuration,
    parse_weight,
    read_cdec_grammar,
    read_cdec_weights,
)
from xlate.formats.grammars.grammar import COPIES, LANGUAGE, NO_LIMIT, WORDS, ForeignSystem, joined

# The second is the first with states as small as can be, which alters no score.
MODELS, OOV_PENALTY = ("LanguageModel", "StateMinimizingLanguageModel"), "OOVPenalty"
GRAMMARS = ("thrax", "hiero", "samt")
# The options of the two kinds of lines that Joshua 5 writes without names, in their order.
GRAMMAR_OPTIONS = ("owner", "maxspan", "path")
MODEL_OPTIONS = ("lm_order", "minimizing", "left", "ceiling", "lm_file")
# What Joshua counts a copied word as.
OOV_VALUE = -100.0


class _Line(NamedTuple):
    """A grammar or a feature function: its line number, its kind, and its options by name, without the dash."""

    number: int
    kind: str
    options: Mapping[str, str]


def read_joshua_system(path: str | Path) -> ForeignSystem:
    """The system of a joshua.config, with Joshua's scores; of the language models only the first is taken.

    Differences: Joshua copies every word where it may, here only those that no rule translates alone.

    Args:
        path: of the configuration; the files it names may lie beside it.

    Raises:
        InputError: a line has none of the forms, a file is missing or cannot be used, or the system has grammars,
            feature functions or options of models that are not known here.
    """
    config = Configuration(path, "check that this is a configuration of Joshua 5 or 6", loose=True)
    functions = _functions(config)
    parts = []
    for number, kind, options in _lines(config, "tm", GRAMMAR_OPTIONS):
        if kind not in GRAMMARS:
            raise config.error("an unknown kind of grammar", number, kind, ", ".join(GRAMMARS))
        file, span = config.file(number, options.get("path", "")), options.get("maxspan", "-1")
        limit = NO_LIMIT if span == "-1" else config.number(number, span, "-maxspan and a whole number, or -1")
        parts.append((read_cdec_grammar(file, f"tm_{options.get('owner', 'pt')}_", -1.0), limit))
    model = next((line for line in functions if line.kind in MODELS), None)
    label, goal = (
        config.value(name, default).strip('"').strip("[]")
        for name, default in (("defaultnonterminal", "X"), ("goalsymbol", "GOAL"))
    )
    weights = _weights(config, {line.kind for line in functions})
    lm = None if model is None else config.file(model.number, model.options.get("lm_file", ""))
    return ForeignSystem(*joined(parts), goal, label, weights, lm)


def _functions(config: Configuration) -> list[_Line]:
    """The feature functions in the order of their lines, when all are known."""
    found = _lines(config, "featurefunction", ())
    found += [line._replace(kind=MODELS[0]) for line in _lines(config, "lm", MODEL_OPTIONS)]
    known = (*MODELS, WORD_PENALTY, OOV_PENALTY)
    for number, kind, named in found:
        if kind not in known:
            raise config.error("an unknown feature function", number, kind, ", ".join(known))
        options = ("lm_type", *MODEL_OPTIONS) if kind in MODELS else ()
        for option in named.keys() - options:
            raise config.error("an unknown option", number, f"-{option}", ", ".join(options) or "no option")
    return sorted(found, key=lambda line: line.number)


def _lines(config: Configuration, name: str, unnamed: tuple[str, ...]) -> list[_Line]:
    """The lines of a setting with options; `unnamed` are those that may stand there without names, all of them."""
    found = []
    for number, text in config.settings[name]:
        kind, *words = text.split() or [""]
        names, values = [word.removeprefix("-") for word in words[::2]], words[1::2]
        if unnamed and len(words) == len(unnamed) and not words[0].startswith("-"):
            names, values = list(unnamed), words
        elif not kind or len(names) != len(values) or not all(len(w) > 1 and w[0] == "-" for w in words[::2]):
            plain = f", or a kind and {', '.join(unnamed)}" if unnamed else ""
            raise config.error("malformed options", number, text, f"a kind, then -option value in turn{plain}")
        found.append(_Line(number, kind, dict(zip(names, values, strict=True))))
    return found


def _weights(config: Configuration, kinds: set[str]) -> dict[str, float]:
    """The weights of the configuration and of the file that it names; `kinds` of feature functions are there."""
    weights: dict[str, float] = {}
    for number, named in config.settings["weightsfile"][-1:]:
        weights = read_cdec_weights(config.file(number, named.strip('"')))
    for number, line in config.others:
        try:
            name, weight = parse_weight(line)
        except ValueError as error:
            expected = f"a setting `name = value`, or {WEIGHT}"
            raise config.error("neither a setting nor a weight", number, f"{line} ({error})", expected) from None
        weights[name] = weight
    # Joshua 5 writes the names of penalties in small letters, too.
    word, copied = (
        weights.get(kind, weights.get(kind.lower(), 0.0)) if kind in kinds else 0.0
        for kind in (WORD_PENALTY, OOV_PENALTY)
    )
    weights[LANGUAGE] = weights.get("lm_0", 0.0) / LN10
    weights[WORDS] = WORD_VALUE * word
    # A copied word counts 1 in Joshua 5, whose weight is fixed at -100, and -100 in Joshua 6, whose weight is about 1.
    weights[COPIES] = copied if copied <= OOV_VALUE / 10 else OOV_VALUE * copied
    return weights
