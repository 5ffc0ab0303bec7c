"""What `--help` of a command says: its choices, its actions, and each key with its value and what it is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from xlate.cli.arguments import Words
from xlate.cli.commands import COMMANDS
from xlate.config.choices import SCHEMAS, default_of, own_keys, schema_within, schemas_of
from xlate.config.experiments import rows_of_tables
from xlate.config.load import composed, words_of_hydra
from xlate.config.page import GROUPS, NAMES, choices_of, first_sentence, plainly, range_words, usage
from xlate.config.schema import COMMANDS as SCHEMAS_OF_COMMANDS
from xlate.settings import keys_in

WIDTH = 100
KEY_WIDTH = 34
OPTIONS = (
    ("-m", "a sweep: a run for each of the values between commas, KEY=A,B"),
    ("--cfg job", "shows what would run"),
    ("--config-dir FOLDER", "choices of your own: FOLDER/GROUP/NAME.yaml"),
    ("-q, -v", "say less: warnings alone; say more: times, and what is at work"),
    ("--version", "the version"),
)


def help_of(command: str, words: Words) -> str:
    """The help of a command with what is chosen in `words`.

    Raises:
        InputError: the overrides do not fit.
    """
    overrides = [*words.overrides, *_search_path(words.options)]
    try:
        config = composed(command, overrides)
    except HydraException as error:
        raise words_of_hydra(error, command, overrides) from error
    schema = SCHEMAS_OF_COMMANDS[command]
    called = usage(schema)
    called = called if ":" not in called else f"xlate {command} [KEY=VALUE …] [options]"
    lines = [f"usage: {called}", "", COMMANDS[command].words]
    lines += _titled(
        "actions", ((name, first_sentence(do.__doc__ or "")) for name, do in COMMANDS[command].actions.items())
    )
    lines += _titled("choices, GROUP=NAME", _groups(command))
    lines += _titled(
        "experiments, experiment=PAPER/TABLE-rowN, or all rows with -m experiment=PAPER/TABLE", _tables(command)
    )
    values = ((one.name, _value(config, one.name), "", one.metadata["words"]) for one in own_keys(schema))
    lines += _titled("keys, KEY=VALUE, with the values they have (??? must be given)", map(_key, values))
    for group, keys in _keys_of_groups(config, schema):
        lines += _titled(f"keys of {group}", map(_key, keys))
    return "\n".join([*lines, *_titled("options, anywhere", OPTIONS)])


def _search_path(options: Iterable[str]) -> list[str]:
    """Folders of choices that the options name, as Hydra takes them where it is called from Python."""
    folders = [option.partition("=")[2] for option in options if option.startswith("--config-dir=")]
    return [f"hydra.searchpath=['file://{Path(folder).resolve()}']" for folder in folders]


def _titled(title: str, entries: Iterable[tuple[str, str]]) -> list[str]:
    """A part of the help: what there is to the left, and words to the right of it or below."""
    lines: list[str] = []
    for left, right in entries:
        beside = f"  {left:<{KEY_WIDTH}}  "
        if len(left) > KEY_WIDTH:
            lines.append(f"  {left}")
            beside = " " * (KEY_WIDTH + 4)
        wrapped = textwrap.wrap(right, WIDTH - KEY_WIDTH - 4, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{beside if not at else ' ' * (KEY_WIDTH + 4)}{line}".rstrip() for at, line in enumerate(wrapped)]
    return ["", f"{title}:", *filter(None, lines)] if lines else []


def _groups(command: str) -> Iterator[tuple[str, str]]:
    for group, of in GROUPS.items():
        name, _, condition = of.partition(",")[0].removeprefix("xlate ").partition(" ")
        if name == command:
            with_it = f" (with {condition})" if condition else ""
            yield f"{group}{with_it}", ", ".join(choices_of(group))


def _tables(command: str) -> Iterator[tuple[str, str]]:
    if command != "train":
        return
    papers: dict[str, list[str]] = {}
    for table, rows in rows_of_tables().items():
        paper, _, name = table.partition("/")
        papers.setdefault(paper, []).append(f"{name} ({len(rows)} row{'s' * (len(rows) > 1)})")
    yield from ((paper, ", ".join(tables)) for paper, tables in papers.items())


def _key(entry: tuple[str, str, str, str]) -> tuple[str, str]:
    key, value, ranged, words = entry
    unsaid = any(not re.search(rf"\b{re.escape(part)}\b", words) for part in ranged.split(", "))
    return f"{key}={value}", f"{words} ({ranged})" if ranged and unsaid else words


def _value(config: DictConfig, key: str) -> str:
    """The value of a key, as far as it is known."""
    try:
        value = OmegaConf.select(config, key, throw_on_missing=False)
    except OmegaConfBaseException:
        value = OmegaConf.to_container(config, resolve=False)[key]  # type: ignore[index,call-overload]
    if value is None and OmegaConf.is_missing(config, key):
        return "???"
    return plainly(OmegaConf.to_container(value) if OmegaConf.is_config(value) else value)


def _keys_of_groups(config: DictConfig, schema: type[Any]) -> Iterator[tuple[str, list[tuple[str, str, str, str]]]]:
    """The keys of each group of a command, as its choice has them."""
    plain: Any = OmegaConf.to_container(config, resolve=False)
    chosen = schemas_of(plain, schema)
    for field in fields(schema):
        held = plain.get(field.name)
        kind = chosen.get(field.name) or schema_within(schema, field)
        if not isinstance(held, Mapping):
            continue
        if kind is None:  # what the command takes is known only when it runs
            names = dict.fromkeys(f.name for one in SCHEMAS.get(field.name, ()) for f in keys_in(one))
            words = f"in place of those of the run or system, where its {field.name} has them: {', '.join(names)}"
            yield field.name, [(f"{field.name}.KEY", "VALUE", "", words)]
            continue
        keys = list(_walk(kind, held, f"{field.name}.", chosen))
        if keys:
            yield field.name, keys


def _walk(
    kind: type[Any], plain: Mapping[Any, Any], prefix: str, chosen: Mapping[str, type[Any]]
) -> Iterator[tuple[str, str, str, str]]:
    for field in keys_in(kind):
        key, value = prefix + field.name, plain.get(field.name, default_of(field))
        within = chosen.get(key) or schema_within(kind, field)
        if key in NAMES:
            continue
        if within is not None and isinstance(value, Mapping):
            yield from _walk(within, value, f"{key}.", chosen)
            continue
        yield key, plainly(value), range_words(field), str(field.metadata.get("words", ""))
