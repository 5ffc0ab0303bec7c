"""What each setting may be: the range of every number, and the words of those settings that search depends on.

One table, looked at when a configuration is composed or read, so that a value that cannot be is refused before anything
is done, even where nothing would have looked at it. Rules between several settings stand where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from xlate.config import loss_schema, model_schema, nbest_schema, schema
from xlate.errors import InputError

LARGEST_INT = 2**31 - 1


class Range(NamedTuple):
    """The numbers from `low` to `high`; `open_low` and `open_high` leave out the ends, `but` some between them."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False
    but: tuple[float, ...] = ()

    def holds(self, value: float) -> bool:
        """Whether a number lies within; one that is not a number does not."""
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        return above and below and value not in self.but

    def __str__(self) -> str:
        """In words.

        Example: `above 0, at most 1`
        """
        low = f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        high = f"below {self.high:g}" if self.open_high else f"at most {self.high:g}"
        words = [low] * (self.low > -inf) + [high] * (self.high < LARGEST_INT) + [f"not {x:g}" for x in self.but]
        return ", ".join(words) or "a finite number"


Limit = Range | tuple[str, ...]


def _whole(least: int, *but: int) -> Range:
    return Range(least, LARGEST_INT, but=but)


ANY = Range(-inf, inf, open_low=True, open_high=True)
POSITIVE = Range(0, inf, open_low=True, open_high=True)
NOT_NEGATIVE = Range(0, inf, open_high=True)
# Where a number without end means: all, or never.
ENDLESS = Range(0, inf)
SHARE = Range(0, 1, open_low=True)
PROBABILITY = Range(0, 1)
BELOW_ONE = Range(0, 1, open_high=True)
SEED = Range(0, 2**63 - 1)
ORDER = Range(1, 7)
PHRASE_LENGTH = Range(1, 255)

_DECODER: dict[str, Limit] = {
    "mode": ("mon", "swap", "swap_or"),
    "beam": _whole(1),
    "threshold": BELOW_ONE,
    "options": _whole(1),
    "min_left_count": _whole(0),
    "partition": ("off", "local"),
    "option_order": ("count", "score"),
    "max_skips": _whole(0),
    "window": Range(1, 48),
    "coverage_beam": _whole(1),
    "max_words": _whole(1),
    "algorithm": ("stack", "cube"),
    "stack": _whole(1),
    "pop_limit": _whole(1),
    "max_phrase": _whole(1),
    # -1 stands for no limit.
    "distortion_limit": _whole(-1),
    "early_threshold": BELOW_ONE,
}

