"""Which settings of a training are worth a column where runs are compared: those that somebody set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xlate.config.choices import defaults_at
from xlate.config.schema import TrainConfig
from xlate.report.run_directory import ABSENT, flat
from xlate.settings import plain

# What every run is told apart by.
ALWAYS = ("model.name", "loss.name", "seed")
# Where things lie, and what changes no result.
NEVER = (
    "run",
    "work",
    "debug",
    "checkpoint_seconds",
    "dev_every",
    "samples",
    "device",
    "row",
    "measure_test",
    "measures",
)


def varied_settings(config: TrainConfig, given: Sequence[str] = ()) -> dict[str, Any]:
    """The settings of a training that differ from every default of their key, and those `given` on the command line.

    Of a base run the name is shown. Choices, `decoder=mon`, are shown as they were given.

    Example: `loss.tune.rounds=4 decoder=mon` gives `model.name`, `loss.name`, `seed`, `loss.tune.rounds` and `decoder`.
    """
    held = flat(plain(config))
    chosen = dict(argument.lstrip("+").split("=", 1) for argument in given if "=" in argument)
    # The name of a chosen model or loss is shown already.
    asked = [key for key in chosen if f"{key}.name" not in held]
    keys = [*ALWAYS, *asked, *(key for key, value in held.items() if _is_set(key, value))]
    shown = {key: held.get(key, chosen.get(key, ABSENT)) for key in dict.fromkeys(keys)}
    if config.base is not None:
        shown["base"] = Path(config.base).name
    return {key: value for key, value in shown.items() if not key.startswith("hydra") and _top(key) not in NEVER}


def _top(key: str) -> str:
    return key.partition(".")[0]


def _is_set(key: str, value: Any) -> bool:
    """Whether no schema has this value as the default of the key."""
    return value is not None and value not in (defaults_at(key) or [value])
