"""What each setting may be: the range of every number, and the words of those settings that search depends on.

One table, looked at when a configuration is composed or read, so that a value that cannot be is refused before anything
is done, even where nothing would have looked at it. Rules between several settings stand where they are used.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from xlate.config import decoder_schema, loss_schema, model_schema, nbest_schema, schema, source_schema, tune_schema
from xlate.errors import InputError
from xlate.work import settings as work_settings

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

    def nearest(self, value: float) -> float | None:
        """The end of the range that a value lies beyond; None where that end is left out or it is no number."""
        if value < self.low and not self.open_low:
            return self.low
        if value > self.high and not self.open_high:
            return self.high
        return None

    def __str__(self) -> str:
        """In words.

        Example: `above 0, at most 1`
        """
        low = f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        # A short form of a large whole number, 1e+06, is not what anybody types.
        end = str(self.high) if isinstance(self.high, int) else f"{self.high:g}"
        high = f"below {end}" if self.open_high else f"at most {end}"
        return ", ".join([low] + [high] * (self.high < LARGEST_INT) + [f"not {x:g}" for x in self.but])


Limit = Range | tuple[str, ...]


def _whole(least: int, *but: int) -> Range:
    return Range(least, LARGEST_INT, but=but)


# Far above what any setting needs. Weights and scores are ruined long before a larger number overflows.
LARGE = 100_000
ANY = Range(-LARGE, LARGE)
POSITIVE = Range(0, LARGE, open_low=True)
NOT_NEGATIVE = Range(0, LARGE)
# Where a number without end means: all, or never.
ENDLESS = Range(0, inf)
SHARE = Range(0, 1, open_low=True)
PROBABILITY = Range(0, 1)
BELOW_ONE = Range(0, 1, open_high=True)
SEED = Range(0, 2**63 - 1)
ORDER = Range(1, 7)
PHRASE_LENGTH = Range(1, 255)
WINDOW = Range(1, 48)

_SOME = _whole(1)
# More would take a list, a process or a pass over the text for each, and no machine could do it.
_LISTED, _PROCESSES, _REACH = Range(1, 10**6), Range(1, 4096), Range(1, 1000)
_FOLDS, _NO_OR_FOLDS = Range(2, 1000), Range(0, 1000, but=(1,))
_SENTENCES, _NGRAMS, _WINDOW = Range(1, 10**7), Range(0, 10), Range(0, 1000)

# Of a schema and those that are made from it.
LIMITS: Mapping[type[Any], Mapping[str, Limit]] = {
    work_settings.DemoCorpusConfig: {"seed": SEED, "train": _SENTENCES, "dev": _SENTENCES, "test": _SENTENCES},
    work_settings.DataConfig: {
        "max_words": _SOME,
        "max_sentences": _SOME,
        "dev_pairs": _whole(0),
        "tagger": ("hanta", "classes"),
    },
    work_settings.LmConfig: {"order": ORDER},
    work_settings.PhrasesConfig: {
        "max_length": PHRASE_LENGTH,
        "min_count": _SOME,
        "heldout_every": _whole(0, 1),
        "lexical_floor": SHARE,
        "test_filter_min_words": _SOME,
    },
    decoder_schema.SearchConfig: {"threshold": BELOW_ONE, "options": _SOME, "max_words": _SOME},
    decoder_schema.PhrasalSearchConfig: {"max_phrase": _SOME},
    decoder_schema.BlockDecoderConfig: {
        "mode": ("mon", "swap", "swap_or"),
        "beam": _SOME,
        "min_left_count": _whole(0),
        "partition": ("off", "local"),
        "option_order": ("count", "score"),
        "unknown_unigram": ANY,
        "unknown_lexical": ANY,
    },
    decoder_schema.DistortionDecoderConfig: {
        "beam": _SOME,
        "coverage_beam": _SOME,
        "max_skips": _whole(0),
        "window": WINDOW,
        "option_order": ("count", "score"),
        "unknown_direct": ANY,
        "unknown_model1": ANY,
    },
    decoder_schema.PhraseDecoderConfig: {
        "algorithm": ("stack", "cube"),
        "stack": _SOME,
        "pop_limit": _SOME,
        # -1 stands for no limit.
        "distortion_limit": _whole(-1),
        "early_threshold": BELOW_ONE,
    },
    decoder_schema.RuleDecoderConfig: {
        "algorithm": ("stack", "cube", "cky"),
        "stack": _SOME,
        "pop_limit": _SOME,
        "max_span": PHRASE_LENGTH,
    },
    decoder_schema.GrammarDecoderConfig: {
        "algorithm": ("stack", "cube", "cky"),
        "pop_limit": _SOME,
        "max_words": _SOME,
    },
    decoder_schema.LcsDecoderConfig: {
        "beam": _SOME,
        "window": WINDOW,
        "least_probability": PROBABILITY,
        "deletion_cost": NOT_NEGATIVE,
    },
    model_schema.RulesConfig: {
        "source_span": PHRASE_LENGTH,
        "target_span": PHRASE_LENGTH,
        "symbols": PHRASE_LENGTH,
        "most_gaps": Range(0, 2),
        "least_count": NOT_NEGATIVE,
        "unlikely": PROBABILITY,
    },
    schema.PrepareConfig: {"seed": SEED},
    schema.RowConfig: {"number": _whole(0), "against": _whole(0)},
    schema.TrainConfig: {
        "seed": SEED,
        "checkpoint_seconds": ENDLESS,
        "dev_sentences": _SOME,
        "dev_every": _whole(0),
        "samples": _whole(0),
        "first_id": _whole(0),
    },
    schema.TranslateConfig: {"nbest": _LISTED, "lattice_format": ("fst", "slf"), "processes": _PROCESSES},
    schema.ExportConfig: {"reordering": ("files", "scores")},
    schema.InspectConfig: {"top": _SOME},
    schema.ScoreConfig: {"bootstrap": Range(0, 10**6), "seed": SEED, "split": ("dev", "test")},
    schema.ReportConfig: {"split": ("dev", "test"), "sentences": _whole(0), "explained": _whole(0)},
    schema.CompareConfig: {"top": _whole(0), "split": ("dev", "test")},
    schema.ServeConfig: {"port": Range(0, 65535), "max_bytes": _SOME, "max_words": _SOME, "max_nbest": _LISTED},
    schema.AlignCommandConfig: {"seed": SEED},
    schema.LmCommandConfig: {"order": ORDER},
    schema.PhrasesCommandConfig: {"max_length": PHRASE_LENGTH},
    schema.DemoConfig: {"seed": SEED, "sentences": _SENTENCES},
    nbest_schema.GivenListsConfig: {
        "nbest_size": _SOME,
        "nbest_format": ("auto", "bars", "fairseq", "plain", "jsonl"),
        "nbest_duplicates": ("keep", "drop"),
    },
    nbest_schema.NbestConfig: {
        "first_id": _whole(0),
        "mbr": ("none", "bleu", "chrf"),
        "pairs": _LISTED,
        "least_margin": NOT_NEGATIVE,
    },
    model_schema.SparseConfig: {"class_seed": SEED},
    model_schema.StructureConfig: {"class_seed": SEED},
    model_schema.RerankConfig: {
        "ngrams": _NGRAMS,
        "least_probability": PROBABILITY,
        "class_ngrams": _NGRAMS,
        "min_lists": _SOME,
        "mbr": ("none", "bleu", "chrf"),
        "mbr_scale": NOT_NEGATIVE,
    },
    model_schema.EventModelConfig: {"threshold": _whole(0), "folds": _NO_OR_FOLDS, "alternatives": _SOME},
    model_schema.BlockModelConfig: {"orientation_smoothing": POSITIVE},
    model_schema.DistortionModelConfig: {
        "jump_reach": _REACH,
        "jump_smoothing": POSITIVE,
        "model1_iterations": _SOME,
        "direct_discount": BELOW_ONE,
    },
    model_schema.ContextUseConfig: {"threshold": PROBABILITY, "best": _whole(0), "share": PROBABILITY},
    model_schema.ContextModelConfig: {
        "predicts": (model_schema.TRANSLATION, model_schema.DISTORTION),
        "reach": _REACH,
        "left_out": _whole(0),
        "left_out_of": _FOLDS,
        "unit": ("phrase", "word"),
        "longest": PHRASE_LENGTH,
        "alternatives": _whole(2),
        "folds": _NO_OR_FOLDS,
        "class_seed": SEED,
        "window": _WINDOW,
        "marks": ("distance", "bag"),
        "bits": Range(1, 30),
    },
    model_schema.PhraseModelConfig: {"reordering": ("none", "wbe", "phrase", "hier", "hier5")},
    loss_schema.FloatPhaseConfig: {
        "data": ("train", "dev", "nbest"),
        "nbest": _LISTED,
        "subset": SHARE,
        "epochs": _whole(0),
    },
    loss_schema.BinaryConfig: {"eta": POSITIVE},
    loss_schema.BinaryPhaseConfig: {"epochs": _whole(0)},
    loss_schema.GlobalConfig: {
        "folds": _FOLDS,
        "sentences": _SOME,
        "heldout_every": _whole(2),
        "rounds": _SOME,
        "epochs": _SOME,
        "pull": NOT_NEGATIVE,
        "oracles": _LISTED,
        "margin": ENDLESS,
    },
    tune_schema.TuneConfig: {
        "start": ("uniform", "base"),
        "select": ("best", "last"),
        "rounds": _SOME,
        "nbest": _LISTED,
        "heldout_every": _whole(0, 1),
        "length_band": ENDLESS,
        "processes": _PROCESSES,
        "tolerance": NOT_NEGATIVE,
        "least_new": PROBABILITY,
    },
    tune_schema.EpochsConfig: {"epochs": _SOME},
    tune_schema.MiraConfig: {"C": POSITIVE, "decay": BELOW_ONE, "sparse_rate": NOT_NEGATIVE},
    tune_schema.MertConfig: {
        "restarts": Range(0, 10**6),
        "directions": Range(0, 10**6),
        "coordinate_rounds": _SOME,
        "least_gain": NOT_NEGATIVE,
        "window": _whole(0),
    },
    tune_schema.PenaltyConfig: {"penalty": NOT_NEGATIVE, "step_penalty": NOT_NEGATIVE},
    tune_schema.ProConfig: {"samples": _LISTED, "kept": _LISTED, "least": SHARE, "share": SHARE},
    tune_schema.ExpectedBleuConfig: {"gamma": POSITIVE},
    tune_schema.SoftmaxMarginConfig: {"margin": NOT_NEGATIVE},
    tune_schema.RampConfig: {"margin": NOT_NEGATIVE, "kind": Range(1, 3)},
    tune_schema.ListHingeConfig: {"margin": NOT_NEGATIVE},
    loss_schema.ListsConfig: {
        "heldout_every": _whole(2),
        "gamma": POSITIVE,
        "margin": NOT_NEGATIVE,
        "rate": POSITIVE,
        "dense_rate": POSITIVE,
        "l1": NOT_NEGATIVE,
        "l2": NOT_NEGATIVE,
        "batch": _SOME,
        "epochs": _SOME,
        "tolerance": NOT_NEGATIVE,
        "pairs": _LISTED,
    },
    loss_schema.FoldedListsConfig: {
        "folds": _FOLDS,
        "nbest": Range(2, 10**6),
        "shard": _SOME,
        "processes": _PROCESSES,
        "machine": _whole(0),
        "machines": _SOME,
        "sentences": _SOME,
    },
    loss_schema.SparseListsConfig: {"candidates": ("best", "drawn"), "rounds": _SOME},
    loss_schema.LocalLossConfig: {
        "eta": POSITIVE,
        "decay": NOT_NEGATIVE,
        "patience": _whole(0),
        "block": _SOME,
        "l1": NOT_NEGATIVE,
        "l2": NOT_NEGATIVE,
        "batch": _whole(0),
    },
    loss_schema.LocalSoftmaxConfig: {"sink": ANY},
    loss_schema.ContextLossConfig: {
        "sink": ANY,
        "negatives": _whole(0),
        "margin": NOT_NEGATIVE,
        "rate": POSITIVE,
        "dense_rate": NOT_NEGATIVE,
        "decay": NOT_NEGATIVE,
        "epochs": _SOME,
        "patience": _whole(0),
        "block": _SOME,
        "l1": NOT_NEGATIVE,
        "l2": NOT_NEGATIVE,
        "batch": _whole(0),
    },
    loss_schema.GlobalLossConfig: {"eta": POSITIVE},
    source_schema.OnlineSourceConfig: {
        "iterations": _SOME,
        "nbest": _LISTED,
        "k": _LISTED,
        "m": _LISTED,
        "hope": NOT_NEGATIVE,
        "C": POSITIVE,
        "eta": POSITIVE,
        "gamma": POSITIVE,
        "margin": POSITIVE,
        "rate": NOT_NEGATIVE,
        "dense_rate": NOT_NEGATIVE,
        "spread": NOT_NEGATIVE,
        "gain": ("document", "add-1", "gao", "floor", "exp", "none"),
        "batch": _SOME,
        "processes": _PROCESSES,
        "shards": _PROCESSES,
        "select": ("average", "last", "best"),
        "heldout_every": _whole(0, 1),
        "start": ("uniform", "base"),
        "folds": _NO_OR_FOLDS,
        "sentences": _SOME,
    },
}


def limits_of(kind: type[Any]) -> dict[str, Limit]:
    """The limits of a schema, those of what it is made from with them."""
    found: dict[str, Limit] = {}
    for base in reversed(kind.__mro__):
        found |= LIMITS.get(base, {})
    return found


def check_limits(config: Any, prefix: str = "", file: str | Path | None = None) -> None:
    """Refuses the first setting of a schema dataclass, or of those within it, that is out of its range.

    Args:
        config: an instance of a schema dataclass.
        prefix: what stands before its keys, such as `decoder.`.
        file: where the values were read, for the message.

    Raises:
        InputError: naming the key, its value and what it may be.
    """
    limits = limits_of(type(config))
    for field in fields(config):
        value, limit, key = getattr(config, field.name), limits.get(field.name), prefix + field.name
        if is_dataclass(value):
            check_limits(value, f"{key}.", file)
        elif isinstance(value, Mapping):
            _check_of_any(value, f"{key}.")
        elif value is None or limit is None:
            continue
        else:
            check_limit(key, value, limit, file)


def _check_of_any(given: Mapping[str, Any], prefix: str) -> None:
    """Search settings of whatever decoder has them; whether the run's has them is seen when it is opened."""
    known = {name: limit for kind in decoder_schema.DECODERS.values() for name, limit in limits_of(kind).items()}
    for name, value in given.items():
        if name in known and isinstance(value, int | float if isinstance(known[name], Range) else str):
            check_limit(prefix + name, value, known[name])


def check_limit(key: str, value: Any, limit: Limit, file: str | Path | None = None) -> None:
    """Refuses a value that is out of its range.

    Raises:
        InputError: naming the key, its value and what it may be.
    """
    if isinstance(limit, Range):
        if not limit.holds(value):
            raise InputError(
                f"{key} is out of range",
                file=file,
                seen=f"{key}={value}",
                expected=str(limit),
                remedy=_remedy(key, limit.nearest(value)),
            )
    elif value not in limit:
        near = difflib.get_close_matches(str(value), limit, n=1, cutoff=0.4)
        raise InputError(
            f"unknown value of {key}",
            file=file,
            seen=f"{key}={value}",
            expected=", ".join(limit),
            remedy=f"did you mean {key}={near[0]}?" if near else _remedy(key, None),
        )


def _remedy(key: str, nearest: float | None) -> str:
    # With all digits: a short form of the largest number would be another one.
    end = "" if nearest is None else f"; the nearest is {int(nearest) if nearest == int(nearest) else nearest}"
    return f"give {key} a value that is expected{end}"
