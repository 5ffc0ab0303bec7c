"""Systems of cdec and Joshua: grammars, configuration and weights.

Both write rules as `[X] ||| ne [X,1] pas ||| not [X,1] ||| features ||| 0-0 2-0`: the left side comes first, and the
non-terminals of the source side are numbered. Features are `Name=value` or bare numbers. cdec calls the bare numbers
`PhraseModel_0`, … and allows `[1]` on the target side. Joshua calls those of a grammar with the owner pt `tm_pt_0`, …,
and negates them; values with a written name keep their sign.

Lines of cdec's configuration are `formalism=scfg`, `grammar=grammar.gz`, `scfg_max_span_limit=15`,
`feature_function=KLanguageModel lm.gz`, `weights=weights.txt` and the like; weights are `name value`; `#` begins a
comment.

Lines of Joshua's are `tm = thrax -owner pt -maxspan 12 -path grammar.gz`, `feature-function = WordPenalty`,
`goal-symbol = GOAL` and the like, or a weight, `tm_pt_0 -2.44`. Joshua 5 writes `tm = thrax pt 12 grammar.gz` and
`lm = kenlm 5 true false 100 lm.gz`, which Joshua 6 reads too; the latter is the feature function `LanguageModel`.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from math import log
from pathlib import Path
from sys import intern

from xlate.errors import InputError
from xlate.formats.scfg import (
    COPIES,
    LABEL,
    LANGUAGE,
    NO_LIMIT,
    WORDS,
    ForeignSystem,
    Gap,
    RuleLines,
    Scfg,
    Symbol,
    glue_grammar,
    joined,
    words_of,
)
from xlate.progress import track
from xlate.text.lines import FileLines
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_int
from xlate.text.tokens import between_blanks

FORM = "[X] ||| source with [X,1] ||| target with [X,1] ||| numbers or Name=value ||| links"
LN10 = log(10.0)
# The value of a word in the word penalties of cdec and Joshua: log10(1/e).
WORD_VALUE = -1 / LN10
MODEL, WORD_PENALTY, SOURCE_PENALTY, PASS_THROUGH = "KLanguageModel", "WordPenalty", "SourceWordPenalty", "PassThrough"
# cdec's defaults: the span limit, and the labels of copied words and of the goal.
SPAN, COPIED_LABEL, GOAL = 10, "X", "S"
REMEDY = "check that this is a configuration of cdec; a moses.ini is imported with xlate import moses=FILE out=RUN"
_LEFT = re.compile(r"\[([^\s\[\],]+)\]")
WEIGHT = f"the name of a feature and its weight, at most {LARGEST_FLOAT32:.3g}"


def read_cdec_grammar(path: str | Path, prefix: str = "PhraseModel_", sign: float = 1.0) -> Scfg:
    """Reads a grammar of cdec or Joshua, plain or gzip.

    Args:
        path: the file.
        prefix: the names of bare features begin with it and end with their number from 0.
        sign: the factor of bare features.

    Raises:
        InputError: fields are missing, sides are empty, non-terminals do not match, a feature is no finite number, or
            lines have different numbers of bare features; the message names the line.
    """
    lines = RuleLines(path, FORM, prefix, _symbol)
    for line in track(lines, "reading grammar"):
        label, source, target, values, links, *_ = [*lines.fields(line, 6), "", ""]
        left = _LEFT.fullmatch(label)
        if left is None:
            raise lines.error("no label for the left side", label, "a label in brackets, such as [X]")
        lines.add(intern(left[1]), lines.side(source), lines.side(target), lines.links(links))
        words = between_blanks(values)
        named = [(name, value) for name, equals, value in (word.rpartition("=") for word in words) if equals]
        lines.add_values(" ".join(word for word in words if "=" not in word), named, optional=True, sign=sign)
    return lines.grammar()


def _symbol(word: str) -> Symbol:
    """A word, or the non-terminal in `[X,1]` or `[1]`; the latter has no label yet."""
    if len(word) < 3 or word[0] != "[" or word[-1] != "]":
        return word
    label, comma, number = word[1:-1].rpartition(",")
    if not comma and not number.isdigit():
        return word
    if comma and not LABEL.fullmatch(label):
        raise ValueError("a non-terminal such as [X,1]")
    return Gap(label, parse_int(number))


class Configuration:
    """The content of the configuration of a decoder.

    Args:
        path: of the file.
        remedy: for messages.
        loose: whether names of settings ignore `-`, `_` and capitals, as in Joshua.

    Attributes:
        settings: line number and value of all lines `name=value`, by name.
        others: number and text of the lines without `=`.
    """

    def __init__(self, path: str | Path, remedy: str, *, loose: bool = False) -> None:
        self.path, self.remedy = Path(path), remedy
        self.settings: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self.others: list[tuple[int, str]] = []
        lines = FileLines(path)
        for line in lines.settings():
            name, equals, value = (part.strip(" \t") for part in line.partition("="))
            if loose:
                name = name.lower().replace("_", "").replace("-", "")
            if equals:
                self.settings[name].append((lines.number, value))
            else:
                self.others.append((lines.number, line))

    def value(self, name: str, default: str) -> str:
        """The value of a setting, the last one if there are several."""
        return self.settings[name][-1][1] if self.settings[name] else default

    def number(self, line: int, text: str, expected: str) -> int:
        """A whole number.

        Raises:
            InputError: the text is not one.
        """
        try:
            return parse_int(text)
        except ValueError as error:
            raise self.error(str(error), line, text, expected) from None

    def file(self, line: int, named: str) -> Path:
        """A file by its name: relative to the folder of the configuration, or only the last part of the name there.

        Other decoders search from where they are started, so a configuration that was moved may name other folders.

        Raises:
            InputError: there is no name, or no such file.
        """
        folder = self.path.parent
        for path in (folder / named, folder / Path(named).name):
            # This is also false for a name that no file can have.
            if named and os.path.isfile(path):
                return path
        expected = "the name of a file, here or in the folder of the configuration"
        raise self.error("a missing file", line, named or "no name", expected)

    def error(self, message: str, line: int | None, seen: object, expected: str) -> InputError:
        """The error for a line."""
        return InputError(message, seen, expected, self.remedy, file=self.path, line=line)


def parse_weight(line: str) -> tuple[str, float]:
    """The name of a feature and its weight, a 32-bit number, from a line `name value`.

    Raises:
        ValueError: the line is something else.
    """
    name, *numbers = line.split()
    if len(numbers) != 1:
        raise ValueError(f"words in the line: {1 + len(numbers)}")
    return name, parse_float(numbers[0], LARGEST_FLOAT32)


def read_cdec_weights(path: str | Path) -> dict[str, float]:
    """Reads weights by the names of features.

    Raises:
        InputError: a line is no name and 32-bit number, or a name occurs twice.
    """
    weights, lines = dict[str, float](), FileLines(path)
    for line in lines.settings():
        try:
            name, weight = parse_weight(line)
        except ValueError as error:
            raise lines.error("not a weight", f"{line} ({error})", WEIGHT) from None
        if name in weights:
            raise lines.error("a weight appears twice", name, "each name once")
        weights[name] = weight
    return weights


def read_cdec_system(path: str | Path) -> ForeignSystem:
    """The system of a cdec.ini, with cdec's scores; only the first language model is used.

    Differences: glue rules and copied words exist whatever `add_pass_through_rules` says. cdec copies every word; here
    only words that no rule translates alone are copied.

    Args:
        path: of the configuration; the files it names may be next to it.

    Raises:
        InputError: a file is missing or cannot be used, or the system is of another kind or has unknown feature
            functions.
    """
    config = Configuration(path, REMEDY)
    for number, line in config.others + config.settings[""]:
        raise config.error("not a setting", number, line, "name=value")
    grammars, formalism = config.settings["grammar"], config.value("formalism", "scfg")
    if not grammars or formalism != "scfg":
        seen = f"formalism={formalism}, {len(grammars)} grammars"
        raise config.error("not a system with a grammar", None, seen, "formalism=scfg and grammar=FILE")
    for number, value in config.settings["aligner"]:
        raise config.error("a system that aligns", number, f"aligner={value}", "one that translates, without aligner=")
    counted, model = False, None
    for number, function in config.settings["feature_function"]:
        kind, *options = function.split() or [""]
        if kind not in (MODEL, WORD_PENALTY, SOURCE_PENALTY):
            expected = f"{MODEL} FILE, {WORD_PENALTY}, {SOURCE_PENALTY}"
            raise config.error("an unknown feature function", number, function, expected)
        counted |= kind == SOURCE_PENALTY
        if kind == MODEL and model is None:
            model = config.file(number, options[-1] if options else "")
    limit = SPAN
    for number, text in config.settings["scfg_max_span_limit"][-1:]:
        limit = config.number(number, text, "scfg_max_span_limit= and a whole number")
    parts = []
    for number, named in grammars:
        scfg = read_cdec_grammar(config.file(number, named))
        if counted:
            scfg = scfg.with_column(SOURCE_PENALTY, [WORD_VALUE * len(words_of(rule.source)) for rule in scfg.rules])
        parts.append((scfg, limit))
    goal, label = config.value("goal", "") or GOAL, config.value("scfg_default_nt", "") or COPIED_LABEL
    parts.append((glue_grammar(label, goal), NO_LIMIT))
    weights: dict[str, float] = {}
    for number, named in config.settings["weights"]:
        weights |= read_cdec_weights(config.file(number, named))
    # cdec's log probabilities have base 10.
    weights[LANGUAGE] = weights.get(LANGUAGE, 0.0) / LN10
    weights[WORDS] = -weights.get(WORD_PENALTY, 0.0) / LN10
    weights[COPIES] = weights.get(PASS_THROUGH, 0.0)
    if counted:
        weights[COPIES] += WORD_VALUE * weights.get(SOURCE_PENALTY, 0.0)
    return ForeignSystem(joined(parts), goal, label, weights, model)


# The second is the first with minimal states, which change no score.
MODELS, OOV_PENALTY = ("LanguageModel", "StateMinimizingLanguageModel"), "OOVPenalty"
GRAMMARS = ("thrax", "hiero", "samt")
# The options, in order, of the two kinds of lines whose options Joshua 5 writes without names.
GRAMMAR_OPTIONS = ("owner", "maxspan", "path")
MODEL_OPTIONS = ("lm_order", "minimizing", "left", "ceiling", "lm_file")
# Joshua's value for a copied word.
OOV_VALUE = -100.0


def read_joshua_system(path: str | Path) -> ForeignSystem:
    """The system of a joshua.config, with Joshua's scores; only the first language model is used.

    Differences: Joshua copies every word where it may; here only words that no rule translates alone are copied.

    Args:
        path: of the configuration; the files it names may be next to it.

    Raises:
        InputError: a line has none of the forms, a file is missing or cannot be used, or the system has unknown
            grammars, feature functions or options of models.
    """
    config = Configuration(path, "check that this is a configuration of Joshua 5 or 6", loose=True)
    functions = _options(config, "featurefunction", ())
    functions += [(number, MODELS[0], named) for number, _, named in _options(config, "lm", MODEL_OPTIONS)]
    known = (*MODELS, WORD_PENALTY, OOV_PENALTY)
    for number, kind, named in functions:
        if kind not in known:
            raise config.error("an unknown feature function", number, kind, ", ".join(known))
        options = ("lm_type", *MODEL_OPTIONS) if kind in MODELS else ()
        for option in named.keys() - options:
            raise config.error("an unknown option", number, f"-{option}", ", ".join(options) or "no options")
    parts = []
    for number, kind, named in _options(config, "tm", GRAMMAR_OPTIONS):
        if kind not in GRAMMARS:
            raise config.error("an unknown kind of grammar", number, kind, ", ".join(GRAMMARS))
        file, span = config.file(number, named.get("path", "")), named.get("maxspan", "-1")
        limit = NO_LIMIT if span == "-1" else config.number(number, span, "-maxspan and a whole number, or -1")
        parts.append((read_cdec_grammar(file, f"tm_{named.get('owner', 'pt')}_", -1.0), limit))
    models = sorted((number, named.get("lm_file", "")) for number, kind, named in functions if kind in MODELS)
    label, goal = (
        config.value(name, default).strip('"').strip("[]")
        for name, default in (("defaultnonterminal", "X"), ("goalsymbol", "GOAL"))
    )
    weights = _weights(config, {kind for _, kind, _ in functions})
    return ForeignSystem(joined(parts), goal, label, weights, config.file(*models[0]) if models else None)


def _options(config: Configuration, name: str, unnamed: tuple[str, ...]) -> list[tuple[int, str, Mapping[str, str]]]:
    """The lines of a setting with options: their numbers, their kinds, and their options by name, without the dash;
    `unnamed` are all options of lines that give them without names.
    """
    found: list[tuple[int, str, Mapping[str, str]]] = []
    for number, text in config.settings[name]:
        kind, *words = text.split() or [""]
        names, values = [word.removeprefix("-") for word in words[::2]], words[1::2]
        if unnamed and len(words) == len(unnamed) and not words[0].startswith("-"):
            names, values = list(unnamed), words
        elif not kind or len(names) != len(values) or not all(len(w) > 1 and w[0] == "-" for w in words[::2]):
            plain = f", or a kind and {', '.join(unnamed)}" if unnamed else ""
            raise config.error("malformed options", number, text, f"a kind, then pairs of -option and value{plain}")
        found.append((number, kind, dict(zip(names, values, strict=True))))
    return found


def _weights(config: Configuration, kinds: set[str]) -> dict[str, float]:
    """The weights of the configuration and of the file it names; `kinds` are the feature functions in use."""
    weights = {}
    for number, named in config.settings["weightsfile"][-1:]:
        weights = read_cdec_weights(config.file(number, named.strip('"')))
    for number, line in config.others:
        try:
            name, weight = parse_weight(line)
        except ValueError as error:
            expected = f"a setting `name = value`, or {WEIGHT}"
            raise config.error("neither a setting nor a weight", number, f"{line} ({error})", expected) from None
        weights[name] = weight
    # Joshua 5 also writes the names of penalties in lower case.
    word, copied = (
        weights.get(kind, weights.get(kind.lower(), 0.0)) if kind in kinds else 0.0
        for kind in (WORD_PENALTY, OOV_PENALTY)
    )
    weights[LANGUAGE] = weights.get("lm_0", 0.0) / LN10
    weights[WORDS] = WORD_VALUE * word
    # A copied word counts 1 in Joshua 5, with a fixed weight of -100, and -100 in Joshua 6, with a weight of about 1.
    weights[COPIES] = copied if copied <= OOV_VALUE / 10 else OOV_VALUE * copied
    return weights
