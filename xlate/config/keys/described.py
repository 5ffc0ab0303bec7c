"""What every key and choice is, in words: of a schema's fields, and of what stands in conf/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from typing import Any, NamedTuple

from xlate.config.choices import CHOICES, Choice, default_of, schema_within
from xlate.config.location import conf_folder
from xlate.settings import Range, keys_in, limit_of

# The groups of each command: what is chosen there, and the command that has it.
COMMANDS = {
    "model": "xlate train",
    "sparse": "xlate train",
    "structure": "xlate train model=hierarchical",
    "context": "xlate train model=phrase",
    "loss": "xlate train",
    "loss/tune": "xlate train loss=xbleu",
    "source": "xlate train",
    "decoder": "xlate train, and xlate translate by the model of the run",
    "data": "xlate prepare",
    "align": "xlate prepare",
    "lm": "xlate prepare",
    "phrases": "xlate prepare",
}
# These say what was chosen.
NAMES = ("model.kind", "model.name", "loss.name", "loss.tune.name", "source.name")


class Row(NamedTuple):
    """A key as some schemas have it."""

    key: str
    default: str
    range: str
    words: str


class CommandKey(NamedTuple):
    """A key of a command itself, with its value in conf/."""

    name: str
    value: str
    words: str


def choices_of(group: str) -> dict[str, str]:
    """The choices of a group, each with the first sentence said of it."""
    choices = CHOICES.get(group, {}) | (CHOICES["loss/tune"] if group == "loss" else {})
    found = {name: first_sentence(words_of(node)) for name, node in choices.items()}
    for path in (conf_folder() / group).glob("*.yaml"):
        comments = [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        found[path.stem] = first_sentence(" ".join(line for line in comments if not line.startswith("@package")))
    return dict(sorted(found.items()))


def first_sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    words = " ".join(text.split())
    end = re.search(r"(?<!al)(?<!Eq)\. ", words)
    return words if end is None else words[: end.start() + 1]


def words_of(node: Any) -> str:
    """What a choice is."""
    return node.words if isinstance(node, Choice) else node.__doc__ or ""


def rows(kind: type[Any], prefix: str) -> Iterator[Row]:
    """The keys of a schema, with those of schemas within that it always has."""
    for field in keys_in(kind):
        key, default = prefix + field.name, default_of(field)
        if key in NAMES:
            continue
        within = schema_within(kind, field)
        if within is not None and is_dataclass(default) and key != "loss.tune":
            yield from rows(within, f"{key}.")
            continue
        yield Row(key, shown(default), range_words(field), str(field.metadata.get("words", "")))


def range_words(setting: Field[Any]) -> str:
    """What a key may be."""
    limit = limit_of(setting)
    if limit is None:
        return ""
    return str(limit) if isinstance(limit, Range) else ", ".join(limit)


def shown(value: Any) -> str:
    """A default as the page shows it."""
    if is_dataclass(value):
        return "`mira`"
    if value == "???":
        return "-"
    return f"`{plainly(value)}`"


def plainly(value: Any) -> str:
    """A value as it is given on the command line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def of_command(command: str, kind: type[Any] | None = None) -> tuple[str, list[CommandKey]]:
    """The first line of conf/COMMAND.yaml, and the keys that stand there.

    What is said of a key are its words in the schema `kind`, or else the comment above it.
    """
    said = {field.name: str(field.metadata.get("words", "")) for field in fields(kind)} if kind is not None else {}
    lines = (conf_folder() / f"{command}.yaml").read_text(encoding="utf-8").splitlines()
    found: list[CommandKey] = []
    comment: list[str] = []
    for line in lines[lines.index("") + 1 :] if "" in lines else []:
        if line.startswith("hydra:"):
            break
        if line.startswith("#"):
            comment.append(line[1:].strip())
        elif ":" in line and line[0] != " ":
            key, _, value = line.partition(": ")
            found.append(CommandKey(key, value, said.get(key) or " ".join(comment)))
            comment = []
    return lines[0].removeprefix("# "), found
