"""The configuration file of Joshua: settings `name = value`, feature functions and grammars with options, weights.

Lines are `tm = thrax -owner pt -maxspan 12 -path grammar.gz`, `feature-function = WordPenalty`, `goal-symbol = GOAL`
and the like, or a weight, `tm_pt_0 -2.44`. `#` begins a comment. Joshua 5 writes `tm = thrax pt 12 grammar.gz` and
`lm = kenlm 5 true false 100 lm.gz`, which Joshua 6 reads too; the latter is the feature function `LanguageModel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.scfg.named_files import file_beside
from xlate.text.lines import iterate_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_int

MODEL = "LanguageModel"
# The options of the two kinds of lines that Joshua 5 writes without names, in their order.
GRAMMAR_OPTIONS = ("owner", "maxspan", "path")
MODEL_OPTIONS = ("lm_order", "minimizing", "left", "ceiling", "lm_file")
# What the name of a configuration ends with.
SUFFIX = ".config"


@dataclass(frozen=True)
class JoshuaLine:
    """A grammar or a feature function: its kind, its options by name, without the dash, and its line number."""

    kind: str
    options: Mapping[str, str]
    line: int


@dataclass
class JoshuaConfig:
    """The content of a joshua.config.

    Attributes:
        path: of the file.
        grammars: the lines `tm`.
        functions: the lines `feature-function`.
        settings: the line number and value of all others by their names, in small letters without `-` and `_`.
        weights: by the names of features.
    """

    path: Path
    grammars: list[JoshuaLine] = field(default_factory=list)
    functions: list[JoshuaLine] = field(default_factory=list)
    settings: dict[str, tuple[int, str]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def function(self, *kinds: str) -> JoshuaLine | None:
        """The first feature function of some kinds."""
        return next((line for line in self.functions if line.kind in kinds), None)

    def value(self, name: str, default: str) -> str:
        """What a setting says."""
        return self.settings.get(name, (0, default))[1]

    def file(self, line: int, named: str | None) -> Path:
        """A file by its name: relative to the folder of the configuration, or only its last part there.

        Raises:
            InputError: there is no name, or no such file.
        """
        path = file_beside(self.path, named or "")
        if path is not None:
            return path
        expected = "the name of a file, here or in the folder of the configuration"
        raise self.error("a file that is not there", line, named or "no name", expected)

    def number(self, line: JoshuaLine, option: str) -> int | None:
        """A whole number among the options, None where it is not there or negative.

        Raises:
            InputError: it is no whole number.
        """
        text = line.options.get(option, "-1")
        try:
            return None if text == "-1" else parse_int(text)
        except ValueError as error:
            raise self.error(str(error), line.line, text, f"-{option} and a whole number, or -1") from None

    def error(self, message: str, line: int, seen: object, expected: str) -> InputError:
        """The error for a line."""
        remedy = "check that this is a configuration of Joshua 5 or 6"
        return InputError(message, file=self.path, line=line, seen=seen, expected=expected, remedy=remedy)


def read_joshua_config(path: str | Path) -> JoshuaConfig:
    """Reads a configuration of Joshua.

    Raises:
        InputError: a line has none of the forms, or a weight is no number of 32 bits.
    """
    config = JoshuaConfig(Path(path))
    for number, raw in enumerate(iterate_lines(path), start=1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip(" \t") for part in line.partition("="))
        # As in Joshua, goalSymbol, goal-symbol and goal_symbol are one name.
        name = name.lower().replace("_", "").replace("-", "")
        if not equals:
            _add_weight(config, number, line)
        elif name == "tm":
            config.grammars.append(_with_options(config, number, value, GRAMMAR_OPTIONS))
        elif name == "lm":
            config.functions.append(replace(_with_options(config, number, value, MODEL_OPTIONS), kind=MODEL))
        elif name == "featurefunction":
            config.functions.append(_with_options(config, number, value, ()))
        else:
            config.settings[name] = number, value.strip('"')
    return config


def _add_weight(config: JoshuaConfig, number: int, line: str) -> None:
    words = line.split()
    try:
        name, value = words
        config.weights[name] = parse_float(value, LARGEST_FLOAT32)
    except ValueError as error:
        expected = f"a setting `name = value`, or the name of a feature and its weight, at most {LARGEST_FLOAT32:.3g}"
        seen = f"{line} ({error})" if len(words) == 2 else line
        raise config.error("neither a setting nor a weight", number, seen, expected) from None


def _with_options(config: JoshuaConfig, number: int, text: str, unnamed: tuple[str, ...]) -> JoshuaLine:
    kind, *words = text.split() or [""]
    if unnamed and len(words) == len(unnamed) and not words[0].startswith("-"):
        return JoshuaLine(kind, dict(zip(unnamed, words, strict=True)), number)
    names, values = words[::2], words[1::2]
    if not kind or len(names) != len(values) or not all(len(name) > 1 and name[0] == "-" for name in names):
        plain = f", or a kind and {', '.join(unnamed)}" if unnamed else ""
        raise config.error("malformed options", number, text, f"a kind, then -option value in turn{plain}")
    return JoshuaLine(kind, {name[1:]: value for name, value in zip(names, values, strict=True)}, number)
