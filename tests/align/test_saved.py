"""Saved alignment models, and models trained on a sample of the text."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.align.test_aligner import corpus
from xlate.align import aligner, direction
from xlate.align.aligner import align, align_with
from xlate.align.direction import METHODS
from xlate.align.links import Links
from xlate.cli.main import main
from xlate.errors import InputError

Text = list[list[str]]


def interleaved(rng: np.random.Generator) -> tuple[Text, Text]:
    """Pairs to learn from in even rows; in odd rows other pairs, each with a word that the even rows do not have."""
    source, target = corpus(160, rng)
    for row in range(1, 160, 2):
        source[row].insert(1, f"new{row}")
        target[row].append(f"new{row}" if row % 4 == 1 else f"other{row}")
    return source, target


def pairs(links: Links) -> list[list[tuple[int, int]]]:
    return [links.pairs(s) for s in range(len(links))]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_saved_model_aligns_as_in_one_go(method: str, rng: np.random.Generator, tmp_path: Path) -> None:
    source, target = interleaved(rng)
    whole = pairs(align(source, target, method, seed=3, sample=80, save=tmp_path / "model"))
    for rows in (slice(1, None, 2), slice(159, None, -1)):
        assert pairs(align_with(tmp_path / "model", source[rows], target[rows])) == whole[rows]
    # The models of fast_align differ in their last digits with the order in which threads add up.
    if method != "fast_align":
        assert pairs(align(source[::2], target[::2], method, seed=3)) == whole[::2]


def test_the_text_is_not_in_the_folder(rng: np.random.Generator, tmp_path: Path) -> None:
    align(*corpus(20, rng), "ibm1", save=tmp_path / "model")
    texts = [path for path in (tmp_path / "model").iterdir() if path.suffix in (".src", ".trg")]
    assert [path.stat().st_size for path in texts] == [0] * 4


def test_other_processes_save_and_read_the_same(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = interleaved(rng)
    here = pairs(align(*text, "hmm", sample=80, save=tmp_path / "here"))
    monkeypatch.setattr(aligner, "WORTHWHILE", 1)
    assert pairs(align(*text, "hmm", side_by_side=True, sample=80, save=tmp_path / "there")) == here
    # The files differ in the order of their entries only.
    assert pairs(align_with(tmp_path / "here", *text)) == here
    monkeypatch.undo()
    assert pairs(align_with(tmp_path / "there", *text)) == here


def test_a_model_serves_every_symmetrisation(rng: np.random.Generator, tmp_path: Path) -> None:
    text = corpus(60, rng)
    forward = align(*text, "hmm", "forward", save=tmp_path / "model")
    assert pairs(align_with(tmp_path / "model", *text)) == pairs(forward)
    for symmetrization in ("backward", "union", "grow-diag"):
        again = align_with(tmp_path / "model", *text, symmetrization)
        assert pairs(again) == pairs(align(*text, "hmm", symmetrization))


@pytest.mark.parametrize(("sample", "size"), [(7, 7), (25, 19)])
def test_a_sample_is_spread_over_the_usable_pairs(rng: np.random.Generator, sample: int, size: int) -> None:
    # Words at random, so that other pairs would give other links.
    source, target = ([rng.choice(list("abcdefgh"), size=6).tolist() for _ in range(20)] for _ in range(2))
    source[4] = []
    usable = [row for row in range(20) if row != 4]
    kept = [usable[n * 19 // size] for n in range(size)]
    sampled = align(source, target, sample=sample).select(np.array(kept))
    alone = align([source[row] for row in kept], [target[row] for row in kept])
    assert pairs(sampled) == pairs(alone)


def test_shards_of_any_size_give_the_same_links(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    text = corpus(40, rng)
    expected = pairs(align(*text))
    monkeypatch.setattr(direction, "CHUNK", 7)
    assert pairs(align(*text)) == expected


def test_damaged_and_foreign_folders_are_refused(rng: np.random.Generator, tmp_path: Path) -> None:
    text, folder = corpus(20, rng), tmp_path / "model"
    align(*text, "ibm1", save=folder)
    with pytest.raises(InputError, match=r"header\.json"):
        align_with(tmp_path / "nothing", *text)
    with pytest.raises(InputError, match="unknown symmetrisation"):
        align_with(folder, *text, "grown")
    for name in ("forward.ibm_lexnd", "backward.svcb", "source.words"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-2] + b"?\n")
        with pytest.raises(InputError, match="its checksum differs"):
            align_with(folder, *text)
        (folder / name).write_bytes(content)


def test_only_a_model_is_replaced(rng: np.random.Generator, tmp_path: Path) -> None:
    text, folder = corpus(20, rng), tmp_path / "model"
    align(*text, "ibm4", save=folder)
    align(*text, "ibm1", save=folder)
    assert not any("fertnd" in name for name in os.listdir(folder))
    (folder / "mine").write_text("mine")
    with pytest.raises(InputError, match="something other than an alignment model"):
        align(*text, "ibm1", save=folder)
    with pytest.raises(InputError, match="no model to save"):
        align([[], ["a"]], [["b"], []], "ibm1", save=tmp_path / "other")
    assert os.listdir(tmp_path) == ["model"]


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(command: str) -> int:
        return main(command.split())

    text = {"s": "a b\nb c\nc a\nb\n", "t": "x y\ny z\nz x\ny\n", "s2": "c b\nnew b\n", "t2": "z y\nneu y\n"}
    for name, lines in text.items():
        Path(name).write_text(lines)
    assert run("align source=s target=t out=1 save=m method=ibm1 symmetrization=union") == 0
    assert run("align source=s target=t out=2 load=m") == 0
    assert Path("1").read_text() == Path("2").read_text() != ""
    assert run("align source=s2 target=t2 out=3 load=m") == 0
    assert "0-0 1-1" in Path("3").read_text().splitlines()[0]
    assert run("align source=s target=t out=4 load=m method=hmm sample=2") == 2
    assert "method=hmm sample=2" in capsys.readouterr().err
    assert run("align source=s target=t2 out=4 load=m") == 2
    assert "4 lines in s, 2 in t2" in capsys.readouterr().err
    assert not Path("4").exists()
