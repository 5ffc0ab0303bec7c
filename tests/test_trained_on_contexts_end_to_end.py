"""A classifier trained on for expected BLEU over lists of the system that it serves, from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.made_once import made_once
from tests.test_context_end_to_end import context_run  # noqa: F401
from tests.test_distortion_end_to_end import distortion_run  # noqa: F401
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, phrase_run, trained, translated  # noqa: F401
from xlate.cli.main import main
from xlate.errors import InputError
from xlate.models.context.opening import context_model
from xlate.models.context.runs import fold_classifier
from xlate.scoring.weights import load_weights
from xlate.train.checkpoint import Checkpoint
from xlate.work.directory import WorkDirectory

LISTS = ["loss.lists.folds=2", "loss.lists.nbest=10", "loss.lists.shard=150", "loss.lists.epochs=3"]
ON = ["model=context", "loss=xbleu", *LISTS, "loss.lists.tolerance=0", "loss.lists.gamma=3"]
WEIGHTS = "weights.safetensors"


@pytest.fixture(scope="module")
def base(work: Path, context_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A phrase run whose feature the classifier is."""
    use = ["context=feature", f"model.context.run={context_run}", "loss=mira"]
    return made_once(tmp_path_factory, "trained-on-base", lambda folder: trained(work, folder, *PHRASE, *use))


@pytest.fixture(scope="module")
def own(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A work directory that lists are written into."""
    folder = tmp_path_factory.mktemp("lists") / "work"
    shutil.copytree(work, folder)
    return folder


@pytest.fixture(scope="module")
def on(own: Path, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The classifier trained on."""
    folder = tmp_path_factory.mktemp("runs") / "on"
    trained(own, folder, *ON, f"base={base}")
    return folder


def test_a_classifier_is_trained_on_and_used(own: Path, on: Path, context_run: Path, tmp_path: Path) -> None:  # noqa: F811
    figures = json.loads((on / "summary.json").read_text())
    assert figures["list_heldout_loss"] <= figures["list_heldout_loss_before"]
    assert figures["changed_weights"] > 100
    assert figures["dev_bleu"] > 20
    # What it learned is in the file of a classifier like any other.
    before, after = (load_weights(run / WEIGHTS) for run in (context_run, on))
    changed = after.sets["context"].sparse_F != before.sets["context"].sparse_F
    assert 0 < changed.sum() <= figures["changed_weights"]
    assert after.sets["context"].dense_D.tolist() == before.sets["context"].dense_D.tolist()
    prepared = WorkDirectory(own)
    models = [context_model(run, prepared) for run in (context_run, on)]
    words = prepared.source_tokens("Nirka no holdo va bolko ast.")
    one, other = (model.predict(words) for model in models)
    assert np.add.reduceat(np.exp(other.log_C), other.offsets_I1[:-1]) == pytest.approx(1.0)
    assert not np.array_equal(one.log_C, other.log_C)
    with pytest.raises(InputError, match="every fold"):
        fold_classifier(on, prepared, (0, 2))
    # Float weights are tuned again with it; the run translates, and it is looked into.
    use = ["context=feature", f"model.context.run={on}", "loss=mira"]
    trained(own, tmp_path / "tuned", *PHRASE, *use)
    lines = translated(tmp_path / "tuned", tmp_path)
    assert len(lines) == 3
    assert main(["pack", f"run={tmp_path / 'tuned'}", f"out={tmp_path / 'tuned.tar'}"]) == 0
    assert translated(tmp_path / "tuned.tar", tmp_path) == lines
    assert main(["inspect", f"run={on}", "find=holdo"]) == 0


class Killed(BaseException):
    """Ends a process in the middle."""


def test_killed_after_an_epoch_it_ends_with_the_same_bytes(
    own: Path, base: Path, on: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, saved = Checkpoint.save, []

    def once(self: Checkpoint, state: dict[str, Any], *arrays: Any) -> None:
        save(self, state, *arrays)
        saved.append(len(state["figures"]))
        if len(saved) == 1:
            raise Killed

    monkeypatch.setattr(Checkpoint, "save", once)
    asked = ["train", f"work={own}", f"run={tmp_path / 'run'}", *ON, f"base={base}", "checkpoint_seconds=0"]
    with pytest.raises(Killed):
        main(asked)
    assert not (tmp_path / "run" / WEIGHTS).exists()
    assert main(asked) == 0
    assert saved == [2, 3, 4]
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == (on / WEIGHTS).read_bytes()


def test_what_cannot_be_trained_on_is_refused(
    own: Path,
    base: Path,
    on: Path,
    phrase_run: Path,  # noqa: F811
    context_run: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refused(*arguments: str) -> str:
        assert main(["train", f"work={own}", f"run={tmp_path / 'none'}", *ON, *arguments]) == 2
        assert not (tmp_path / "none").exists()
        return capsys.readouterr().err

    assert "base=RUN" in refused()
    assert "without predictions" in refused(f"base={phrase_run}")
    assert "model=phrase" in refused(f"base={context_run}")
    assert "as it is" in refused(f"base={base}", "model.window=2")
    assert "loss.lists.joint" in refused(f"base={base}", "loss.lists.joint=true")
    assert "loss.lists.heldout_every" in refused(f"base={base}", "loss.lists.heldout_every=1")
    sparse = ["model=phrase", "sparse=local", "model.sparse.words=[top20]", "context=feature"]
    assert "every fold" in refused(*sparse, f"model.context.run={on}")
