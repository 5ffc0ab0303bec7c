"""BLEU of the dev set while a model is trained on events."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.commands import sets_of, succeed, summary_of
from tests.models.test_every_system import SYSTEMS
from tests.test_end_to_end import QUICK, run, work  # noqa: F401
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.jobs.sparse_features import full_explanation
from xlate.jobs.train import recipe
from xlate.jobs.train.recipe import DevBleu
from xlate.jobs.translate import TokenizedText, Translator
from xlate.learning.loop import TrainState
from xlate.models.block.lists import block_stores
from xlate.work.directory import WorkDirectory


def test_it_is_the_bleu_that_the_finished_run_has(run: Path, work: Path) -> None:  # noqa: F811
    config, sets = config_of_run(run), sets_of(run)
    going: Any = SimpleNamespace(stop=False)
    at = WorkDirectory(work)
    bleu = DevBleu(config, at, block_stores(at, config.model).features.keys_F, [], going)
    turned = sets["linked"].copy()
    turned.dense_D[:] *= -1
    found, worse = bleu.measured(sets), bleu.measured({**sets, "linked": turned})
    assert found == pytest.approx(summary_of(run)["dev_bleu"], abs=1e-3)
    assert found is not None
    assert worse is not None
    assert worse < found
    going.stop = True
    assert bleu.measured(sets) is None


def test_training_is_the_same_without_and_says_it_with(run: Path, work: Path, tmp_path: Path) -> None:  # noqa: F811
    succeed("train", f"work={work}", f"run={tmp_path / 'off'}", *QUICK, "dev_every=0")
    weights = [(folder / "weights.safetensors").read_bytes() for folder in (run, tmp_path / "off")]
    assert weights[0] == weights[1]
    said = [(folder / "metrics.jsonl").read_text() for folder in (run, tmp_path / "off")]
    assert ["local/BLEU" in text for text in said] == [True, False]


def test_when_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, reported = SimpleNamespace(now=0.0), []
    taker = SimpleNamespace(scalar=lambda tag, value, step: reported.append((tag, value, step)))
    monkeypatch.setattr(recipe.time, "monotonic", lambda: clock.now)
    training: Any = SimpleNamespace(reporter=taker, stop=False)
    phases: Any = [SimpleNamespace(name=name, weights=name) for name in ("linked", "neutral")]
    config: Any = load(TrainConfig, "train", ["work=w"])
    bleu = DevBleu(config, WorkDirectory(Path("w")), np.zeros(0, np.uint64), phases, training)

    def measured(weights: object) -> float:
        clock.now += 10.0
        return 30.0

    monkeypatch.setattr(bleu, "measured", measured)

    def after(seconds: float, phase: int, epoch: int) -> None:
        clock.now += seconds
        bleu({}, TrainState(phase=phase, epoch=epoch, seen=epoch))

    # Nothing before all sets are begun; then once, and again when ten seconds of training are behind that.
    for epoch, (seconds, phase) in enumerate([(1.0, 0), (1.0, 1), (1.0, 1), (6.0, 1), (3.0, 1)], start=1):
        after(seconds, phase, epoch)
    assert reported == [("local/BLEU", 30.0, 2), ("local/BLEU", 30.0, 5)]
    config.dev_every = 2
    after(1000.0, 1, 7)
    after(0.0, 1, 8)
    training.stop = True
    after(1000.0, 1, 10)
    assert [step for *_, step in reported] == [2, 5, 8]


def test_derivations_are_shown_with_the_features_that_decided() -> None:
    system, lines, texts = SYSTEMS["phrase sparse"]().with_search(nbest=1), ["b d a"], dict[str, str]()
    translations = list(Translator(TokenizedText(), system).translate(lines))
    config: Any = SimpleNamespace(samples=2)
    reporter: Any = SimpleNamespace(text=lambda tag, text, _: texts.update({tag: text}), image=lambda *_: None)
    recipe._show(config, translations, [t.text for t in translations], lines, [], reporter, 1)
    shown = texts["samples/derivation/1"]
    assert all(f"    {line}" in shown for line in full_explanation(translations[0]).splitlines())
