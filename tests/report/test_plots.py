"""Plots are written, whatever words they hold."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
from matplotlib.image import imread

from tests.report.examples import make_run
from xlate.report.plots import plot_runs, run_labels
from xlate.report.runs import collect_runs


def test_curves_and_bars_as_png_and_svg(tmp_path: Path) -> None:
    for number in range(3):
        figures = {"finished": True, "dev_bleu": 30.0 + number, "dev_bleu_interval": 0.8}
        make_run(tmp_path / f"row{number}", {"loss": {"eta": number / 10}}, figures, [0.5, 0.4, 0.3 + number / 10])
    before = dict(matplotlib.rcParams)
    written = plot_runs(collect_runs([tmp_path]), tmp_path / "out")
    assert [path.name for path in written] == [
        f"{stem}.{ending}" for stem in ("curve-P", "curve-train-loss", "bars-dev-bleu") for ending in ("png", "svg")
    ]
    for path in written:
        if path.suffix == ".png":
            image = imread(path)
            assert image.shape[0] > 100
            assert image.std() > 0.01
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert dict(matplotlib.rcParams) == before


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    make_run(tmp_path / "a", None, {"dev_bleu": 3.0}, [0.5, 0.4])
    runs = collect_runs([tmp_path])
    first = [path.read_bytes() for path in plot_runs(runs, tmp_path / "x")]
    assert first == [path.read_bytes() for path in plot_runs(runs, tmp_path / "y")]


def test_what_no_run_has_is_not_drawn(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    assert plot_runs(collect_runs([tmp_path]), tmp_path / "out") == []


def test_names_in_any_script_and_gaps_in_curves(tmp_path: Path) -> None:
    for name in ("عربي", "漢字 $x$", "हिन्दी"):
        make_run(tmp_path / name, {"name": name}, {"dev_bleu": 0.0}, [0.5, math.nan])
    assert len(plot_runs(collect_runs([tmp_path]), tmp_path / "out")) == 6


def test_labels_say_what_differs(tmp_path: Path) -> None:
    for seed in (1, 2):
        make_run(tmp_path / f"r{seed}", {"loss": {"eta": 0.1}, "seed": seed})
    runs = collect_runs([tmp_path])
    assert run_labels(runs) == ["seed=1", "seed=2"]
    assert run_labels(runs[:1]) == ["r1"]
