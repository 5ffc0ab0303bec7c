"""Settings, each stated once: a field of a dataclass has its default, its range and its description."""

from __future__ import annotations

from dataclasses import Field, field, fields, is_dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from xlate.errors import InputError, nearest

# The placeholder for a value that must be given, as Hydra writes it.
MISSING: Any = "???"
# What JSON calls an object: figures, records and identities, by name.
Json = dict[str, Any]
LARGEST_INT = 2**31 - 1


class Range(NamedTuple):
    """The numbers from `low` to `high`; `open_low` and `open_high` exclude the ends, `but` some values in between."""

    low: float
    high: float = LARGEST_INT
    open_low: bool = False
    open_high: bool = False
    but: tuple[float, ...] = ()

    def holds(self, value: float) -> bool:
        """Whether a number is in the range; NaN is not."""
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        return above and below and value not in self.but

    def nearest(self, value: float) -> float | None:
        """The end of the range that a value lies beyond; None if that end is excluded or the value is NaN."""
        if value < self.low and not self.open_low:
            return self.low
        if value > self.high and not self.open_high:
            return self.high
        return None

    def __str__(self) -> str:
        """The range in words.

        Example: `above 0, at most 1`
        """
        low = f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        # The short form of a large whole number, 1e+06, is not what anybody types.
        end = str(self.high) if isinstance(self.high, int) else f"{self.high:g}"
        high = f"below {end}" if self.open_high else f"at most {end}"
        return ", ".join([low] + [high] * (self.high < LARGEST_INT) + [f"not {x:g}" for x in self.but])


# The range of a number, or the allowed words of a text.
Limit = Range | tuple[str, ...]

# Far above what any setting needs. Weights and scores become useless long before a larger number overflows.
LARGE = 100_000
ANY = Range(-LARGE, LARGE)
POSITIVE = Range(0, LARGE, open_low=True)
NOT_NEGATIVE = Range(0, LARGE)
COUNT = Range(1)
# For settings where infinity means: all, or never.
ENDLESS = Range(0, inf)
SHARE = Range(0, 1, open_low=True)
PROBABILITY = Range(0, 1)
BELOW_ONE = Range(0, 1, open_high=True)
SEED = Range(0, 2**63 - 1)
ORDER = Range(1, 7)
PHRASE_LENGTH = Range(1, 255)
WINDOW = Range(1, 48)
# More would need a list, a process or a pass over the text for each, which no machine could handle.
LISTED = Range(1, 10**6)
PROCESSES = Range(1, 4096)
REACH = Range(1, 1000)
FOLDS = Range(2, 1000)
NO_OR_FOLDS = Range(0, 1000, but=(1,))
SENTENCES = Range(1, 10**7)
# The words that several settings, or also the library, allow.
MEASURES = ("bleu", "chrf", "ter", "nist", "lexacc")
CASES = ("true", "lower", "keep")


def key(words: str = "", default: Any = MISSING, limit: Limit | None = None) -> Any:
    """A setting as a field of a dataclass.

    Args:
        words: its description; those of a command's keys are in conf/.
        default: its default value; without one, a value must be given.
        limit: the range of a number, or the allowed words of a text. None stays None whatever the range.
    """
    metadata = {"words": words, "limit": limit}
    if isinstance(default, list | dict):
        return field(default_factory=default.copy, metadata=metadata)
    if is_dataclass(default) and not isinstance(default, type):
        return field(default_factory=type(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def asked(default: Any, limit: Limit | None = None) -> Any:
    """A field that is set only in Python, and is no key."""
    return field(default=default, metadata={"key": False, "limit": limit})


def keys_in(kind: Any) -> list[Field[Any]]:
    """The fields of a dataclass of settings, or of its class, that are keys."""
    return [one for one in fields(kind) if one.metadata.get("key", True)]


def plain(settings: Any) -> Any:
    """The keys of settings and their values, nested ones as mappings: the form that is composed, written and hashed."""
    if not is_dataclass(settings):
        return settings
    return {one.name: plain(getattr(settings, one.name)) for one in keys_in(settings)}


def limit_of(setting: Field[Any]) -> Limit | None:
    """The limit of a setting; None if any value of its type is allowed."""
    limit: Limit | None = setting.metadata.get("limit")
    return limit


class Settings:
    """The base class of frozen dataclasses of settings: checks the range of each value."""

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value is out of range, or a required one is missing.
        """
        for one in fields(self):  # type: ignore[arg-type]
            if getattr(self, one.name) is None and one.default is not None:
                raise InputError("a required value is missing", f"{one.name} is None", "a value")
            check_limit(one.name, getattr(self, one.name), limit_of(one))


def check_limit(key: str, value: Any, limit: Limit | None, file: str | Path | None = None) -> None:
    """Rejects a value that is out of range; None and values that are still to be given are not checked.

    Args:
        key: its dotted key, for the message.
        value: of the type of the setting.
        limit: the allowed values.
        file: where the value was read, for the message.

    Raises:
        InputError: naming the key, its value and the allowed values.
    """
    if limit is None or value is None or value == MISSING:
        return
    if isinstance(limit, Range):
        if not limit.holds(value):
            expected, remedy = str(limit), _remedy(key, limit.nearest(value))
            raise InputError(f"{key} is out of range", f"{key}={value}", expected, remedy, file=file)
    elif isinstance(value, list):
        for one in value:
            check_limit(key, one, limit, file)
    elif value not in limit:
        remedy = nearest(str(value), limit, _remedy(key, None), f"{key}=", cutoff=0.4)
        raise InputError(f"unknown value of {key}", f"{key}={value}", ", ".join(limit), remedy, file=file)


def _remedy(key: str, nearest: float | None) -> str:
    # With all digits: the short form of the largest number would be a different number.
    end = "" if nearest is None else f"; the nearest is {int(nearest) if nearest == int(nearest) else nearest}"
    return f"set {key} to one of the expected values{end}"
