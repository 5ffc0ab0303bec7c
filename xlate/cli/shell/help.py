"""What `--help` of a command says: its choices, its actions, and each key with its value and what it is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from xlate.cli.shell.arguments import Words
from xlate.config.choices import SCHEMAS, default_of, hints_of, schema_within, schemas_of
from xlate.config.experiments import rows_of_tables
from xlate.config.keys.described import COMMANDS, NAMES, choices_of, first_sentence, of_command, plainly, range_words
from xlate.config.load import composed, words_of_hydra
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


@dataclass(frozen=True)
class Command:
    """A command as its help knows it.

    Attributes:
        name: the subcommand.
        words: what it does.
        schema: of its configuration.
        actions: what its key `action` may be.
    """

    name: str
    words: str
    schema: type[Any]
    actions: Mapping[str, Callable[..., Any]]


def help_of(command: Command, words: Words) -> str:
    """The help of a command with what is chosen in `words`.

    Raises:
        InputError: the overrides do not fit.
    """
    overrides = [*words.overrides, *_search_path(words.options)]
    try:
        config = composed(command.name, overrides)
    except HydraException as error:
        raise words_of_hydra(error, command.name, overrides) from error
    usage, own = of_command(command.name, command.schema)
    usage = usage if ":" not in usage else f"xlate {command.name} [KEY=VALUE …] [options]"
    lines = [f"usage: {usage}", "", command.words]
    lines += _titled("actions", ((name, first_sentence(do.__doc__ or "")) for name, do in command.actions.items()))
    lines += _titled("choices, GROUP=NAME", _groups(command.name))
    lines += _titled(
        "experiments, experiment=PAPER/TABLE-rowN, or all rows with -m experiment=PAPER/TABLE", _tables(command.name)
    )
    values = ((key.name, _value(config, key.name), "", key.words) for key in own)
    lines += _titled("keys, KEY=VALUE, with the values they have (??? must be given)", map(_key, values))
    for group, keys in _keys_of_groups(config, command.schema):
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
    for group, of in COMMANDS.items():
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
        kind = chosen.get(field.name) or _kind(schema, field.name, default_of(field))
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


def _kind(schema: type[Any], name: str, default: Any) -> type[Any] | None:
    hint = hints_of(schema)[name]
    kinds = [kind for kind in (type(default), *get_args(hint), hint) if isinstance(kind, type) and is_dataclass(kind)]
    return kinds[0] if kinds else None


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
