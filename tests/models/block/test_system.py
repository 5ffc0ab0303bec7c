"""The trace of a derivation as text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.models.small_models import SOURCE, block_set, model_and_arpa, random_words
from xlate.models.block.decoder import BlockDecoder, BlockModel, BlockSearch


def test_every_block_is_one_line_and_its_parts_add_up():
    families: set[str] = set()
    for seed in range(16):
        model, _ = model_and_arpa(seed)
        words = random_words(np.random.default_rng(seed), 6)
        partition = ["off", "local"][seed % 2]
        decoder = BlockDecoder(model, BlockSearch(partition=partition))
        [derivation] = decoder.translate(words)
        *lines, last = decoder.explain(words, derivation).split("\n")
        assert len(lines) == len(derivation.steps)
        for line, step in zip(lines, derivation.steps, strict=True):
            score, reasons = re.search(r"  (-?[0-9.]+) = (.*)$", line).groups()
            values = [float(reason.rsplit("=", 1)[1]) for reason in reasons.split(", ")]
            assert sum(values) == pytest.approx(float(score), abs=2e-2)
            assert [abs(v) for v in values] == sorted((abs(v) for v in values), reverse=True)
            assert ("partition" in line) == (step.normalizer != 0)
            assert all(f"{name}={weight:.4g}" in line for name, weight in step.sparse)
            families |= {name[:2] for name, _ in step.sparse}
        assert last == f"sum {derivation.score:.4f}  {' '.join(derivation.words)}"
    assert families == {"BB", "TP", "WB"}


def test_a_line_in_full():
    base, _ = model_and_arpa(1)
    blocks = block_set({("a b", "v w"): (3, 0, 0, 0.5), ("c", "u"): (1, 0, 0, 1.0)})
    weights = np.array([0.0, 0.0, 0.0, 0.0, -2.0])
    key = np.array([0 << 32 | 1], dtype=np.uint64)
    model = BlockModel(blocks, base.lm, SOURCE, weights, weights, feature_keys=key, feature_weights=np.array([0.75]))
    decoder = BlockDecoder(model, BlockSearch())
    [derivation] = decoder.translate(["a", "b", "c", "zz"])
    assert decoder.explain(["A", "b", "c", "Zz"], derivation).split("\n") == [
        "[0,2) N  A b -> v w  (N=3)  -1.0000 = lexical -2×0.5=-1",
        "[2,3) R  c -> u  (N=1)  -1.2500 = lexical -2×1=-2, BB:a b|v w>c|u=0.75",
        "[3,4) R  Zz -> zz  (copied)  -40.0000 = lexical -2×20=-40",
        "end of sentence  0.0000",
        "sum -42.2500  v w u zz",
    ]


def test_contributions_leave_out_zeros():
    model, _ = model_and_arpa(2)
    decoder = BlockDecoder(model, BlockSearch(mode="mon"))
    *_, end, _ = decoder.explain(["zz"], *decoder.translate(["zz"])).split("\n")
    assert re.findall(r"(\w+) -?[0-9.]+×", end) == ["lm_first"]
