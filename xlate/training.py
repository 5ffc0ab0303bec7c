"""Preparing and training from Python, with the keys of the commands: `xlate.prepare` and `xlate.train`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from xlate.cli.arguments import in_quotes, quoted
from xlate.cli.train import trained
from xlate.config.load import load
from xlate.config.schema import PrepareConfig, TrainConfig
from xlate.errors import InputError
from xlate.jobs import prepare as preparing
from xlate.report.run_directory import Listener


def prepare(*overrides: str, **keys: Any) -> Path:
    """Prepares a work directory as `xlate prepare` does, and returns its folder.

    Args:
        overrides: `key=value` as on the command line. keys: the same as keyword arguments; see `train`.

    Raises:
        InputError: a key or value does not fit, or a file of the corpus cannot be used.

    Example: `xlate.prepare("data=demo", work="work/demo")`
    """
    return preparing.prepare(load(PrepareConfig, "prepare", overrides_of(overrides, keys))).path


def train(*overrides: str, reporter: Listener | None = None, **keys: Any) -> Path:
    """Trains a run as `xlate train` does, and returns its folder; an interrupted one resumes, a finished one stays.

    Args:
        overrides: `key=value` as on the command line, `"model=phrase"`, `"loss.tune.rounds=4"`.
        reporter: called with the tag, value and step of every scalar as it arises. After an interruption it gets those
            since the last checkpoint again.
        keys: the same as keyword arguments, with values of Python: `work="work/mine"`, `seed=2`, and those with dots in
            a dictionary, `**{"loss.tune.rounds": 4}`.

    Raises:
        InputError: a key or value does not fit, or something that the training needs is missing.
        Interrupted: a signal stopped it; the same call resumes it.

    Example: `xlate.train("model=phrase", work="work/demo", run="runs/demo")`
    """
    given = overrides_of(overrides, keys)
    return trained(load(TrainConfig, "train", given), given, listener=reporter)


def overrides_of(overrides: tuple[str, ...], keys: dict[str, Any]) -> list[str]:
    """Words of a command line and values of Python as overrides that Hydra reads.

    Raises:
        InputError: a value is of a type that no key has.

    Example:
        >>> overrides_of(("model=rerank",), {"seed": 2, "references": ["a.en"], "device": None})
        ['model=rerank', 'seed=2', 'references=[a.en]', 'device=null']
    """
    return [*map(quoted, overrides), *(f"{key}={_written(key, value)}" for key, value in keys.items())]


def _written(key: str, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, str | Path):
        # Without needless quotes, which names of folders would have too.
        plain = re.fullmatch(r"(?!null$)[a-zA-Z./][\w./-]*", str(value), re.ASCII)
        return str(value) if plain else in_quotes(str(value))
    if isinstance(value, list | tuple):
        return f"[{','.join(_written(key, one) for one in value)}]"
    raise InputError("a value of another type", f"{key}={value!r}", "a text, a number, true or false, None, or a list")
