"""The configuration of cdec's decoder, `name=value` a line, and its weights, `name value` a line.

Lines are `formalism=scfg`, `grammar=grammar.gz`, `scfg_max_span_limit=15`, `feature_function=KLanguageModel lm.gz`,
`weights=weights.txt` and the like; `#` begins a comment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xlate.errors import InputError
from xlate.formats.scfg.named_files import file_beside
from xlate.text.lines import iterate_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_int

# What the name of a configuration ends with.
SUFFIX = ".ini"
REMEDY = "check that this is a configuration of cdec; a moses.ini is imported with xlate import moses=FILE out=RUN"


@dataclass
class CdecConfig:
    """The content of a cdec.ini.

    Attributes:
        path: of the file.
        settings: by their names, each with its line number and what it says; those that may come often, all of them.
    """

    path: Path
    settings: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def value(self, name: str) -> str | None:
        """What a setting says, the last time if several times, None when it is not there."""
        found = self.settings.get(name)
        return found[-1][1] if found else None

    def number(self, name: str, default: int) -> int:
        """A setting that is a whole number.

        Raises:
            InputError: it is none.
        """
        text = self.value(name)
        try:
            return default if text is None else parse_int(text)
        except ValueError as error:
            raise self.error(str(error), self.settings[name][-1][0], text, f"{name}= and a whole number") from None

    def file(self, line: int, named: str) -> Path:
        """A file by its name: relative to the folder of the configuration, or only its last part there.

        Raises:
            InputError: there is no such file.
        """
        path = file_beside(self.path, named)
        if path is None:
            raise self.error("a file that is not there", line, named, "a file in the folder of the configuration")
        return path

    def error(self, message: str, line: int | None, seen: object, expected: str) -> InputError:
        """The error for a line."""
        return InputError(message, file=self.path, line=line, seen=seen, expected=expected, remedy=REMEDY)


def read_cdec_config(path: str | Path) -> CdecConfig:
    """Reads a configuration of cdec.

    Raises:
        InputError: a line is no setting.
    """
    config = CdecConfig(Path(path))
    for number, raw in enumerate(iterate_lines(path), start=1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip(" \t") for part in line.partition("="))
        if not equals or not name:
            raise config.error("no setting", number, line, "name=value")
        config.settings.setdefault(name, []).append((number, value))
    return config


def read_cdec_weights(path: str | Path) -> dict[str, float]:
    """Reads weights by the names of features.

    Raises:
        InputError: a line is no name and number of 32 bits, or a name stands twice.
    """
    weights: dict[str, float] = {}
    for number, raw in enumerate(iterate_lines(path), start=1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        words = line.split()
        try:
            name, value = words
            weight = parse_float(value, LARGEST_FLOAT32)
        except ValueError as error:
            seen = f"{line} ({error})" if len(words) == 2 else line
            expected = f"the name of a feature and its weight, at most {LARGEST_FLOAT32:.3g}"
            raise InputError("not a weight", file=path, line=number, seen=seen, expected=expected) from None
        if name in weights:
            expected = "each name once"
            raise InputError("a weight that stands twice", file=path, line=number, seen=name, expected=expected)
        weights[name] = weight
    return weights
