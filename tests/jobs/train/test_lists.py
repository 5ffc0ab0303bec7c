"""Learning from lists: floats learned beside sparse weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xlate.candidates.batch import CandidateBatch
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.features.index import NamedFeatures
from xlate.jobs.train.lists import learn, read_learned, sample, sampled
from xlate.learning.ranks import ONE
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights


@dataclass(frozen=True)
class NumberedUnits(NamedFeatures):
    """A unit is the number of its only feature."""

    def of_units(self, unit_PU: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(len(unit_PU) + 1), unit_PU[:, 0]


def lists(scale: float) -> CandidateBatch:
    """Six lists of four candidates with one unit each; the second of two floats is multiplied by `scale`."""
    rng = np.random.default_rng(1)
    dense, units = rng.normal(size=(24, 2)), rng.integers(0, 3, size=(24, 1)).astype(np.int32)
    matches, tens = np.clip(np.round(5 + dense @ [[2.0], [-1.0]] + units), 1, 10), np.full((24, 1), 10)
    return CandidateBatch(
        candidate_offsets_I1=4 * np.arange(7),
        dense_CD=(dense * [1.0, scale]).astype(np.float32),
        gain_CG=np.concatenate([tens, tens, *[matches] * 4, *[tens] * 4], axis=1).astype(np.float32),
        part_id_offsets_P1=np.zeros(25, np.int64),
        part_ids_N=np.zeros(0, np.int32),
        part_offsets_I1=4 * np.arange(7),
        candidate_part_offsets_C1=np.arange(25),
        candidate_parts_K=np.tile(np.arange(4, dtype=np.int32), 6),
        unit_PU=units,
        between_offsets_P1=np.zeros(25, np.int64),
        between_T=np.zeros(0, np.int32),
    )


def learned(
    shards: Iterable[CandidateBatch], file: Path, *given: str, scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The floats and sparse weights that a file holds afterwards, learned from weights for floats of a scale."""
    config = load(TrainConfig, "train", ["model=phrase", "loss=xbleu", "loss.lists.heldout_every=3", *given])
    theta = Weights(np.array([0.5, 0.25 / scale]), np.zeros(3), ("f", "g"))
    features: Any = NumberedUnits(("a", "b", "c"))
    run: Any = SimpleNamespace(stops=lambda: False, reporter=Reporter(), ranks=ONE)
    learn(config, features, shards, theta, file, run)
    made, phi_F, _ = read_learned(file, theta, features)
    return made.dense_D, phi_F


def test_floats_learned_jointly_have_the_scale_of_the_lists(tmp_path: Path) -> None:
    """A float that is 16 times as large gets a weight 16 times as small, and all else stays as it is."""
    given, file = ["loss.lists.joint=true", "loss.lists.rate=0.1"], tmp_path / "learned.safetensors"
    dense_D, sparse_F = learned([lists(1.0)], file, *given)
    other_D, other_F = learned([lists(16.0)], file, *given, scale=16.0)
    np.testing.assert_array_equal(dense_D, other_D * [1.0, 16.0])
    np.testing.assert_array_equal(sparse_F, other_F)
    assert (dense_D != [0.5, 0.25]).all()


@pytest.mark.parametrize("wanted", [None, 1, 5, 11])
def test_a_sample_is_the_same_from_any_shards(wanted: int | None) -> None:
    whole = CandidateBatch.joined([lists(1.0), lists(2.0)])
    config = load(TrainConfig, "train", ["model=phrase", "loss=xbleu"])
    settings = replace(config.loss.lists, sentences=wanted)
    expected = whole.select(sample(len(whole), wanted, 3))
    for size in (1, 5, 12):
        cuts = (whole.select(np.arange(first, min(first + size, 12))) for first in range(0, 12, size))
        found = CandidateBatch.joined(list(sampled(cuts, len(whole), settings, 3)))
        for name, array in vars(expected).items():
            np.testing.assert_array_equal(getattr(found, name), array)


def test_lists_in_several_shards_give_the_same_weights(tmp_path: Path) -> None:
    found = []
    for size in (6, 2):
        shards = (lists(1.0).select(np.arange(first, first + size)) for first in range(0, 6, size))
        found.append(learned(shards, tmp_path / f"{size}.safetensors")[1])
        # The stored lists are gone.
        assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors"}
    np.testing.assert_array_equal(found[0], found[1])
    assert found[0].any()
