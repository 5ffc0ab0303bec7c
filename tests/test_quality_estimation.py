"""The example of quality estimation, with a stand-in for the model."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Said
from tests.test_rerank_end_to_end import write_lists

SCRIPT = Path(__file__).resolve().parents[1] / "examples" / "quality_estimation" / "quality_estimation.py"


def test_a_column_has_a_number_per_hypothesis(tmp_path: Path, printed: Said) -> None:
    example: dict[str, Any] = runpy.run_path(str(SCRIPT))
    write_lists(tmp_path, "dev", range(3))
    nbest, texts, column = tmp_path / "dev.nbest", tmp_path / "dev.texts", tmp_path / "dev.qe"
    example["main"](["texts", str(nbest), str(texts), f"--source={tmp_path / 'dev.src'}"])
    rows = [json.loads(line) for line in texts.read_text().splitlines()]
    assert rows[0] == {"src": "katze schläft", "mt": "the cat sleeps here indeed"}
    # Equal texts are scored once.
    texts.write_text(texts.read_text().replace("the dog sleeps here indeed", "the dog sleeps here"))
    seen: list[dict[str, str]] = []

    def model(given: list[dict[str, str]]) -> list[float]:
        seen.extend(given)
        return [1 / len(text["mt"]) for text in given]

    assert example["write_column"](texts, column, model) == 12
    assert len(seen) == 11
    told = [float(line) for line in column.read_text().splitlines()]
    assert told[1] == told[3] == pytest.approx(1 / len("the dog sleeps here"))
    assert json.loads(printed("nbest", "check", str(nbest), f"add_scores=[qe={column}]"))["features"] == 2
    example["write_texts"](nbest, texts, str(tmp_path / "dev.src"), str(tmp_path / "dev.ref"))
    assert json.loads(texts.read_text().splitlines()[4])["ref"] == "the dog runs here"
