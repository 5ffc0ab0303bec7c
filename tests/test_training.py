"""Preparing and training from Python, with the keys of the commands and a function that hears the figures."""

from __future__ import annotations

from pathlib import Path

import pytest

import xlate
from tests.commands import Said, succeed
from tests.test_rerank_end_to_end import RERANK, write_lists
from xlate.report.run_directory import RunDirectory
from xlate.training import overrides_of


def test_values_of_python_are_read_as_they_are() -> None:
    keys = {"seed": 2, "references": ["a b.en", "x'y,z"], "model.rerank.metric": "bleu:1,chrf:1", "device": None}
    assert overrides_of(("model=rerank",), keys) == [
        "model=rerank", "seed=2", "references=['a b.en','x\\'y,z']", "model.rerank.metric='bleu:1,chrf:1'",
        "device=null",
    ]  # fmt: skip
    with pytest.raises(xlate.InputError, match="another type"):
        overrides_of((), {"seed": object()})


def test_a_reporter_hears_every_scalar(tmp_path: Path) -> None:
    given = write_lists(tmp_path, "train", range(20))
    heard: list[tuple[str, float, int]] = []
    run = xlate.train(*RERANK, *given, reporter=lambda *figure: heard.append(figure), run=tmp_path / "run")
    kept = [(one["tag"], one["value"], one["step"]) for one in RunDirectory.open(run).records.read()]
    assert [figure for figure in heard if not figure[0].startswith("final/")] == kept
    losses = [value for tag, value, _ in heard if tag == "rerank/train_loss"]
    assert losses[-1] < losses[0]
    assert next(tag for tag, *_ in heard if tag.startswith("final/")) == "final/heldout_ranked_BLEU"


def test_a_reporter_is_named_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    given = write_lists(tmp_path, "train", range(20))
    (tmp_path / "my_reporter.py").write_text("heard = []\ndef report(*figure):\n    heard.append(figure)\n")
    succeed("train", "run=run", *RERANK, *given, "reporter=my_reporter.report")
    import my_reporter  # type: ignore[import-not-found]

    assert ("rerank/heldout_loss", 0) in [(tag, step) for tag, _, step in my_reporter.heard]
    # It is no part of the run.
    succeed("train", "run=run", *RERANK, *given)
    assert "MODULE.FUNCTION" in refused("train", "run=other", *RERANK, *given, "reporter=my_reporter.nothing")