LIMITS: Mapping[type[Any], Mapping[str, Limit]] = {
    schema.DemoCorpusConfig: {"seed": SEED, "train": _whole(1), "dev": _whole(1), "test": _whole(1)},
    schema.DataConfig: {"max_words": _whole(1), "max_sentences": _whole(1), "dev_pairs": _whole(1)},
    schema.LmConfig: {"order": ORDER},
    schema.PhrasesConfig: {
        "max_length": PHRASE_LENGTH,
        "min_count": _whole(1),
        "heldout_every": _whole(0, 1),
        "lexical_floor": SHARE,
        "test_filter_min_words": _whole(1),
    },
    schema.DecoderConfig: _DECODER,
    schema.DecoderOverrides: _DECODER,
    schema.PrepareConfig: {"seed": SEED},
    schema.RowConfig: {"number": _whole(0), "against": _whole(0)},
    schema.TrainConfig: {
        "seed": SEED,
        "checkpoint_seconds": ENDLESS,
        "dev_sentences": _whole(1),
        "samples": _whole(0),
        "first_id": _whole(0),
    },
    schema.TranslateConfig: {"nbest": _whole(1), "lattice_format": ("fst", "slf"), "processes": _whole(1)},
    schema.InspectConfig: {"top": _whole(1)},
    schema.ScoreConfig: {"bootstrap": _whole(0), "seed": SEED},
    schema.AlignCommandConfig: {"seed": SEED},
    schema.LmCommandConfig: {"order": ORDER},
    schema.PhrasesCommandConfig: {"max_length": PHRASE_LENGTH},
    schema.DemoConfig: {"seed": SEED, "sentences": _whole(1)},
    nbest_schema.NbestConfig: {"first_id": _whole(0)},
    model_schema.SparseConfig: {"class_seed": SEED},
    model_schema.RerankConfig: {
        "ngrams": _whole(0),
        "least_probability": PROBABILITY,
        "class_ngrams": _whole(0),
        "min_lists": _whole(1),
    },
    model_schema.ModelConfig: {
        "threshold": _whole(0),
        "alternatives": _whole(1),
        "orientation_smoothing": POSITIVE,
        "jump_reach": _whole(1),
        "jump_smoothing": POSITIVE,
        "model1_iterations": _whole(1),
    },
    loss_schema.FloatPhaseConfig: {"nbest": _whole(1), "subset": SHARE, "epochs": _whole(0)},
    loss_schema.BinaryPhaseConfig: {"epochs": _whole(0), "eta": POSITIVE},
    loss_schema.GlobalConfig: {
        "sentences": _whole(1),
        "heldout_every": _whole(2),
        "rounds": _whole(1),
        "epochs": _whole(1),
        "pull": NOT_NEGATIVE,
        "oracles": _whole(1),
        "margin": ENDLESS,
    },
    loss_schema.TuneConfig: {
        "rounds": _whole(1),
        "nbest": _whole(1),
        "heldout_every": _whole(0, 1),
        "length_band": ENDLESS,
        "processes": _whole(1),
        "restarts": _whole(0),
        "epochs": _whole(1),
        "C": POSITIVE,
        "decay": BELOW_ONE,
        "gamma": POSITIVE,
        "l2": NOT_NEGATIVE,
        "samples": _whole(1),
        "kept": _whole(1),
        "least": SHARE,
        "share": SHARE,
    },
    loss_schema.ListsConfig: {
        "folds": _whole(2),
        "nbest": _whole(2),
        "shard": _whole(1),
        "processes": _whole(1),
        "part": _whole(0),
        "parts": _whole(1),
        "sentences": _whole(1),
        "heldout_every": _whole(2),
        "gamma": POSITIVE,
        "margin": NOT_NEGATIVE,
        "rate": POSITIVE,
        "dense_rate": POSITIVE,
        "l1": NOT_NEGATIVE,
        "l2": NOT_NEGATIVE,
        "batch": _whole(1),
        "epochs": _whole(1),
        "tolerance": NOT_NEGATIVE,
        "pairs": _whole(1),
        "rounds": _whole(1),
    },
    loss_schema.LossConfig: {
        "eta": POSITIVE,
        "decay": NOT_NEGATIVE,
        "sink": ANY,
        "patience": _whole(0),
        "block": _whole(1),
        "l1": NOT_NEGATIVE,
        "l2": NOT_NEGATIVE,
        "batch": _whole(0),
    },
}


def check_limits(config: Any, prefix: str = "", file: str | Path | None = None) -> None:
    """Refuses the first setting of a schema dataclass, or of those within it, that is out of its range.

    Args:
        config: an instance of a schema dataclass.
        prefix: what stands before its keys, such as `decoder.`.
        file: where the values were read, for the message.

    Raises:
        InputError: naming the key, its value and what it may be.
    """
    limits = LIMITS.get(type(config), {})
    for field in fields(config):
        value, limit, key = getattr(config, field.name), limits.get(field.name), prefix + field.name
        if is_dataclass(value):
            check_limits(value, f"{key}.", file)
        elif value is None or limit is None:
            continue
        elif isinstance(limit, Range) and not limit.holds(value):
            raise InputError(f"{key} is out of range", file=file, seen=f"{key}={value}", expected=str(limit))
        elif isinstance(limit, tuple) and not isinstance(limit, Range) and value not in limit:
            raise InputError(f"unknown value of {key}", file=file, seen=f"{key}={value}", expected=", ".join(limit))
