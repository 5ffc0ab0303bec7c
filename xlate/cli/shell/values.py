"""The values that completion knows of a key: the words that it may be, or paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from xlate.cli.shell.arguments import NAMED_FILES
from xlate.config.choices import hints_of
from xlate.config.experiments import rows_of_tables
from xlate.config.keys.brackets import keys_within
from xlate.config.location import conf_folder
from xlate.settings import Range, limit_of


def words_of_key(schema: type[Any], key: str) -> list[str]:
    """The words that a key of a command may be, where there are no others."""
    if key.rpartition(".")[2] in NAMED:
        return NAMED[key.rpartition(".")[2]]()
    found: list[str] = []
    for held in keys_within(schema):
        limit = limit_of(held.field) if held.key == key else None
        if isinstance(limit, tuple) and not isinstance(limit, Range):
            found += limit
        elif held.key == key and hints_of(held.kind)[held.field.name] is bool:
            found += ["false", "true"]
    return list(dict.fromkeys(found))


def _devices() -> list[str]:
    from xlate.scoring.device import DEVICES

    return list(DEVICES)


def _measures() -> list[str]:
    from xlate.metrics.score import MEASURES

    return list(MEASURES)


def _metrics() -> list[str]:
    from xlate.metrics.objective import COLUMN, COLUMNS

    return [name for name in COLUMNS if name != COLUMN]


# Keys, in whatever group, whose words no schema tells.
NAMED: dict[str, Callable[[], list[str]]] = {"device": _devices, "measures": _measures, "metric": _metrics}


def _experiments() -> list[str]:
    """All tables and rows."""
    return [name for table, rows in rows_of_tables().items() for name in (table, *rows)]


def _launchers() -> list[str]:
    """What launches the jobs of a sweep, as conf/ has it."""
    return sorted(path.stem for path in (conf_folder() / "hydra" / "launcher").glob("*.yaml"))


# Keys of a training whose choices Hydra does not tell, or not as they are called here.
CHOSEN: dict[str, Callable[[], list[str]]] = {"experiment": _experiments, "hydra/launcher": _launchers}


def with_words(last: str, words: Sequence[str]) -> list[str]:
    """What is typed, its value or the last one of several made whole by each word that begins so."""
    begun = re.split(r"[=\[,]", last)[-1]
    return [last[: len(last) - len(begun)] + word for word in words if word.startswith(begun)]


def with_paths(last: str) -> list[str]:
    """What is typed, `KEY=VALUE`, its path made whole: names may hold `=` and `,`, which stand between paths, too."""
    key, _, value = last.partition("=")
    for begun in _begun(value, "[,=" if key in NAMED_FILES else "[,"):
        if found := paths(begun):
            return [last[: len(last) - len(begun)] + path for path in found]
    return []


def _begun(value: str, between: str) -> Iterator[str]:
    """Where the last path of a value may begin: at its first character, then behind each that stands between paths."""
    yield value
    yield from (value[at + 1 :] for at, character in enumerate(value) if character in between)


def paths(start: str) -> list[str]:
    """Files and folders whose paths begin so; folders end in a separator."""
    folder, _, begin = start.rpartition("/")
    place = Path(f"{folder}/" if start.startswith("/") else folder or ".")
    try:
        names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(place))
    except OSError:
        return []
    prefix = f"{folder}/" if "/" in start else ""
    return [prefix + name for name in names if name.startswith(begin) and (begin or not name.startswith("."))]
