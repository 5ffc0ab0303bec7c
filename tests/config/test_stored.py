"""Configurations of runs, stored and read again; what makes a training this one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from xlate import settings
from xlate.cluster import BoxConfig, ClusterConfig
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import (
    config_of_task,
    defaults_of_training,
    identity_of_training,
    read_config,
    to_yaml,
    varied_settings,
)
from xlate.errors import InputError
from xlate.report.run_directory import flat, identity_hash, plain

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
)


@pytest.fixture
def config() -> TrainConfig:
    return load(TrainConfig, "train", ["model=phrase", "work=w"])


def test_what_was_written_comes_back(config: TrainConfig, tmp_path: Path) -> None:
    for work in ("w", "2024-01-01", "0x10", "no", "1e-7", "späß: #1", "a*b&c", "*x", "$HOME {x}", "null", ""):
        config = replace(config, work=work, base=work)
        assert config.loss.tune is not None
        config.loss.tune.tolerance = 1e-7
        (tmp_path / "config.yaml").write_text(to_yaml(config), encoding="utf-8")
        assert read_config(tmp_path / "config.yaml", TrainConfig) == config


def test_a_task_has_the_settings_of_its_command_and_gives_no_tasks(config: TrainConfig) -> None:
    for work in ("w", "0x10", "no", "1e-7", "null", ""):
        given = settings.plain(replace(config, work=work, cluster=BoxConfig("box", 2)))
        assert config_of_task(given, TrainConfig) == replace(config, work=work, cluster=ClusterConfig())
    with pytest.raises(InputError, match=r"(?s)refers to a missing one.*without \$\{"):
        config_of_task({**given, "work": "a${b}"}, TrainConfig)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (BOMB, r"an alias, \*a0"),
        ("- work\n- base\n", r"\['work', 'base'\]"),
        ("", "None"),
        ("work: [", "damaged"),
        ("\x00", "damaged"),
        ("work: a\nwork: b\n", "duplicate"),
        ("[" * 5000, "recursion|damaged"),
        ("work: ${oc.env:SECRET}\n", r"interpolation(?s:.*)work: \$\{oc\.env:SECRET\}"),
        ("work: w\n${oc.env:SECRET}: x\n", "interpolation"),
        ("references: ['${oc.env:SECRET}']\n", "interpolation"),
        ("loss: {name: '${work}'}\n", r"loss\.name"),
        ("model:\n  kind: ???\n", r"model\.kind"),
        ("seed: one\n", "seed"),
        ("modle: {}\n", "did you mean model"),
        ("loss: {name: hinge, eta: {a: 1}}\n", r"loss\.eta"),
        ("1: 2\n", "config.yaml"),
        ("work: !!python/object/apply:os.system ['touch x']\n", "damaged"),
        ("work: !!binary aGk=\n", "config.yaml"),
    ],
)
def test_a_damaged_one_is_refused_by_name(
    tmp_path: Path, text: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "not to be printed")
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=seen) as caught:
        read_config(path, TrainConfig)
    assert caught.value.file == str(path)
    assert "not to be printed" not in str(caught.value)
    assert caught.value.remedy


def test_no_utf8_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"work: \xff\n")
    with pytest.raises(InputError, match="damaged configuration"):
        read_config(tmp_path / "config.yaml", TrainConfig)
    with pytest.raises(InputError, match="not a run directory"):
        read_config(tmp_path / "nothing.yaml", TrainConfig)
    with pytest.raises(InputError, match="not a run directory"):
        read_config(tmp_path, TrainConfig)


@pytest.mark.parametrize(
    ("given", "group", "key"),
    [
        ([], "decoder", "stack"),
        (["model=hierarchical", "source=online"], "source", "spread"),
    ],
)
def test_one_of_an_earlier_version_lacks_keys(tmp_path: Path, given: list[str], group: str, key: str) -> None:
    held = plain_config("model=phrase", *given)
    del held[group][key]
    with pytest.raises(InputError, match=rf"earlier version that lacks keys(?s:.*)no {group}\.{key}"):
        read_back(held, tmp_path)


def plain_config(*given: str) -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load(to_yaml(load(TrainConfig, "train", [*given, "work=w"])))
    return held


def read_back(held: dict[str, Any], folder: Path) -> TrainConfig:
    (folder / "config.yaml").write_text(yaml.safe_dump(held))
    return read_config(folder / "config.yaml", TrainConfig)


def base(folder: Path, weights: bytes) -> Path:
    folder.mkdir()
    (folder / "weights.safetensors").write_bytes(weights)
    return folder


def identity(*given: str) -> str:
    return identity_hash(identity_of_training(load(TrainConfig, "train", list(given))))


def test_another_base_is_another_training(tmp_path: Path) -> None:
    one, same, other = (base(tmp_path / name, name[:1].encode()) for name in ("a", "again", "b"))
    known = identity("model=phrase", f"base={one}")
    assert known == identity("model=phrase", f"base={same}")
    others = {identity("model=phrase", *given) for given in ([f"base={other}"], [], ["base=no/weights"], ["base=none"])}
    assert len(others - {known}) == 4


def test_imported_systems_with_the_same_weights_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (base(tmp_path / name, b"weights") / "model").mkdir()
        (tmp_path / name / "run.json").write_text(f'{{"identity": {{"imported": "{name}"}}}}')
    assert identity("model=phrase", f"base={tmp_path / 'a'}") != identity("model=phrase", f"base={tmp_path / 'b'}")


def test_where_a_run_lies_and_how_it_talks_make_no_difference() -> None:
    assert identity("run=a", "checkpoint_seconds=1", "debug=true", "measures=[bleu]") == identity("run=b")
    assert identity("loss.eta=0.5") != identity()


def test_only_used_keys_are_in_it() -> None:
    held = identity_of_training(load(TrainConfig, "train", ["model=rerank"]))
    assert held["decoder"] == {}
    assert set(held["loss"]) == {"name", "lists"}
    assert not {"folds", "shard", "joint"} & set(held["loss"]["lists"])
    assert set(held["model"]) == {"name", "kind", "rerank"}
    online = ["model=hierarchical", "source=online", "base=b"]
    # How many sentences of the training text are decoded matters only where it is cut into folds.
    assert identity(*online, "source.sentences=9") == identity(*online)
    assert identity(*online, "source.folds=2", "source.sentences=9") != identity(*online, "source.folds=2")


@pytest.mark.parametrize("given", [[], ["loss=mira", "model=phrase"], ["model=context"], ["source=online", "base=b"]])
def test_every_key_has_the_default_of_its_schema(given: list[str]) -> None:
    config = load(TrainConfig, "train", given)
    defaults, held = plain(defaults_of_training(config)), flat(identity_of_training(config))
    # The others must be given, here by conf/train.yaml and by choices.
    unknown = {key for key in held if key not in defaults and held[key] != {}}
    assert {key for key in unknown if "." in key} <= {"base.name", "model.name", "model.kind", "loss.name"}


def test_a_choice_has_its_own_defaults_and_a_part_those_that_it_is_given() -> None:
    assert defaults_of_training(load(TrainConfig, "train", ["loss=local_softmax"]))["loss.binary.eta"] == 0.03
    phrase = load(TrainConfig, "train", ["model=phrase", "loss=mira", "decoder.pop_limit=7"])
    assert defaults_of_training(phrase)["decoder.pop_limit"] == type(phrase.decoder)().pop_limit != 7  # type: ignore[attr-defined]


ALWAYS = {"model.name", "loss.name", "seed"}


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
