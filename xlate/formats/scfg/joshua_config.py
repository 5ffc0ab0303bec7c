"""The configuration file of Joshua: settings `name = value`, feature functions and grammars with options, weights.

Lines are `tm = thrax -owner pt -maxspan 12 -path grammar.gz`, `feature-function = WordPenalty`, `goalSymbol=GOAL` and
the like, or a weight, `tm_pt_0 -2.44`. `#` begins a comment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.scfg.named_files import file_beside
from xlate.text.lines import iterate_lines
from xlate.text.numbers import parse_float, parse_int

GRAMMAR, FUNCTION = "tm", "feature-function"
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
        settings: all others by their names, with `-` for `_` and in small letters.
        weights: by the names of features.
    """

    path: Path
    grammars: list[JoshuaLine] = field(default_factory=list)
    functions: list[JoshuaLine] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def function(self, kind: str) -> JoshuaLine | None:
        """The first feature function of a kind."""
        return next((line for line in self.functions if line.kind == kind), None)

    def file(self, line: JoshuaLine, option: str) -> Path:
        """The file that an option names: relative to the folder of the configuration, or only its last part there.

        Raises:
            InputError: there is no such option, or no such file.
        """
        named = line.options.get(option, "")
        path = file_beside(self.path, named)
        if path is not None:
            return path
        expected = f"-{option} and the name of a file, here or in the folder of the configuration"
        raise self.error("a file that is not there", line.line, named or "no name", expected)

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
        InputError: a line has none of the forms, or a weight is no finite number.
    """
    config = JoshuaConfig(Path(path))
    for number, raw in enumerate(iterate_lines(path), start=1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip(" \t") for part in line.partition("="))
        if not equals:
            _add_weight(config, number, line)
        elif name in (GRAMMAR, FUNCTION):
            lines = config.grammars if name == GRAMMAR else config.functions
            lines.append(_with_options(config, number, value))
        else:
            config.settings[name.lower().replace("_", "-")] = value.strip('"')
    return config


def _add_weight(config: JoshuaConfig, number: int, line: str) -> None:
    words = line.split()
    try:
        name, value = words
        config.weights[name] = parse_float(value)
    except ValueError as error:
        expected = "a setting `name = value`, or the name of a feature and its weight"
        seen = f"{line} ({error})" if len(words) == 2 else line
        raise config.error("neither a setting nor a weight", number, seen, expected) from None


def _with_options(config: JoshuaConfig, number: int, text: str) -> JoshuaLine:
    kind, *words = text.split() or [""]
    names, values = words[::2], words[1::2]
    if not kind or len(names) != len(values) or not all(len(name) > 1 and name[0] == "-" for name in names):
        raise config.error("malformed options", number, text, "a kind, then -option value in turn")
    return JoshuaLine(kind, {name[1:]: value for name, value in zip(names, values, strict=True)}, number)
