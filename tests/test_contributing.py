"""CONTRIBUTING.md, "How to add …": each thing is added here from outside, as the page says, and trained with."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.commands import Said, succeed, summary_of, translations
from tests.losses import test_every_loss as suite
from xlate.demo.corpus import DemoCorpus
from xlate.features.block import FAMILIES, MORE_FLOATS, BlockFloat, BlockNames, Family
from xlate.losses.loss import loss_of, losses
from xlate.phrases.blocks import BlockSet
from xlate.text.lines import read_lines, write_lines
from xlate.work.directory import WorkDirectory

QUICK = ["loss.floats.epochs=2", "loss.binary.epochs=2", "model.threshold=1"]
SIZES = {"train": 300, "dev": 20, "test": 10}
CORPUS = """\
# A corpus of our own.
defaults: [files]
name: village
pair: de-en
root: FOLDER
train_source: ["{root}/train.{source}"]
train_target: ["{root}/train.{target}"]
dev_source: "{root}/dev.{source}"
dev_references: ["{root}/dev.{target}"]
test_source: "{root}/test.{source}"
test_references: ["{root}/test.{target}"]
"""
LOSS = '''\
"""The squared hinge: half the square of what each other candidate lacks to the margin, summed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from xlate.kernels.learning.slopes import Slope, best_gain
from xlate.losses.loss import Loss
from xlate.losses.lists import FlatLists


@Slope
def squared_hinge_slope(
    score_X: NDArray[np.float64],
    gain_X: NDArray[np.float32],
    slope_X: NDArray[np.float64],
    size: int,
    numbers: NDArray[np.float64],
    _state: NDArray[np.uint64],
) -> float:
    """The best candidate goes up by what all others come too near, each of them down by its part."""
    slope_X[:size] = 0.0
    best, total = best_gain(gain_X, size), 0.0
    for x in range(size):
        short = numbers[0] * (gain_X[best] - gain_X[x]) - (score_X[best] - score_X[x])
        if x != best and short > 0.0:
            slope_X[x] = -short
            slope_X[best] += short
            total += 0.5 * short * short
    return total


class SquaredHinge(Loss):
    """The loss as an autograd module."""

    name = "squared_hinge"
    slope = squared_hinge_slope

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        self.margin = margin

    def numbers(self) -> tuple[float, ...]:
        """What a unit of gain is worth."""
        return (self.margin,)

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The summed loss; scalar."""
        lists = FlatLists(candidate_offsets_I1)
        best_I = lists.argmax(gain_C)
        lead_C = lists.spread(lists.picked(scores_C, best_I)) - scores_C
        cost_C = self.margin * (lists.spread(lists.picked(gain_C, best_I)) - gain_C)
        return 0.5 * (cost_C - lead_C).clamp(min=0.0).square().sum()
'''


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new corpus: text files, one configuration file for them, and `xlate prepare` with it."""
    folder = tmp_path_factory.mktemp("village")
    for split, size in SIZES.items():
        for language, lines in zip(("de", "en"), zip(*DemoCorpus(7).pairs(size, split), strict=True), strict=True):
            write_lines(folder / f"{split}.{language}", lines)
    write_lines(folder / "conf" / "data" / "village.yaml", CORPUS.replace("FOLDER", str(folder)).splitlines())
    given = ["data=village", "align=fast_align"]
    succeed("prepare", f"--config-dir={folder / 'conf'}", *given, f"work={folder / 'work'}")
    return folder / "work"


def trained(work: Path, run: Path, *overrides: str) -> dict:
    succeed("train", f"work={work}", f"run={run}", *QUICK, *overrides)
    return summary_of(run)


def check_decoders_translate_alike(work: Path, folder: Path) -> None:
    """The compiled one and the readable one, with the run in a folder."""
    lines = read_lines(work.parent / "test.de")
    found = translations(folder / "run", folder, lines)
    assert found == translations(folder / "run", folder, lines, "fast=false")


