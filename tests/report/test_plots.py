"""Plots are written, whatever words they hold."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
from matplotlib.image import imread

from tests.report.examples import make_run
from xlate.report.pictures import CYCLE, quiet_style
from xlate.report.plots import drawn, mean_curve, plot_runs, setting_labels
from xlate.report.run_directory import RunDirectory
from xlate.report.runs import by_setting, collect_runs


def test_curves_and_bars_as_png_and_svg(tmp_path: Path) -> None:
    for number in range(3):
        figures = {"finished": True, "dev_bleu": 30.0 + number, "dev_bleu_interval": 0.8}
        make_run(tmp_path / f"row{number}", {"loss": {"eta": number / 10}}, figures, [0.5, 0.4, 0.3 + number / 10])
    before = dict(matplotlib.rcParams)
    written = plot_runs(by_setting(collect_runs([tmp_path])), tmp_path / "out")
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
    runs = by_setting(collect_runs([tmp_path]))
    first = [path.read_bytes() for path in plot_runs(runs, tmp_path / "x")]
    assert first == [path.read_bytes() for path in plot_runs(runs, tmp_path / "y")]


def test_what_no_run_has_is_not_drawn(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    assert plot_runs(by_setting(collect_runs([tmp_path])), tmp_path / "out") == []


def test_names_in_any_script_and_gaps_in_curves(tmp_path: Path) -> None:
    for name in ("عربي", "漢字 $x$", "हिन्दी"):
        make_run(tmp_path / name, {"name": name}, {"dev_bleu": 0.0}, [0.5, math.nan])
    assert len(plot_runs(by_setting(collect_runs([tmp_path])), tmp_path / "out")) == 6


def test_labels_say_what_differs(tmp_path: Path) -> None:
    for eta in (1, 2):
        make_run(tmp_path / f"r{eta}", {"loss": {"eta": eta}, "seed": 1, "row": {"label": ["one", "two"][eta - 1]}})
    settings = by_setting(collect_runs([tmp_path]))
    assert setting_labels(settings) == ["one", "two"]
    for eta in (3, 4):
        make_run(tmp_path / "unnamed" / f"r{eta}", {"loss": {"eta": eta}, "seed": 1})
    settings = by_setting(collect_runs([tmp_path / "unnamed"]))
    assert setting_labels(settings) == ["eta=3", "eta=4"]
    assert setting_labels(settings[:1]) == ["r3"]


def test_a_curve_of_seeds_is_their_mean_with_a_band(tmp_path: Path) -> None:
    steps, mean, deviation = mean_curve([[(1, 1.0), (2, 3.0), (3, 9.0)], [(1, 2.0), (2, 5.0), (3, math.nan)]])
    assert (steps, mean) == ([1, 2, 3], [1.5, 4.0, 9.0])
    assert deviation == [math.sqrt(0.5), math.sqrt(2), 0.0]
    assert mean_curve([[(1, 2.0)]]) == ([1], [2.0], [0.0])
    assert mean_curve([[(1, math.nan)]]) == ([], [], [])
    for seed in (1, 2):
        make_run(tmp_path / f"r{seed}", {"seed": seed}, curve=[0.5, 0.4 + seed / 10])
    with quiet_style():
        plot = next(drawn(by_setting(collect_runs([tmp_path]))))
    axes = plot.figure.axes[0]
    assert (plot.stem, len(axes.lines), len(axes.collections)) == ("curve-P", 1, 1)
    assert axes.lines[0].get_color() == CYCLE[0]


def test_a_curve_of_seeds_goes_on_behind_the_end_of_the_shortest() -> None:
    long = [[(step, 1.0 + more) for step in range(1, 7)] for more in (0.0, 2.0)]
    steps, mean, deviation = mean_curve([[(1, 5.0), (3, 8.0)], *long])
    # The second step is one that the shortest curve jumps over, not one behind its end.
    assert steps == [1, 3, 4, 5, 6]
    assert mean == [3.0, 4.0, 2.0, 2.0, 2.0]
    assert deviation[2:] == [math.sqrt(2)] * 3


def test_curves_of_tuned_and_sparse_runs_are_drawn(tmp_path: Path) -> None:
    run = make_run(tmp_path / "tuned", {"seed": 1})
    for tag in ("tune/BLEU", "sparse/heldout_BLEU", "online/BLEU"):
        for step in (1, 2, 3):
            run.records.append_scalar(tag, 30.0 + step, step)
    written = plot_runs(by_setting(collect_runs([tmp_path])), tmp_path / "out")
    assert [path.stem for path in written if path.suffix == ".png"] == [
        "curve-tune-BLEU", "curve-sparse-heldout-BLEU", "curve-online-BLEU"
    ]  # fmt: skip


def test_there_is_nothing_between_two_epochs(tmp_path: Path) -> None:
    records = RunDirectory.open(make_run(tmp_path / "r").path).records
    for round_, score in enumerate((30.0, 31.0)):
        records.append_scalar("tune/BLEU", score, round_)
    with quiet_style():
        plot = next(drawn(by_setting(collect_runs([tmp_path]))))
    low, high = plot.figure.axes[0].get_xlim()
    ticks = [tick for tick in plot.figure.axes[0].get_xticks() if low <= tick <= high]
    assert ticks
    assert all(tick == round(tick) for tick in ticks)
