"""The values that completion knows of keys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from xlate.cli.completion import with_paths, with_words, words_of_key
from xlate.config.schema import PrepareConfig, ReportConfig, ScoreConfig, TrainConfig


@pytest.mark.parametrize(
    ("schema", "key", "words"),
    [
        (TrainConfig, "device", ["cpu", "cuda", "auto"]),
        (TrainConfig, "loss.tune.metric", ["bleu", "chrf", "ter"]),
        (ScoreConfig, "measures", ["bleu", "chrf", "ter", "nist", "lexacc"]),
        (ReportConfig, "split", ["dev", "test"]),
        (TrainConfig, "loss.floats.data", ["train", "dev", "nbest"]),
        (ReportConfig, "plots", ["false", "true"]),
        (TrainConfig, "seed", []),
        (PrepareConfig, "data.train_source", []),
    ],
)
def test_the_words_of_keys(schema: type, key: str, words: list[str]) -> None:
    assert words_of_key(schema, key) == words


def test_the_names_of_devices_are_known_without_pytorch() -> None:
    script = "import sys, xlate.scoring.device; print('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


def test_the_last_of_several_words_is_made_whole() -> None:
    assert with_words("measures=[bleu,c", ["bleu", "chrf"]) == ["measures=[bleu,chrf"]
    assert with_words("loss=", ["mira", "pro"]) == ["loss=mira", "loss=pro"]


def test_paths_may_hold_what_stands_between_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "eta=0.01,seed=1").mkdir(parents=True)
    (tmp_path / "seed.txt").touch()
    assert with_paths("run=runs/eta=0.01,se") == ["run=runs/eta=0.01,seed=1/"]
    assert with_paths("ref=[runs/eta=0.01,seed=1,se") == ["ref=[runs/eta=0.01,seed=1,seed.txt"]
    assert with_paths("merge=[ours=se") == ["merge=[ours=seed.txt"]
    assert with_paths("run=ours=se") == []
