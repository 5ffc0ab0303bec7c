"""A run's config.yaml: what was written comes back; nothing is resolved, what is damaged is refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config, to_yaml
from xlate.errors import InputError

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


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (BOMB, r"an alias, \*a0"),
        ("base: &a [1]\nwork: *a\n", "an alias"),
        ("<<: &x {work: w}\nbase: *x\n", "an alias"),
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
    config: TrainConfig, tmp_path: Path, text: str, seen: str, monkeypatch: pytest.MonkeyPatch
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
    path = tmp_path / "config.yaml"
    held = yaml.safe_load(to_yaml(load(TrainConfig, "train", ["model=phrase", "work=w", *given])))
    del held[group][key]
    path.write_text(yaml.safe_dump(held))
    with pytest.raises(InputError, match=rf"earlier version, which lacks keys(?s:.*)no {group}\.{key}"):
        read_config(path, TrainConfig)


def test_keys_of_other_choices_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    held = yaml.safe_load(to_yaml(load(TrainConfig, "train", ["model=phrase", "loss=pro", "work=w"])))
    held["loss"]["tune"]["restarts"] = 3
    path.write_text(yaml.safe_dump(held))
    with pytest.raises(InputError, match=r"seen: +loss\.tune\.restarts"):
        read_config(path, TrainConfig)
