"""Every number of a configuration has a range, and what lies outside is refused before anything is done."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest

from xlate.config import model_schema, schema
from xlate.config.load import load
from xlate.errors import InputError
from xlate.learning import settings as train_settings
from xlate.search import settings as search_settings
from xlate.settings import ORDER, PHRASE_LENGTH, WINDOW, Limit, Range, limit_of
from xlate.tuners import settings as tune_settings
from xlate.work import settings as work_settings

SCHEMAS = [
    kind
    for module in (
        schema,
        search_settings,
        work_settings,
        model_schema,
        train_settings,
        tune_settings,
    )
    for kind in vars(module).values()
    if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
]


def is_number(hint: Any) -> bool:
    kinds = {kind for kind in get_args(hint) or (hint,) if kind is not NoneType}
    return bool(kinds) and kinds <= {int, float}


@pytest.mark.parametrize("kind", SCHEMAS, ids=lambda kind: kind.__name__)
def test_every_number_has_a_range(kind: type[Any]) -> None:
    hints = get_type_hints(kind)
    limits = {one.name: limit_of(one) for one in fields(kind)}
    assert all(isinstance(limit, Range) == is_number(hints[name]) for name, limit in limits.items())


def limit(kind: type[Any], name: str) -> Limit | None:
    return next(limit_of(one) for one in fields(kind) if one.name == name)


def test_the_limits_are_those_of_the_library() -> None:
    from xlate.formats.nbest_file import DROP, KEEP, STYLES
    from xlate.kernels.search.distortion_decoder import WIDEST_WINDOW
    from xlate.learning.global_model import RULES
    from xlate.lm.arpa import HIGHEST_ORDER
    from xlate.phrases.extract import LONGEST
    from xlate.phrases.occurrences import KINDS as ORIENTATIONS
    from xlate.work.corpus_files import SPLITS

    reordering = {"none", *ORIENTATIONS} - {"hier-moses"}
    assert set(limit(model_schema.PhraseModelConfig, "reordering")) == reordering
    assert limit(train_settings.GlobalConfig, "rule") == tuple(RULES)
    assert set(limit(work_settings.DataConfig, "tokenized")) == {*SPLITS, "lm_text"}
    assert limit(schema.GivenListsConfig, "nbest_format") == STYLES
    assert limit(schema.GivenListsConfig, "nbest_duplicates") == (KEEP, DROP)
    assert (WINDOW.high, ORDER.high, PHRASE_LENGTH.high) == (WIDEST_WINDOW, HIGHEST_ORDER, LONGEST)


TRANSLATE = ["run=r"]
TUNED = ["loss=mira"]


@pytest.mark.parametrize(
    ("command", "given", "override", "expected", "remedy"),
    [
        ("translate", TRANSLATE, "processes=0", "1 or more, at most 4096", "the nearest is 1"),
        ("translate", TRANSLATE, "lattice_format=dot", "fst, slf", "one of the expected values"),
        ("prepare", ["work=w"], "data.tokenized=[tset]", "train, dev, test, lm_text", "data.tokenized=test?"),
        ("train", ["model=context"], "model.target=[pairs]", "pair, phrase, words", "model.target=pair?"),
        ("train", [], "model.kind=zz", ", ".join(model_schema.MODELS), "None"),
        ("translate", TRANSLATE, "decoder.threshold=nan", "0 or more, below 1", "one of the expected values"),
        ("train", ["model=phrase"], "decoder.distortion_limit=-2", "-1 or more", "the nearest is -1"),
        ("train", ["model=phrase"], "decoder.pop_limit=9999999999", "1 or more", "the nearest is 2147483647"),
        ("train", [], "loss.floats.subset=1.5", "above 0, at most 1", "the nearest is 1"),
        ("train", TUNED, "loss.tune.heldout_every=1", "0 or more, not 1", "one of the expected values"),
        ("score", ["hyp=h", "ref=r"], "bootstrap=-1", "0 or more, at most 1000000", "the nearest is 0"),
    ],
)
def test_what_is_out_of_range_is_refused(
    command: str, given: list[str], override: str, expected: str, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        load(schema.COMMANDS[command], command, [*given, override])
    assert override.partition("=")[0] in caught.value.message
    assert caught.value.expected == expected
    assert str(caught.value.remedy).endswith(remedy)


def test_the_ends_that_belong_to_a_range() -> None:
    wide = ["decoder.threshold=0", "decoder.distortion_limit=-1", "decoder.window=48", "decoder.max_skips=0"]
    assert load(schema.TranslateConfig, "translate", [*TRANSLATE, *wide]).decoder["distortion_limit"] == -1
    endless = ["checkpoint_seconds=inf", "loss.tune.length_band=inf"]
    assert load(schema.TrainConfig, "train", [*TUNED, *endless]).checkpoint_seconds == float("inf")


def test_none_is_refused_where_a_setting_must_have_a_value() -> None:
    with pytest.raises(InputError, match=r"(?s)a required value is missing.*beam is None"):
        search_settings.BlockSearch(beam=None)  # type: ignore[arg-type]
