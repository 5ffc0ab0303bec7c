"""Which stages `xlate prepare` makes again, and what it aligns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.jobs.test_mixture import prepared
from xlate.align.aligner import align


def made_from(work: Path) -> dict[str, Any]:
    return dict(json.loads((work / "align" / "stage.json").read_text())["made_from"])


def test_a_sample_counts_only_for_larger_texts(tmp_path: Path) -> None:
    work = prepared(tmp_path, 1, "align=eflomal", "stages=[]")
    text, size = [work.training_tokens(side) for side in ("source", "target")], len(work.copies)
    every, links = made_from(tmp_path), (tmp_path / "align" / "links.gz").read_bytes()
    assert "sample" not in every
    for sample in ("null", size):
        prepared(tmp_path, 1, "align=eflomal", "stages=[]", f"align.sample={sample}")
        assert made_from(tmp_path) == every
    work = prepared(tmp_path, 1, "align=eflomal", "stages=[]", "align.sample=40")
    assert made_from(tmp_path) == {**every, "sample": 40}
    assert (tmp_path / "align" / "links.gz").read_bytes() != links
    sampled = align(*text, seed=1, sample=40)
    assert [work.links.pairs(s) for s in range(size)] == [sampled.pairs(s) for s in range(size)]
