"""The configuration file of a Moses system: feature lines, their weights, and settings.

A file is a list of sections `[name]`, each with the lines below it; `#` begins a comment line. Each line of `[feature]`
is a feature function, `Kind key=value …`. Each line of `[weight]` is `Name= w_1 w_2 …`, where Name is the `name=` of a
feature function, or its kind and a number that counts the functions of this kind from 0. Every other section is kept
as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlate.errors import InputError
from xlate.text.lines import FileLines, write_lines
from xlate.text.numbers import LARGEST_FLOAT32, parse_int, parse_row
from xlate.text.opening import packed_beside

FEATURE, WEIGHT = "feature", "weight"
# Feature functions that are a language model.
MODELS = ("KENLM", "SRILM", "IRSTLM")


@dataclass(frozen=True)
class FeatureLine:
    """A feature function: its kind (`KENLM`), its name (`LM0`), its `key=value` words, and its line number."""

    kind: str
    name: str
    arguments: Mapping[str, str]
    line: int


@dataclass(frozen=True)
class MosesIni:
    """The content of a moses.ini: feature functions, weights by feature name, and the lines of all other sections."""

    path: Path
    features: tuple[FeatureLine, ...]
    weights: Mapping[str, tuple[float, ...]]
    settings: Mapping[str, tuple[str, ...]]

    def find(self, *kinds: str) -> FeatureLine | None:
        """The only feature function of the given kinds; None if there is none.

        Raises:
            InputError: there are several.
        """
        found = [feature for feature in self.features if feature.kind in kinds]
        if len(found) > 1:
            seen = ", ".join(feature.name for feature in found)
            raise InputError("two features of the same kind", seen, "one", file=self.path, line=found[1].line)
        return found[0] if found else None

    def check_kinds(self, known: Sequence[str]) -> None:
        """Checks that all feature functions are of known kinds.

        Raises:
            InputError: one is of another kind.
        """
        for line in self.features:
            if line.kind not in known:
                message, expected = "a feature that this decoder does not have", ", ".join(known)
                raise InputError(message, line.kind, expected, file=self.path, line=line.line)

    def file(self, feature: FeatureLine) -> Path:
        """The file that a feature function names, relative to the folder of the configuration; as in Moses, `.gz` may
        be omitted.

        Raises:
            InputError: the line names no file, or has not a possible file name.
        """
        if "path" not in feature.arguments:
            raise InputError("a feature without path=", feature.name, file=self.path, line=feature.line)
        named = self.path.parent / feature.arguments["path"]
        try:
            return packed_beside(named)
        except OSError as error:
            seen = feature.arguments["path"]
            raise InputError(
                "not a possible file name", seen, "path=FILE", file=self.path, line=feature.line
            ) from error

    def weight(self, name: str, size: int) -> tuple[float, ...]:
        """The weights of a feature by name.

        Raises:
            InputError: there are none, or not as many as `size`.
        """
        seen = self.weights.get(name)
        if seen is None or len(seen) != size:
            numbers = "none" if seen is None else f"{len(seen)} numbers"
            raise InputError(f"wrong number of weights for {name}", numbers, f"{size} numbers", file=self.path)
        return seen

    def number(self, section: str, default: float) -> float:
        """The one number of a section such as `beam-threshold`.

        Raises:
            InputError: the section holds anything else.
        """
        if section not in self.settings:
            return default
        text = " ".join(self.settings[section])
        numbers = parse_row(text, LARGEST_FLOAT32)
        if numbers is None or len(numbers) != 1:
            raise InputError(f"section [{section}]", text, "one number", file=self.path)
        return numbers[0]

    def whole(self, section: str, default: int) -> int:
        """The one whole number of a section such as `distortion-limit`, where -1 means no limit.

        Raises:
            InputError: the section holds anything else.
        """
        if section not in self.settings:
            return default
        text = " ".join(self.settings[section])
        return -1 if text == "-1" else self._whole(f"section [{section}]", text, text)

    def argument(self, feature: FeatureLine, key: str, default: int) -> int:
        """The whole number that a feature function has as `key=`.

        Raises:
            InputError: the value is something else.
        """
        if key not in feature.arguments:
            return default
        text = feature.arguments[key]
        return self._whole(f"{key} of {feature.name}", text, f"{key}={text}", feature.line)

    def _whole(self, message: str, text: str, seen: str, line: int | None = None) -> int:
        try:
            return parse_int(text)
        except ValueError as error:
            raise InputError(message, seen, "one whole number", file=self.path, line=line) from error


def read_moses_ini(path: str | Path) -> MosesIni:
    """Reads a moses.ini.

    Raises:
        InputError: there is text outside any section, a feature argument that is not `key=value`, a weight line that is
            not `Name= numbers`, or a name that occurs twice; the message names the line.
    """
    lines = FileLines(path)
    features: list[FeatureLine] = []
    weights: dict[str, tuple[float, ...]] = {}
    settings: dict[str, list[str]] = {}
    section = ""
    for line in lines.settings():
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif not section:
            raise lines.error("text before the first section", line, "[section]")
        elif section == FEATURE:
            features.append(_feature(lines, line, features))
        elif section == WEIGHT:
            name, equals, text = line.partition("=")
            values = tuple(parse_row(text, LARGEST_FLOAT32) or ())
            if not equals or not values:
                raise lines.error("malformed weights", line, "Name= numbers")
            if weights.setdefault(name.strip(), values) is not values:
                raise lines.error("weights given twice", name, "each name once")
        else:
            settings.setdefault(section, []).append(line)
    return MosesIni(lines.path, tuple(features), weights, {name: tuple(lines) for name, lines in settings.items()})


def is_moses_ini(path: str | Path) -> bool:
    """Whether a file begins like a moses.ini, with a section.

    Raises:
        InputError: it cannot be read.
    """
    first = next(FileLines(path).settings(), "")
    return first.startswith("[") and first.endswith("]")


def _feature(lines: FileLines, line: str, before: list[FeatureLine]) -> FeatureLine:
    kind, *words = line.split()
    arguments = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise lines.error("malformed feature", word, "key=value")
        arguments[key] = value
    name = arguments.get("name", f"{kind}{sum(feature.kind == kind for feature in before)}")
    if any(feature.name == name for feature in before):
        raise lines.error("two features with the same name", name, "different names")
    return FeatureLine(kind, name, arguments, lines.number)


def phrase_feature(path: str, scores: int, limit: int) -> str:
    """The feature line of a phrase table in text form; `limit` is the most options per source phrase, 0 for all."""
    return (
        f"PhraseDictionaryMemory name=TranslationModel0 num-features={scores} path={path} input-factor=0 "
        f"output-factor=0 table-limit={limit}"
    )


def reordering_feature(kind: str, path: str) -> str:
    """The feature line of a reordering table of six scores; `kind` is `wbe` or `hier`."""
    return (
        f"LexicalReordering name=LexicalReordering0 num-features=6 type={kind}-msd-bidirectional-fe-allff "
        f"input-factor=0 output-factor=0 path={path}"
    )


def write_moses_ini(
    path: str | Path,
    features: Sequence[str],
    weights: Mapping[str, Sequence[float]],
    settings: Mapping[str, object],
) -> None:
    """Writes a moses.ini.

    Args:
        path: the file.
        features: lines `Kind key=value …`, with file names relative to the folder of the file.
        weights: the weights of each feature, by name.
        settings: the only line of each other section, by name.
    """
    lines = ["[input-factors]", "0", "", "[mapping]", "0 T 0", ""]
    for name, value in settings.items():
        lines += [f"[{name}]", str(value), ""]
    lines += [f"[{FEATURE}]", *features, "", f"[{WEIGHT}]"]
    lines += [f"{name}= {' '.join(repr(float(value)) for value in values)}" for name, values in weights.items()]
    write_lines(path, lines)
