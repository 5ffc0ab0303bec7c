"""The output of a command's `--help`: its choices, its actions, and each key with its value and description."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from xlate.cli.arguments import Words, action_of
from xlate.cli.commands import COMMANDS
from xlate.config.choices import SCHEMAS, own_keys, rows_of_tables, schema_within, schemas_of
from xlate.config.load import composed, hydra_reworded
from xlate.config.page import Row, choices_of, first_sentence, groups_of, plainly, rows, usage
from xlate.config.schema import COMMANDS as SCHEMAS_OF_COMMANDS
from xlate.settings import keys_in

WIDTH = 100
KEY_WIDTH = 34
OPTIONS = (
    ("-m", "run a sweep: one run per value of KEY=A,B"),
    ("--cfg job", "show what would run"),
    ("--config-dir FOLDER", "your own choices: FOLDER/GROUP/NAME.yaml"),
    ("-q, -v", "-q prints only warnings; -v also prints times and logger names"),
    ("--version", "print the version"),
)


def help_of(command: str, words: Words) -> str:
    """The help of a command under the choices in `words`.

    Raises:
        InputError: the overrides do not fit.
    """
    # Folders of choices that the options name, in the form that Hydra takes when called from Python.
    folders = [option.partition("=")[2] for option in words.options if option.startswith("--config-dir=")]
    overrides = [*words.overrides, *(f"hydra.searchpath=['file://{Path(folder).resolve()}']" for folder in folders)]
    with hydra_reworded(command, overrides):
        config = composed(command, overrides)
    schema = SCHEMAS_OF_COMMANDS[command]
    called = usage(schema)
    called = called if ":" not in called else f"xlate {command} [KEY=VALUE …] [options]"
    lines = [f"usage: {called}", "", COMMANDS[command].words]
    actions, asked = COMMANDS[command].actions, words.value("action")
    shown = actions if asked is None else {asked: action_of(actions, asked)}
    lines += _titled("actions", ((name, first_sentence(do.__doc__ or "")) for name, do in shown.items()))
    lines += _titled("choices, GROUP=NAME", _groups(command))
    lines += _titled(
        "experiments, experiment=PAPER/TABLE-rowN, or all rows with -m experiment=PAPER/TABLE", _tables(command)
    )
    values = (
        Row(one.name, _value(config, one.name), "", one.metadata["words"])
        for one in own_keys(schema)
        # The description of a key of some actions begins with their names.
        if not (named := set(one.metadata["words"].partition(":")[0].split(", "))) <= actions.keys()
        or named & shown.keys()
    )
    lines += _titled("keys, KEY=VALUE, with their values (???: required)", map(_key, values))
    for group, keys in _keys_of_groups(config, schema):
        lines += _titled(f"keys of {group}", map(_key, keys))
    return "\n".join([*lines, *_titled("options, in any place", OPTIONS)])


def _titled(title: str, entries: Iterable[tuple[str, str]]) -> list[str]:
    """A part of the help: names on the left, descriptions to the right or below."""
    lines = []
    for left, right in entries:
        beside = f"  {left:<{KEY_WIDTH}}  "
        if len(left) > KEY_WIDTH:
            lines.append(f"  {left}")
            beside = " " * (KEY_WIDTH + 4)
        wrapped = textwrap.wrap(right, WIDTH - KEY_WIDTH - 4, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{beside if not at else ' ' * (KEY_WIDTH + 4)}{line}".rstrip() for at, line in enumerate(wrapped)]
    return ["", f"{title}:", *filter(None, lines)] if lines else []


def _groups(command: str) -> Iterator[tuple[str, str]]:
    for group, condition in groups_of(command).items():
        with_it = f" (with {condition})" if condition else ""
        yield f"{group}{with_it}", ", ".join(choices_of(group))


def _tables(command: str) -> Iterator[tuple[str, str]]:
    if command != "train":
        return
    papers: dict[str, list[str]] = {}
    for table, named in rows_of_tables().items():
        paper, _, name = table.partition("/")
        papers.setdefault(paper, []).append(f"{name} ({len(named)} row{'s' * (len(named) > 1)})")
    yield from ((paper, ", ".join(tables)) for paper, tables in papers.items())


def _key(row: Row) -> tuple[str, str]:
    key, value, ranged, words = row
    unsaid = any(not re.search(rf"\b{re.escape(part)}\b", words) for part in ranged.split(", "))
    return f"{key}={value}", f"{words} ({ranged})" if ranged and unsaid else words


def _value(config: DictConfig, key: str) -> str:
    """The value of a key, if it is known."""
    try:
        value = OmegaConf.select(config, key, throw_on_missing=False)
    except OmegaConfBaseException:
        value = OmegaConf.to_container(config, resolve=False)[key]  # type: ignore[index,call-overload]
    if value is None and OmegaConf.is_missing(config, key):
        return "???"
    return plainly(OmegaConf.to_container(value) if OmegaConf.is_config(value) else value)


def _keys_of_groups(config: DictConfig, schema: type[Any]) -> Iterator[tuple[str, list[Row]]]:
    """The keys of each group of a command, under its choice."""
    held: Any = OmegaConf.to_container(config, resolve=False)
    chosen = schemas_of(held, schema)
    for field in fields(schema):
        name, part = field.name, held.get(field.name)
        if not isinstance(part, Mapping):
            continue
        if (kind := chosen.get(name) or schema_within(schema, field)) is not None:
            yield name, list(rows(kind, f"{name}.", part, chosen))
            continue
        # The choice is known only when the command runs.
        names = ", ".join(dict.fromkeys(one.name for kind in SCHEMAS[name] for one in keys_in(kind)))
        words = f"replace those of the run or system, if its {name} has them: {names}"
        yield name, [Row(f"{name}.KEY", "VALUE", "", words)]
