"""What makes a training this one: the keys that are used, and the weights it starts from, wherever they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.config.identity import identity_of_training
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.report.identity import identity_hash


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