@pytest.fixture
def squared_hinge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A loss in a file of its own, known from when it is imported until nothing holds its class any more."""
    (tmp_path / "our_squared_hinge.py").write_text(LOSS)
    monkeypatch.syspath_prepend(tmp_path)
    assert "squared_hinge" not in losses()
    importlib.import_module("our_squared_hinge")
    with monkeypatch.context() as patch:
        patch.setitem(suite.KINDS, "squared_hinge", losses()["squared_hinge"])
        yield "squared_hinge"
    del sys.modules["our_squared_hinge"]
    gc.collect()
    assert "squared_hinge" not in losses()


def test_a_new_loss_passes_the_suite_and_trains_by_its_name(work: Path, tmp_path: Path, squared_hinge: str) -> None:
    """By hand: gains 1, 0, 0 and scores 0.5, 0, 2 lack 0.5 and 2.5 to a margin of 1."""
    value = loss_of(squared_hinge)(torch.tensor([0.5, 0.0, 2.0]), torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0, 3]))
    assert float(value) == pytest.approx((0.5**2 + 2.5**2) / 2)
    for seed in range(3):
        suite.test_the_gradient_is_that_of_finite_differences(squared_hinge, seed)
        suite.test_the_compiled_slope_is_the_gradient(squared_hinge, seed)
    suite.test_nothing_costs_nothing(squared_hinge)
    suite.test_huge_scores_stay_finite(squared_hinge)
    suite.test_the_order_of_candidates_does_not_matter(squared_hinge)
    for name, overrides in (("online", []), ("batches", ["loss.batch=32"])):
        figures = trained(work, tmp_path / name, f"loss.name={squared_hinge}", *overrides)
        for phase in ("floats", "neutral", "binary"):
            first, *_, last = (entry["loss"] for entry in figures["history"] if entry["phase"] == phase)
            assert last < first, f"{name}: the loss of {phase} falls from epoch to epoch"
        assert figures["active_features"] > 0
        assert figures["P"] < 0.3


def first_source(blocks: BlockSet) -> np.ndarray:
    """The first source word of each block, (B,)."""
    phrases = blocks.table.source_phrases
    return np.asarray(phrases.ids_T)[phrases.offsets_S1[np.asarray(blocks.table.source_B)]].astype(np.int32)


def nothing(blocks: BlockSet) -> np.ndarray:
    """The same of every block, (B,)."""
    return np.zeros(len(blocks), np.int32)


def local_name(words: BlockNames, _: int, word: int) -> str:
    return words.source.word(word)


def history_name(words: BlockNames, before: int, word: int) -> str:
    return f"{words.source.word(before)}>{words.source.word(word)}"


FIRST_WORD = Family(nothing, first_source, local_name)
FIRST_WORDS = Family(first_source, first_source, history_name)


def expected_names(work: Path, history: bool, threshold: int) -> set[str]:
    """The features by counting: first source words of blocks that follow each other in the training text."""
    held = WorkDirectory(work)
    first_B = first_source(held.blocks).tolist()
    counts: dict[str, int] = {}
    pairs = zip(held.blocks.bigram_keys_U.tolist(), held.blocks.bigram_count_U.tolist(), strict=True)
    for key, count in pairs:
        before, word = (held.source_vocabulary.word(first_B[block]) for block in (key >> 32, key & 0xFFFFFFFF))
        name = f"NEW:{before}>{word}" if history else f"NEW:{word}"
        counts[name] = counts.get(name, 0) + int(count)
    return {name for name, count in counts.items() if count > threshold}


@pytest.mark.parametrize("history", [False, True], ids=["local", "with history"])
def test_a_new_family_of_features_is_learned_and_used(
    work: Path, tmp_path: Path, history: bool, monkeypatch: pytest.MonkeyPatch, printed: Said, refused: Said
) -> None:
    """Its features are those of the training text, some get weights, and both decoders translate alike with them.

    Where it is not known, the run is refused.
    """
    monkeypatch.setitem(FAMILIES, "NEW", FIRST_WORDS if history else FIRST_WORD)
    figures = trained(work, tmp_path / "run", "model.binary=[NEW]", "model.threshold=2")
    expected = expected_names(work, history, 2)
    assert figures["dev_bleu"] > 15
    assert figures["features"] == len(expected) > 10
    assert figures["active_features"] > 5
    words = printed("inspect", f"run={tmp_path / 'run'}", "top=5").split()
    shown = {word for word in words if word.startswith("NEW:")} - {"NEW:"}
    assert shown
    assert shown <= expected
    check_decoders_translate_alike(work, tmp_path)
    monkeypatch.delitem(FAMILIES, "NEW")
    asked = ["translate", f"run={tmp_path / 'run'}", f"input={work.parent / 'test.de'}"]
    assert "import the module that adds the family" in refused(*asked)


def test_a_new_optional_float_is_learned_and_used(work: Path, tmp_path: Path, refused: Said) -> None:
    """The length of the target phrase gets a weight, and both decoders translate alike with it."""
    rows = BlockFloat(lambda blocks: np.diff(blocks.table.target_phrases.offsets_S1)[blocks.table.target_B], copied=1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MORE_FLOATS, "NEW", rows)
        figures = trained(
            work, tmp_path / "run", "model=floats", "model.floats=[lexical,NEW]", "loss.project_sign=false"
        )
        assert figures["weights"]["linked"]["NEW"] != 0
        check_decoders_translate_alike(work, tmp_path)
    assert "not the weights of the orientation model" in refused(
        "translate", f"run={tmp_path / 'run'}", f"input={work.parent / 'test.de'}"
    )
