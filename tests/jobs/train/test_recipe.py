"""BLEU of the dev set while a model is trained on events."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.commands import succeed, summary_of
from tests.models.test_every_system import SYSTEMS
from tests.test_end_to_end import QUICK, run, work  # noqa: F401
from xlate.config.stored import config_of_run
from xlate.jobs.sparse_features import full_explanation
from xlate.jobs.train import recipe
from xlate.jobs.train.events import phases
from xlate.jobs.train.recipe import DevBleu
from xlate.jobs.translate import TokenizedText, Translator
from xlate.learning.loop import TrainState
from xlate.learning.run import Run
from xlate.models.block.lists import block_stores
from xlate.scoring.weights import load_weights
from xlate.work.directory import WorkDirectory


def of_run(folder: Path, run: Any) -> DevBleu:  # noqa: F811
    """What would have measured a run."""
    config = config_of_run(folder)
    at = WorkDirectory(Path(config.work))
    stores = block_stores(at, config.model)
    return DevBleu(config, at, stores.features.keys_F, [p.settings for p in phases(config, stores)], cast(Run, run))


def test_it_is_the_bleu_that_the_finished_run_has(run: Path) -> None:  # noqa: F811
    file = load_weights(run / "weights.safetensors")
    going, stopped = (SimpleNamespace(stop=stop) for stop in (False, True))
    bleu = of_run(run, going).measured(file.sets)
    assert bleu is not None
    assert bleu == pytest.approx(summary_of(run)["dev_bleu"], abs=1e-3)
    other = {name: weights.copy() for name, weights in file.sets.items()}
    other["linked"].dense_D[:] *= -1
    worse = of_run(run, going).measured(other)
    assert worse is not None
    assert worse < bleu
    assert of_run(run, stopped).measured(file.sets) is None


def test_training_is_the_same_without_and_says_it_with(run: Path, work: Path, tmp_path: Path) -> None:  # noqa: F811
    succeed("train", f"work={work}", f"run={tmp_path / 'off'}", *QUICK, "dev_every=0")
    weights = [(folder / "weights.safetensors").read_bytes() for folder in (run, tmp_path / "off")]
    assert weights[0] == weights[1]
    said = [(folder / "metrics.jsonl").read_text() for folder in (run, tmp_path / "off")]
    assert ["local/BLEU" in text for text in said] == [True, False]


def test_when_it_is_measured(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    clock, reported = SimpleNamespace(now=0.0), []
    taker = SimpleNamespace(scalar=lambda tag, value, step: reported.append((tag, value, step)))
    monkeypatch.setattr(recipe.time, "monotonic", lambda: clock.now)
    bleu = of_run(run, SimpleNamespace(reporter=taker, stop=False))

    def measured(weights: object) -> float:
        clock.now += 10.0
        return 30.0

    monkeypatch.setattr(bleu, "measured", measured)
    neutral = next(number for number, phase in enumerate(bleu.phases) if phase.weights == "neutral")
    # Nothing before all sets are begun; then once, and again when ten seconds of training are behind that.
    for seen, (phase, seconds) in enumerate([(0, 1.0), (neutral, 1.0), (neutral, 1.0), (neutral, 6.0), (neutral, 3.0)]):
        clock.now += seconds
        bleu({}, TrainState(phase=phase, epoch=seen + 1, seen=seen))
    assert reported == [("local/BLEU", 30.0, 1), ("local/BLEU", 30.0, 4)]
    bleu.config.dev_every = 2
    clock.now += 1000.0
    bleu({}, TrainState(phase=neutral, epoch=3, seen=8))
    bleu({}, TrainState(phase=neutral, epoch=4, seen=9))
    assert [step for _, _, step in reported] == [1, 4, 9]
    cast(Any, bleu.run).stop = True
    clock.now += 1000.0
    bleu({}, TrainState(phase=neutral, epoch=6, seen=10))
    assert len(reported) == 3


def test_derivations_are_shown_with_the_features_that_decided() -> None:
    system, lines, texts = SYSTEMS["phrase sparse"]().with_search(nbest=1), ["b d a"], dict[str, str]()
    translations = list(Translator(TokenizedText(), system).translate(lines))
    reporter = SimpleNamespace(text=lambda tag, text, _: texts.update({tag: text}), image=lambda *_: None)
    recipe._show(
        cast(Any, SimpleNamespace(samples=2)),
        translations,
        [t.text for t in translations],
        lines,
        [],
        cast(Any, reporter),
        1,
    )
    shown = texts["samples/derivation/1"]
    assert all(f"    {line}" in shown for line in full_explanation(translations[0]).splitlines())
