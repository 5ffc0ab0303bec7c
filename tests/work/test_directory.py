"""What a work directory gives is made from its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.arrays.scratch import Scratch
from xlate.lm.kneser_ney import estimate
from xlate.text.folders import write_json
from xlate.text.lines import write_lines
from xlate.text.vocabulary import EncodedText, Vocabulary
from xlate.work import directory
from xlate.work.directory import PLAN, WorkDirectory

VOCABULARY = Vocabulary("abcd")
REST = {"phrases": {"max_length": 3, "min_count": 1, "on": []}, "blocks": {"settings": {}, "on": []}, "memory_mb": 1}


@pytest.mark.parametrize("memory_mb", [None, 0])
def test_the_language_model_counts_further_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory_mb: int | None
) -> None:
    monkeypatch.setattr(directory, "LINES", 2)
    (tmp_path / "corpus").mkdir()
    write_lines(tmp_path / "corpus" / "lm.target.gz", ["b a", "", "c b x"])
    target = [["a", "b"], []]
    whole = EncodedText.encode([*target, ["b", "a"], [], ["c", "b", "x"]], VOCABULARY)
    with Scratch(memory_mb, tmp_path) as scratch:
        text = EncodedText.encode(target, VOCABULARY)
        work = WorkDirectory(tmp_path)
        write_json(work.path / PLAN, {"lm": {"settings": {}, "on": []}, **REST})
        arpa = work.estimated_lm(text, 3, VOCABULARY, scratch)
        for one, other in zip(arpa.tables, estimate(whole, VOCABULARY, 3).tables, strict=True):
            np.testing.assert_array_equal(one.words_Kn, other.words_Kn)
            np.testing.assert_array_equal(one.log10_K, other.log10_K)
