"""Keys that are given for a whole sweep, of which only some jobs have a use: a tuner's own, beside other tuners."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from xlate.cli.shell.arguments import key_of
from xlate.config.load import composed
from xlate.config.typed import SpareKeys, typed
from xlate.errors import InputError


def keys_of_some_jobs(
    schema: type[Any], command: str, given: Sequence[str], groups: Collection[str], swept: Collection[str]
) -> frozenset[str]:
    """The keys with one value that at least one job of a sweep uses; what none uses is refused by all of them.

    Args:
        schema: of the command.
        command: which composes its configuration for each choice of the groups.
        given: overrides, tables of experiments as their rows.
        groups: those that are swept over.
        swept: every key that is swept over.
    """
    fixed = [override for override in given if key_of(override) not in swept]
    asked = frozenset(key_of(o) for o in fixed if "." in key_of(o) and not o.startswith("~") and _is_ours(o))
    if not asked:
        return asked
    used: set[str] = set()
    for choice in _choices([override for override in given if key_of(override) in groups]):
        spare = SpareKeys(asked)
        forced = [_forced(override) if key_of(override) in asked else override for override in fixed]
        try:
            typed(composed(command, [*choice, *forced]), schema, spare=spare)
        except (InputError, HydraException, OmegaConfBaseException):
            continue  # the job says so itself
        used |= asked - spare.left_out
    return frozenset(used)


def _is_ours(override: str) -> bool:
    return not key_of(override).startswith("hydra")


def _forced(override: str) -> str:
    return f"++{override.lstrip('+')}"


def _choices(swept: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every way of choosing one value of each; nothing where values are not written out, as in `glob(…)`."""
    if any("(" in override for override in swept):
        return
    named = (override.partition("=") for override in swept)
    yield from product(*([f"{key}={value}" for value in values.split(",")] for key, _, values in named))
