"""Pictures of translations, of probabilities, and of runs, whatever words they hold."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray

from tests.report.examples import make_run
from xlate.errors import InputError
from xlate.kernels.pairs import LEFT, NEUTRAL, RIGHT
from xlate.report.pictures import (
    CYCLE,
    drawn,
    encoded,
    mean_curve,
    pixels,
    plot_runs,
    quiet_style,
    reliability_picture,
    reordering_picture,
    setting_labels,
)
from xlate.report.runs import by_setting, collect_runs

SOURCE, TARGET = ["das", "sah", "der", "Mann"], ["the", "man", "saw", "that"]
BLOCKS = [(2, 4, 0, 2, NEUTRAL), (1, 2, 2, 3, LEFT), (0, 1, 3, 4, LEFT)]


def where(image: NDArray[np.uint8], kind: str) -> tuple[float, float]:
    """The middle (x to the right, y upwards) of all pixels below the legend that are of a kind of colour."""
    red, green, blue = (image[40:, :, channel].astype(int) for channel in range(3))
    masks = {
        "left": red - blue > 90,
        "right": blue - red > 90,
        "neutral": (abs(red - 153) < 12) & (abs(red - blue) < 3),
    }
    rows, columns = np.nonzero(masks[kind] & (green >= 0))
    assert len(rows) > 100, f"nothing drawn for {kind}"
    return float(columns.mean()), -float(rows.mean())


def test_source_runs_right_and_target_runs_up() -> None:
    image = reordering_picture(SOURCE, TARGET, BLOCKS)
    neutral, left = where(image, "neutral"), where(image, "left")
    assert left[0] < neutral[0]
    assert left[1] > neutral[1]
    right = reordering_picture(SOURCE, TARGET, [(0, 2, 0, 2, NEUTRAL), (2, 4, 2, 4, RIGHT)])
    assert where(right, "right")[0] > where(right, "neutral")[0]
    assert where(right, "right")[1] > where(right, "neutral")[1]


def test_any_script_and_any_sign() -> None:
    words = ["رأى", "漢字", "हिन्दी", "$x", "\\frac", "a\u0300", "\U0001f600", "%_^"]
    image = reordering_picture(words, words, [(n, n + 1, n, n + 1, RIGHT) for n in range(len(words))])
    # Eight blocks on the diagonal: as many runs of blue from left to right.
    assert abs(where(image, "right")[0] - image.shape[1] / 2) < image.shape[1] / 4


def test_empty_and_very_long_sentences() -> None:
    empty = reordering_picture([], [], [])
    assert empty.dtype == np.uint8
    assert min(empty.shape[:2]) > 50
    assert max(reordering_picture(["word"] * 110, ["word"], []).shape) <= 3001


@pytest.mark.parametrize(
    "block", [(0, 5, 0, 1, 1), (1, 1, 0, 1, 1), (0, 1, -1, 1, 1), (0, 1, 0, 5, 1), (0, 1, 0, 1, 3)]
)
def test_blocks_outside_the_sentences_are_refused(block: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(InputError, match="block 1 does not fit"):
        reordering_picture(SOURCE, TARGET, [BLOCKS[0], block])


def picture(right: float) -> NDArray[np.uint8]:
    count_B = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 100])
    nan = np.full(9, np.nan)
    return reliability_picture({"one": (count_B, np.append(nan, 0.95), np.append(nan, right))})


def test_what_is_right_more_often_stands_higher() -> None:
    rows = []
    for right in (0.1, 0.9):
        image = picture(right)
        assert image.dtype == np.uint8
        red, blue = image[:, :, 0].astype(int), image[:, :, 2].astype(int)
        # Blue in the right part of the upper panel: the point, not the bars and the legend.
        seen = (blue - red > 90)[40 : int(0.62 * len(image)), image.shape[1] * 3 // 4 :]
        rows.append(float(np.nonzero(seen)[0].mean()))
    assert rows[1] < rows[0] - 100


def test_curves_and_points_as_png_and_svg(tmp_path: Path) -> None:
    for number in range(2):
        figures = {"finished": True, "dev_bleu": 30.0 + number, "dev_bleu_interval": 0.8}
        make_run(tmp_path / f"row{number}", {"loss": {"eta": number / 10}}, figures, [0.5, 0.4, 0.3 + number / 10])
    before, runs = dict(matplotlib.rcParams), by_setting(collect_runs([tmp_path]))
    written = plot_runs(runs, tmp_path / "out")
    assert [path.name for path in written] == [
        f"{stem}.{ending}" for stem in ("curve-P", "curve-train-loss", "dev-bleu") for ending in ("png", "svg")
    ]
    for path in written:
        if path.suffix == ".png":
            image = imread(path)
            assert image.shape[0] > 100
            assert image.std() > 0.01
        else:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert dict(matplotlib.rcParams) == before
    # The same runs give the same bytes.
    with quiet_style():
        figure = next(drawn(runs))[2]
        assert [encoded(figure, ending) for ending in ("png", "svg")] == [p.read_bytes() for p in written[:2]]


def test_names_in_any_script_and_gaps_in_curves(tmp_path: Path) -> None:
    make_run(tmp_path / "nothing")
    with quiet_style():
        assert list(drawn(by_setting(collect_runs([tmp_path])))) == []
        for name in ("عربي", "漢字 $x$", "हिन्दी"):
            make_run(tmp_path / name, {"name": name}, {"dev_bleu": 0.0}, [0.5, math.nan])
        stems = [stem for stem, _, figure in drawn(by_setting(collect_runs([tmp_path]))) if pixels(figure).std() > 1]
    assert stems == ["curve-P", "curve-train-loss", "dev-bleu"]


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
    # The second step is one that the shortest curve jumps over, not one behind its end.
    assert mean_curve([[(1, 5.0), (3, 8.0)], [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)]])[:2] == ([1, 3, 4], [3, 4.5, 1])
    for seed in (1, 2):
        make_run(tmp_path / f"r{seed}", {"seed": seed}, curve=[0.5, 0.4 + seed / 10])
    with quiet_style():
        stem, _, figure = next(drawn(by_setting(collect_runs([tmp_path]))))
    axes = figure.axes[0]
    assert (stem, len(axes.lines), len(axes.collections)) == ("curve-P", 1, 1)
    assert axes.lines[0].get_color() == CYCLE[0]
