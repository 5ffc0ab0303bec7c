"""Weights say what they were made with, and a configuration that names something else is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from xlate.config.load import load
from xlate.config.model_schema import SparseConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import to_yaml
from xlate.errors import InputError
from xlate.models.phrase.kind import open_phrase_model
from xlate.models.registry import event_kind, kind_of
from xlate.models.run_weights import made_with, weights_of
from xlate.scoring.weights import Weights, WeightsFile, save_weights


@pytest.fixture
def config() -> TrainConfig:
    return load(TrainConfig, "train", ["model=phrase", "decoder=phrase", "work=w", "model.reordering=hier"])


def write(run: Path, config: TrainConfig, metadata: dict | None = None) -> None:
    metadata = made_with(config.model) if metadata is None else metadata
    save_weights(run / "weights.safetensors", {"phrase": Weights.zeros(["LM0"], 0)}, metadata=metadata)
    (run / "config.yaml").write_text(to_yaml(config))


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"reordering": "none"}, r"model\.reordering=none(?s:.*)model\.reordering=hier"),
        ({"kind": "zz"}, r"model\.kind=zz"),
        ({"sparse": SparseConfig()}, r"model\.sparse"),
    ],
)
def test_an_edited_configuration_is_refused(
    config: TrainConfig, tmp_path: Path, change: dict[str, object], seen: str
) -> None:
    write(tmp_path, config)
    assert weights_of(tmp_path).sets.keys() == {"phrase"}
    edited = replace(config, model=replace(config.model, **change))  # type: ignore[arg-type]
    (tmp_path / "config.yaml").write_text(to_yaml(edited))
    for given in (None, edited):
        with pytest.raises(InputError, match=seen) as caught:
            weights_of(tmp_path, given)
        assert caught.value.file == str(tmp_path / "config.yaml")


def test_what_does_not_decide_the_model_may_change(config: TrainConfig, tmp_path: Path) -> None:
    write(tmp_path, config)
    assert weights_of(tmp_path, replace(config, work="elsewhere", seed=7))


def test_weights_that_lack_a_setting_are_refused(config: TrainConfig, tmp_path: Path) -> None:
    held = made_with(config.model)
    del held["made_with"]["sparse"]
    write(tmp_path, config, held)
    with pytest.raises(InputError, match=r"expected: model\.sparse=nothing"):
        weights_of(tmp_path)


def test_weights_that_do_not_say_are_refused(config: TrainConfig, tmp_path: Path) -> None:
    write(tmp_path, config, {})
    with pytest.raises(InputError, match="do not say what they were made with"):
        weights_of(tmp_path)


def test_a_run_without_weights(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no weights yet"):
        weights_of(tmp_path)


def test_weights_of_other_floats_are_refused() -> None:
    model = load(TrainConfig, "train", ["work=w"]).model
    file = WeightsFile({"linked": Weights(np.zeros(1), np.zeros(0), ("unigram",))}, {}, {}, {})
    with pytest.raises(InputError, match="not the weights of the orientation model"):
        event_kind(model.kind).checked_set(file, "linked", model)
    with pytest.raises(InputError, match=r"(?s)unknown value of model\.kind.*zz"):
        kind_of("zz")


def test_an_edited_base_is_refused(config: TrainConfig, tmp_path: Path) -> None:
    write(tmp_path, replace(config, model=replace(config.model, reordering="none")))
    with pytest.raises(InputError, match=r"(?s)config\.yaml: the base run.*reordering=none.*reordering=hier"):
        open_phrase_model(tmp_path / "run", replace(config, base=str(tmp_path)))
