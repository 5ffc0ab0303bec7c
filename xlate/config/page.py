"""docs/configuration.md, made from the schemas: python -m xlate.config.page > docs/configuration.md"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from xlate.config import loss_schema, model_schema, schema
from xlate.config.choices import CHOICES, PLACES, SCHEMAS, settings_of
from xlate.config.keys.described import COMMANDS, Row, choices_of, of_command, rows
from xlate.config.location import conf_folder
from xlate.config.nbest_schema import NbestConfig
from xlate.search.settings import GrammarSearch

HEAD = """# Configuration

Every command takes `key=value`. Keys stand in groups, and a group is a choice: `model=phrase` chooses the phrase model,
and with it the keys under `model.`, its decoder (`decoder.`) and its loss (`loss.`). A choice has the keys that are
listed with it and no others: what it does not use is refused. `model.kind`, `model.name`, `loss.name`, `loss.tune.name`
and `source.name` say what was chosen; they are not listed. `xlate train model=phrase --help` shows the keys of what is
chosen. Files of your own, in a folder given by `--config-dir`, begin with a choice: `defaults: [mira, _self_]`.

Names and paths may hold any letters and marks: `run=runs/Läufe`. One with a comma or, in a list, with brackets needs
quotes inside quotes, `run="'a,b'"`, unless it exists. `${` stands for the value of another key: no name can hold it.

This page is made by `python -m xlate.config.page > docs/configuration.md`. `-` means that a value must be given.
"""
# Schemas that several choices have, or one choice in some place.
WITHOUT_NAME: dict[type[Any], str] = {
    model_schema.GrammarModelConfig: "imported grammars",
    GrammarSearch: "imported grammars",
    loss_schema.LocalLossConfig: "perceptron, hinge",
    loss_schema.TunedLossConfig: "tuners",
    loss_schema.ListLossConfig: "xbleu",
    loss_schema.RankingLossConfig: "xbleu of model=rerank",
    loss_schema.ContextListLossConfig: "xbleu of model=context",
}
BAR = "\\|"
# Commands that have keys in common, which are described in their schema.
COMMAND_SCHEMAS: dict[str, type[Any]] = {"train": schema.TrainConfig, "nbest": NbestConfig}


def page() -> str:
    """The page."""
    return "\n".join([HEAD, *(line for group in COMMANDS for line in _section(group)), *_commands()])


def _section(group: str) -> Iterator[str]:
    yield f"## {group}\n"
    yield f"Of {COMMANDS[group]}.\n"
    for name, words in choices_of(group).items():
        yield f"- `{group}={name}`: {words}"
    yield ""
    place = PLACES.get(group, group)
    kinds = SCHEMAS.get(place) or (type(settings_of(next(iter(CHOICES[group].values())))),)
    yield from _table(place, kinds)


def _table(place: str, kinds: Iterable[type[Any]]) -> Iterator[str]:
    """One row a key, with the schemas that have it; a key that differs between schemas has several rows."""
    kinds = list(kinds)
    having: dict[Row, list[str]] = {}
    for kind in kinds:
        for row in rows(kind, f"{place}."):
            having.setdefault(row, []).append(_called(kind))
    if not having:
        return
    yield "| key | default | may be | with | what it is |"
    yield "|---|---|---|---|---|"
    order = list(dict.fromkeys(row.key for row in having))
    for row, names in sorted(having.items(), key=lambda item: order.index(item[0].key)):
        shown = "all" if len(names) == len(kinds) else ", ".join(names)
        yield f"| `{row.key}` | {row.default} | {row.range} | {shown} | {row.words.replace('|', BAR)} |"
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


def _commands() -> Iterator[str]:
    """The keys of the commands themselves."""
    yield "## Keys of commands\n"
    for path in sorted(conf_folder().glob("*.yaml")):
        title, keys = of_command(path.stem, COMMAND_SCHEMAS.get(path.stem))
        yield f"### {title}\n"
        for name, value, words in keys:
            said = f". {words}" if words else ""
            yield f"- `{name}`: {'must be given' if value == '???' else f'`{value}`'}{said}"
        yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
