"""Pictures of translations and of probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
from xlate.report.pictures import reliability_picture, reordering_picture

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
    assert image.dtype == np.uint8
    assert image.shape[2] == 3
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
    image = reordering_picture(["word"] * 150, ["word"] * 120, [])
    assert max(image.shape) <= 3001


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
