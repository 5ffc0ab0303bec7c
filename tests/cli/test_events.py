"""xlate events export and import."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.candidates.test_batch import example
from tests.candidates.test_datapoints import DATAPOINT
from tests.commands import Said
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.cli import commands

MORE = "-1 7 1.0 1.0 1.0 1.0 1.0 1.0 1.0 0\n0\n1 7 0.5 0.25 1.5 0.0 0.75 1.25 -1.0 2 3 9\n0\n"
TEXT = DATAPOINT.removesuffix("0\n") + MORE


def test_text_becomes_a_store_and_the_same_text_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Said
) -> None:
    """Written piece by piece, two instances at a time."""
    (tmp_path / "text").write_text(TEXT)
    figures = json.loads(printed("events", "import", str(tmp_path / "text"), f"out={tmp_path / 'store'}"))
    assert (figures["datapoints"], figures["candidates"], figures["sparse"]) == (3, 5, 10)
    store = CandidateStore.open(tmp_path / "store")
    assert store.dense_names == [f"dense{number}" for number in range(1, 8)]
    assert store.arrays.part_ids_N.tolist() == [6, 4, 3, 9]
    monkeypatch.setattr(commands, "INSTANCES_AT_A_TIME", 2)
    assert (
        json.loads(printed("events", "export", str(tmp_path / "store"), f"out={tmp_path / 'again'}"))["candidates"] == 5
    )

    def numbers(path: Path) -> list[list[float]]:
        return [[float(field) for field in line.split()] for line in path.read_text().splitlines()]

    assert numbers(tmp_path / "again") == numbers(tmp_path / "text")


def test_what_cannot_be_done_is_said(tmp_path: Path, refused: Said) -> None:
    graded = replace(example(), part_values_N=None, base_C=None, gain_CG=np.full((3, 1), 0.5, np.float32))
    with StoreWriter(tmp_path / "store", ["a", "b"][: graded.dense_CD.shape[1]], 100) as writer:
        writer.append(graded)
    assert "datapoint text cannot hold" in refused(
        "events", "export", str(tmp_path / "store"), f"out={tmp_path / 'text'}"
    )
    assert not (tmp_path / "text").exists()
    assert "expected: export, import" in refused("events", "check", str(tmp_path / "store"), f"out={tmp_path / 'text'}")
