"""Lists without references: what a column of theirs says is learned, measured and shown, and BLEU is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Said, succeed
from tests.test_rerank_end_to_end import RERANK, shown_text, summary_of, write_lists
from xlate.report.run_directory import Records


@pytest.mark.parametrize(
    "keys", [RERANK, ["model=rerank", "loss=mira", "loss.tune.heldout_every=4"]], ids=["xbleu", "mira"]
)
def test_a_column_is_learned_without_references(
    tmp_path: Path, keys: list[str], caplog: pytest.LogCaptureFixture, printed: Said
) -> None:
    caplog.set_level("INFO")
    nbest, _, source = write_lists(tmp_path, "train", range(40))
    # The judge likes the third hypothesis, the totals like the first.
    (tmp_path / "qe").write_text("\n".join(["0.1", "0.2", "0.9", "0.3"] * 40) + "\n")
    column = [f"add_scores=qe={tmp_path / 'qe'}", "model.rerank.gain_column=qe", "model.rerank.metric=column"]
    succeed("train", f"run={tmp_path / 'run'}", *keys, nbest, source, *column, "samples=1")
    summary = summary_of(tmp_path / "run")
    assert not [name for name in summary if "BLEU" in name]
    assert [summary[f"heldout_{name}_column"] for name in ("first", "ranked", "oracle")] == [10, 90, 90]
    assert summary["heldout_rows"]["reranked"]["column_against_first"]["difference"] == 80
    assert not [
        record["tag"] for record in Records(tmp_path / "run" / "metrics.jsonl").read() if "BLEU" in record["tag"]
    ]
    assert "BLEU" not in caplog.text
    assert "nan" not in caplog.text
    assert shown_text(tmp_path / "run", "samples/heldout")[0] == "| source | first | reranked | oracle |"
    # The lists to rank need neither references nor the column.
    rescored = [nbest.removeprefix("nbest="), f"run={tmp_path / 'run'}", source.removeprefix("nbest_")]
    assert "rows" not in json.loads(
        printed("nbest", "rescore", *rescored, f"out={tmp_path / 'out'}", f"best_out={tmp_path / 'best'}")
    )
    assert (tmp_path / "best").read_text() == (tmp_path / "train.ref").read_text()


def test_other_gains_need_references(tmp_path: Path, refused: Said) -> None:
    nbest, *_ = write_lists(tmp_path, "train", range(4))
    mixed = ["model.rerank.gain_column=LM", "model.rerank.metric='bleu:1,column:1'"]
    assert "lists that have a column to learn for" in refused(
        "train", f"run={tmp_path / 'run'}", *RERANK, nbest, *mixed
    )
