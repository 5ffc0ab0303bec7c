"""Draws whether probabilities can be believed: what was predicted against how often it was so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.ticker import StrMethodFormatter

from xlate.array_types import Bytes, Floats, Ints
from xlate.report.drawing import CYCLE, GREY, new_figure, pixels, quiet_style

# Of each bin: how many predictions, the mean of their probabilities, and the share of them that were right.
Bins = tuple[Ints, Floats, Floats]


def reliability_picture(curves: Mapping[str, Bins]) -> Bytes:
    """Draws one curve for each kind of predictions above how many predictions are in each bin; (height, width, 3).

    On the diagonal a probability of 0.3 is right three times in ten. Below it predictions are too sure of themselves.
    """
    with quiet_style():
        figure = new_figure(5.6, 6.4)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot((0, 1), (0, 1), color=GREY, linewidth=1, linestyle="--")
        for number, (label, bins) in enumerate(curves.items()):
            _curve(upper, lower, bins, label, number, len(curves))
        upper.set_ylabel("share that was right")
        upper.set_ylim(-0.02, 1.02)
        upper.legend(loc="upper left", frameon=False, fontsize=9)
        lower.set_xlabel("predicted probability")
        lower.set_ylabel("predictions")
        lower.set_yscale("log")
        lower.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        lower.set_xlim(0, 1)
        for axes in (upper, lower):
            axes.grid(True)
        figure.tight_layout()
        return pixels(figure)


def _curve(upper: Any, lower: Any, bins: Bins, label: str, number: int, curves: int) -> None:
    count_B, said_B, right_B = bins
    there = count_B > 0
    colour = CYCLE[number % len(CYCLE)]
    # The error of a share of n: what is seldom predicted says little.
    around = np.sqrt(right_B[there] * (1 - right_B[there]) / count_B[there])
    upper.errorbar(
        said_B[there], right_B[there], around, color=colour, marker="o", markersize=4, linewidth=1.5, label=label
    )
    width = 0.8 / len(count_B) / curves
    middles = (np.arange(len(count_B)) + 0.5) / len(count_B) + (number - (curves - 1) / 2) * width
    lower.bar(middles[there], count_B[there], width, color=colour, alpha=0.85)
