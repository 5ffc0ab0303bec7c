"""docs/configuration.md, made from the schemas: python -m xlate.config.page > docs/configuration.md"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from xlate.config import loss_schema
from xlate.config.choices import CHOICES, SCHEMAS, default_of, schema_within
from xlate.config.limits import limits_of
from xlate.config.location import conf_folder

HEAD = """# Configuration

Every command takes `key=value`. Keys stand in groups, and a group is a choice: `model=phrase` chooses the phrase model,
and with it the keys under `model.`, its decoder (`decoder.`) and its loss (`loss.`). A choice has the keys that are
listed with it and no others: what it does not use is refused. `model.kind`, `model.name`, `loss.name`, `loss.tune.name`
and `source.name` say what was chosen; they are not listed. `xlate train model=phrase --help` shows the keys of what is
chosen. Files of your own, in a folder given by `--config-dir`, begin with a choice: `defaults: [mira, _self_]`.

This page is made by `python -m xlate.config.page > docs/configuration.md`. `-` means that a value must be given.
"""
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
# Schemas that several choices have, or one choice in some place.
WITHOUT_NAME: dict[type[Any], str] = {
    loss_schema.LocalLossConfig: "perceptron, hinge",
    loss_schema.TunedLossConfig: "tuners",
    loss_schema.ListLossConfig: "xbleu",
    loss_schema.RankingLossConfig: "xbleu of model=rerank",
}
# Where the keys of a group stand, when not under its own name.
NAMES = ("model.kind", "model.name", "loss.name", "loss.tune.name", "source.name")
PLACES = {
    "sparse": "model.sparse",
    "structure": "model.structure",
    "context": "model.context",
    "loss/tune": "loss.tune",
}


class Row(NamedTuple):
    """A key as some schemas have it."""

    key: str
    default: str
    range: str
    words: str


def page() -> str:
    """The page."""
    return "\n".join([HEAD, *(line for group in COMMANDS for line in _section(group)), *_commands()])


def _section(group: str) -> Iterator[str]:
    yield f"## {group}\n"
    yield f"Of {COMMANDS[group]}.\n"
    for name, words in sorted(_choices(group).items()):
        yield f"- `{group}={name}`: {words}"
    yield ""
    place = PLACES.get(group, group)
    kinds = SCHEMAS.get(place) or (_kind(next(iter(CHOICES[group].values()))),)
    yield from _table(place, kinds)


def _choices(group: str) -> dict[str, str]:
    """The choices of a group, each with the first sentence said of it."""
    found = {name: _first(_kind(node).__doc__ or "") for name, node in CHOICES.get(group, {}).items()}
    if group == "loss":
        found |= {name: _first(_kind(tuner).__doc__ or "") for name, tuner in CHOICES["loss/tune"].items()}
    for path in (conf_folder() / group).glob("*.yaml"):
        comments = [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        found[path.stem] = _first(" ".join(line for line in comments if not line.startswith("@package")))
    return found


def _first(text: str) -> str:
    words = " ".join(text.split())
    end = re.search(r"(?<!al)(?<!Eq)\. ", words)
    return words if end is None else words[: end.start() + 1]


def _kind(node: Any) -> type[Any]:
    return node if isinstance(node, type) else type(node)


def _table(place: str, kinds: Iterable[type[Any]]) -> Iterator[str]:
    """One row a key, with the schemas that have it; a key that differs between schemas has several rows."""
    kinds = list(kinds)
    having: dict[Row, list[str]] = {}
    for kind in kinds:
        for row in _rows(kind, f"{place}."):
            having.setdefault(row, []).append(_called(kind))
    if not having:
        return
    yield "| key | default | may be | with | what it is |"
    yield "|---|---|---|---|---|"
    order = list(dict.fromkeys(row.key for row in having))
    for row, names in sorted(having.items(), key=lambda item: order.index(item[0].key)):
        shown = "all" if len(names) == len(kinds) else ", ".join(names)
        yield f"| `{row.key}` | {row.default} | {row.range} | {shown} | {row.words} |"
    yield ""


def _called(kind: type[Any]) -> str:
    """What a schema is called by: the choice that it is of."""
    if kind in WITHOUT_NAME:
        return WITHOUT_NAME[kind]
    for choices in CHOICES.values():
        for name, node in choices.items():
            if node is kind:
                return name
    return kind.__name__


def _rows(kind: type[Any], prefix: str) -> Iterator[Row]:
    limits = limits_of(kind)
    for field in fields(kind):
        key, default = prefix + field.name, default_of(field)
        if key in NAMES:
            continue
        within = schema_within(kind, field)
        if within is not None and is_dataclass(default) and key != "loss.tune":
            yield from _rows(within, f"{key}.")
            continue
        limit = limits.get(field.name, "")
        ranged = ", ".join(limit) if isinstance(limit, tuple) and not hasattr(limit, "low") else str(limit)
        words = str(field.metadata.get("words", "")).replace("|", "\\|")
        yield Row(key, _shown(default), ranged, words)


def _shown(value: Any) -> str:
    if is_dataclass(value):
        return "`mira`"
    if value == "???":
        return "-"
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "`null`" if value is None else f"`{value}`"


def _commands() -> Iterator[str]:
    """The keys of the commands themselves, with what conf/ says of them."""
    yield "## Keys of commands\n"
    for path in sorted(conf_folder().glob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield f"### {lines[0].removeprefix('# ')}\n"
        comment: list[str] = []
        for line in lines[lines.index("") + 1 :] if "" in lines else []:
            if line.startswith("hydra:"):
                break
            if line.startswith("#"):
                comment.append(line[1:].strip())
            elif ":" in line:
                key, _, value = line.partition(": ")
                yield f"- `{key}`: {'must be given' if value == '???' else f'`{value}`'}{_said(comment)}"
                comment = []
        yield ""


def _said(comment: list[str]) -> str:
    return f". {' '.join(comment)}" if comment else ""


if __name__ == "__main__":
    sys.stdout.write(page())
