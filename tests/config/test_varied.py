"""The settings that runs are told apart by are those that somebody set."""

from __future__ import annotations

from xlate.config.identity import varied_settings
from xlate.config.load import load
from xlate.config.schema import TrainConfig

ALWAYS = {"model.name", "loss.name", "seed"}


def test_nothing_was_set() -> None:
    assert set(varied_settings(load(TrainConfig, "train", ["work=w"]))) == ALWAYS


def test_what_differs_from_its_default() -> None:
    given = ["work=w", "model=phrase", "loss=mira", "loss.tune.rounds=3", "decoder.stack=77", "base=runs/a/b"]
    shown = varied_settings(load(TrainConfig, "train", given))
    assert set(shown) == {*ALWAYS, "loss.tune.rounds", "decoder.stack", "base"}
    assert (shown["loss.tune.rounds"], shown["decoder.stack"], shown["base"]) == (3, 77, "b")
    assert (shown["model.name"], shown["loss.name"]) == ("phrase", "mira")


def test_what_was_given_is_shown_though_it_is_a_default() -> None:
    config = load(TrainConfig, "train", ["work=w", "seed=3"])
    fixed = ["work=w", "run=x", "seed=3", "model=x", "+debug=true", "hydra.verbose=1"]
    given = [*fixed, f"loss.eta={config.loss.eta}", "decoder=mon"]
    shown = varied_settings(config, given)
    assert set(shown) == {*ALWAYS, "loss.eta", "decoder"}
    assert (shown["loss.eta"], shown["decoder"], shown["seed"]) == (config.loss.eta, "mon", 3)
