"""What makes a training this one: the keys that are used, and the weights it starts from, wherever they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.config.identity import defaults_of_training, identity_of_training, varied_settings
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.report.run_directory import flat, identity_hash, plain


def base(folder: Path, weights: bytes) -> Path:
    folder.mkdir()
    (folder / "weights.safetensors").write_bytes(weights)
    return folder


def identity(*given: str) -> str:
    return identity_hash(identity_of_training(load(TrainConfig, "train", list(given))))


@pytest.mark.parametrize("given", [["loss=global"], ["loss.floats.data=nbest"], ["model=phrase"]], ids=" ".join)
def test_another_base_is_another_training(tmp_path: Path, given: list[str]) -> None:
    one, same, other = (base(tmp_path / name, name[:1].encode()) for name in ("a", "again", "b"))
    assert identity(*given, f"base={one}") == identity(*given, f"base={same}")
    assert identity(*given, f"base={one}") != identity(*given, f"base={other}")
    assert identity(*given, f"base={one}") != identity(*given)


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
