"""The picture of reliability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xlate.report.pictures import reliability_picture


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
