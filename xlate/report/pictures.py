"""Pictures: curves and bars of runs, a translation as blocks in a grid of words, and reliability of probabilities."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import EngFormatter, MaxNLocator, StrMethodFormatter

from xlate.array_types import Bytes, Floats, Ints
from xlate.errors import InputError
from xlate.kernels.pairs import LEFT, LETTERS, NEUTRAL, RIGHT
from xlate.report.runs import Setting, Spread, settings_besides_seed
from xlate.report.tables import LABEL, shown_setting
from xlate.text.lines import write_file

# Fonts are tried in this order for every letter; those that are not installed are skipped.
FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans Arabic",
    "Noto Naskh Arabic",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Arial Unicode MS",
)
# The colours of Okabe and Ito, which people with any colour vision can distinguish.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = CYCLE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#8A8A8A",
)
METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}


@contextlib.contextmanager
def quiet_style() -> Iterator[None]:
    """Settings for drawing and saving: plain axes, and no warning for letters that no font has."""
    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    style: dict[Any, Any] = {
        "font.family": [name for name in FONTS if name in installed],
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#666666",
        "axes.axisbelow": True,
        "grid.color": "#E4E4E4",
        "text.parse_math": False,
        # With a fixed salt the same drawing gives the same file.
        "svg.hashsalt": "xlate",
    }
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s).*[Gg]lyph.*missing from.*font")
        warnings.filterwarnings("ignore", message=r"(?s).*[Mm]atplotlib currently does not support.*")
        yield


def pixels(figure: Any, dpi: float = 100) -> Bytes:
    """The figure as an image, (height, width, 3)."""
    figure.set_dpi(dpi)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[:, :, :3])


def encoded(figure: Any, ending: str) -> bytes:
    """A figure as the bytes of a `png` or `svg` file, which are the same each time."""
    held = io.BytesIO()
    figure.savefig(held, format=ending, dpi=150, bbox_inches="tight", metadata=METADATA[ending])
    return held.getvalue()


Block = tuple[int, int, int, int, int]

COLOURS = {LEFT: RED, RIGHT: BLUE, NEUTRAL: GREY}
MEANINGS = {RIGHT: "right of its predecessor", LEFT: "left of its predecessor", NEUTRAL: "no predecessor next to it"}
CELL_INCHES, LETTER_INCHES, DPI = 0.42, 0.085, 100
MOST_PIXELS = 3000


def reordering_picture(source: Sequence[str], target: Sequence[str], blocks: Sequence[Block]) -> Bytes:
    """Draws a block translation as Figure 1 of Tillmann & Zhang (2007) does.

    Source words are along x, target words along y from bottom to top. A block is a rectangle with its number in the
    order of generation and the letter of its orientation, with one colour per orientation.

    Args:
        source, target: the words.
        blocks: rows (source_start, source_end, target_start, target_end, orientation) with half-open spans, in the
            order of generation; orientations are `kernels.orientation.LEFT`, `RIGHT`, `NEUTRAL`.

    Returns:
        The picture, (height, width, 3).

    Raises:
        InputError: a block lies outside the sentences, is empty, or has no known orientation.
    """
    for number, (start, end, target_start, target_end, orientation) in enumerate(blocks):
        inside = 0 <= start < end <= len(source) and 0 <= target_start < target_end <= len(target)
        if not inside or orientation not in COLOURS:
            expected = f"spans inside {len(source)} source and {len(target)} target words, orientation 0, 1 or 2"
            raise InputError(f"block {number} does not fit its sentence pair", tuple(blocks[number]), expected)
    with quiet_style():
        figure = _drawn(source, target, blocks)
        return pixels(figure, min(DPI, MOST_PIXELS / float(max(figure.get_size_inches()))))


def _drawn(source: Sequence[str], target: Sequence[str], blocks: Sequence[Block]) -> Any:
    left = 0.35 + LETTER_INCHES * max(map(len, target), default=0)
    bottom = 0.35 + LETTER_INCHES * max(map(len, source), default=0)
    across, up = CELL_INCHES * max(1, len(source)), CELL_INCHES * max(1, len(target))
    width, height = max(left + across + 0.2, 6.2), bottom + up + 0.55
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((left / width, bottom / height, across / width, up / height))
    axes.set_xlim(0, max(1, len(source)))
    axes.set_ylim(0, max(1, len(target)))
    axes.set_xticks([place + 0.5 for place in range(len(source))], source, rotation=90)
    axes.set_yticks([place + 0.5 for place in range(len(target))], target)
    axes.tick_params(length=0, labelsize=10)
    for line, words in ((axes.axvline, source), (axes.axhline, target)):
        for place in range(len(words) + 1):
            line(place, color="#DDDDDD", linewidth=0.7, zorder=0)
    for spine in axes.spines.values():
        spine.set_visible(True)
    for number, (start, end, target_start, target_end, orientation) in enumerate(blocks, start=1):
        wide, high, colour = end - start, target_end - target_start, COLOURS[orientation]
        style: dict[str, Any] = {"facecolor": colour, "edgecolor": colour, "linewidth": 1.2, "alpha": 0.85, "zorder": 2}
        axes.add_patch(Rectangle((start + 0.06, target_start + 0.06), wide - 0.12, high - 0.12, **style))
        middle = (start + wide / 2, target_start + high / 2)
        text = f"{number}{' ' if wide > 1 or high > 1 else ''}{LETTERS[orientation]}"
        style = {"color": "white", "fontsize": 11 if len(text) <= 3 else 9, "fontweight": "bold", "zorder": 3}
        axes.text(*middle, text, ha="center", va="center", **style)
    shown = [orientation for orientation in MEANINGS if any(block[4] == orientation for block in blocks)]
    if shown:
        handles = [Rectangle((0, 0), 1, 1, facecolor=COLOURS[orientation], alpha=0.85) for orientation in shown]
        labels = [f"{LETTERS[orientation]}: {MEANINGS[orientation]}" for orientation in shown]
        spaces = {"handlelength": 1.0, "columnspacing": 1.4}
        figure.legend(handles, labels, loc="upper left", ncols=len(shown), frameon=False, fontsize=9, **spaces)
    return figure


# For each bin: the number of predictions, their mean probability, and the share of them that were right.
Bins = tuple[Ints, Floats, Floats]


def reliability_picture(curves: Mapping[str, Bins]) -> Bytes:
    """Draws one curve per kind of prediction, above the number of predictions per bin; (height, width, 3).

    On the diagonal a probability of 0.3 is right three times in ten. Below it predictions are overconfident.
    """
    with quiet_style():
        figure = Figure(figsize=(5.6, 6.4))
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot((0, 1), (0, 1), color=GREY, linewidth=1, linestyle="--")
        for number, (label, (count_B, said_B, right_B)) in enumerate(curves.items()):
            there, colour = count_B > 0, CYCLE[number % len(CYCLE)]
            said_B, right_B = said_B[there], right_B[there]
            # The standard error of a share of n: rare predictions say little.
            around = np.sqrt(right_B * (1 - right_B) / count_B[there])
            upper.errorbar(said_B, right_B, around, color=colour, marker="o", markersize=4, linewidth=1.5, label=label)
            width = 0.8 / len(count_B) / len(curves)
            middles = (np.arange(len(count_B)) + 0.5) / len(count_B) + (number - (len(curves) - 1) / 2) * width
            lower.bar(middles[there], count_B[there], width, color=colour, alpha=0.85)
        upper.set_ylabel("share of correct predictions")
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


# The tag, the name of the file, and the labels of the vertical and the horizontal axis.
CURVES = (
    ("valid/P", "curve-P", "block prediction error P (held out)", "instances seen"),
    ("valid/loss", "curve-valid-loss", "loss (held out, nats per positive)", "instances seen"),
    ("train/loss", "curve-train-loss", "loss (training, nats per instance)", "instances seen"),
    ("tune/BLEU", "curve-tune-BLEU", "BLEU (tuning set)", "round"),
    ("tune/objective", "curve-tune-objective", "tuning objective (tuning set)", "round"),
    ("tune/heldout_BLEU", "curve-tune-heldout-BLEU", "BLEU (held-out sentences of the tuning set)", "round"),
    ("sparse/train_loss", "curve-sparse-train-loss", "loss (lists of the training text)", "epoch"),
    ("sparse/heldout_loss", "curve-sparse-heldout-loss", "loss (held-out lists)", "epoch"),
    ("sparse/heldout_BLEU", "curve-sparse-heldout-BLEU", "BLEU (held-out lists)", "epoch"),
    ("online/BLEU", "curve-online-BLEU", "BLEU (training lists)", "iteration"),
    ("rerank/heldout_loss", "curve-rerank-heldout-loss", "loss (held-out lists)", "epoch"),
    ("rerank/heldout_BLEU", "curve-rerank-heldout-BLEU", "BLEU (held-out lists)", "epoch"),
)
POINTS = (("test_bleu", "test-bleu", "BLEU (test)"), ("dev_bleu", "dev-bleu", "BLEU (dev)"))
DASHES = ("-", "--", ":", "-.")
MOST_LABELS = 28
# The most panels side by side, so that a page shows them at a readable size.
PANELS = 2

Points = list[tuple[int, float]]


def drawn(settings: Sequence[Setting]) -> Iterator[tuple[str, str, Any]]:
    """Learning curves by phase, and points of BLEU, where the runs have them; draw them under `quiet_style`. Each has
    the name of its files, what it shows, and the figure of matplotlib.

    A curve of several seeds is the mean of those that reach a step, with a band of one standard deviation to either
    side. The range of a point is the deviation too, or the 95 % interval for a single run.
    """
    labels = setting_labels(settings)
    for tag, stem, label, across in CURVES:
        keys = dict.fromkeys(key for setting in settings for run in setting.runs for key in run.curves)
        phases = [key for key in keys if key == tag or key.startswith(tag + "/")]
        if phases:
            yield stem, label, _curves(settings, labels, tag, phases, (across, label))
    for key, stem, label in POINTS:
        held = [row for row in zip(settings, labels, strict=True) if row[0].figure(key) is not None]
        if held:
            yield stem, label, _points(held, key, label)


def plot_runs(settings: Sequence[Setting], folder: str | Path) -> list[Path]:
    """Writes the plots of `drawn` into a folder, each as PNG and SVG, and returns the names of the files."""
    written = []
    with quiet_style():
        for stem, _, figure in drawn(settings):
            for ending in METADATA:
                written.append(Path(folder) / f"{stem}.{ending}")
                write_file(written[-1], encoded(figure, ending))
    return written


def setting_labels(settings: Sequence[Setting]) -> list[str]:
    """A short label for each setting: the paper's name for it, the values of the settings if a sweep varies only a
    few, or its name.
    """
    names, firsts = [setting.name for setting in settings], [setting.first for setting in settings]
    titles = [str(run.settings.get(LABEL) or "") for run in firsts]
    keys = [key for key in settings_besides_seed(firsts) if not key.startswith("row.")]
    values = [", ".join(f"{key.rsplit('.', 1)[-1]}={shown_setting(run, key)}" for key in keys) for run in firsts]
    for labels in (titles, values if 0 < len(keys) <= 3 else names):
        if all(labels) and len(set(labels)) == len(labels) and max(map(len, labels)) <= 48:
            return labels
    return names


def mean_curve(curves: Sequence[Points]) -> tuple[list[int], list[float], list[float]]:
    """Steps, with the mean of the curves and their standard deviation (0 for one curve).

    A step counts if every curve that reaches it has a finite value there, so the mean is as long as the longest curve.
    """
    held = [{step: value for step, value in curve if math.isfinite(value)} for curve in curves]
    steps, mean, deviation = [], [], []
    for step in sorted({step for points in held for step in points}):
        going_on = [points for points in held if max(points, default=-1) >= step]
        values = [points[step] for points in going_on if step in points]
        if len(values) == len(going_on):
            spread = Spread.of(values)
            steps.append(step)
            mean.append(spread.mean)
            deviation.append(spread.deviation or 0.0)
    return steps, mean, deviation


def _curves(
    settings: Sequence[Setting], labels: Sequence[str], tag: str, phases: Sequence[str], axis_labels: tuple[str, str]
) -> Any:
    """One panel per phase, since phases differ in scale, with one line per setting."""
    across, down = min(len(phases), PANELS), math.ceil(len(phases) / PANELS)
    figure = Figure(figsize=(1.2 + 4.6 * across, 3.8 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).flat
    for axes in panels[len(phases) :]:
        axes.remove()
    for axes, phase in zip(panels, phases, strict=False):
        for number, setting in enumerate(settings):
            steps, mean, deviation = mean_curve([run.curves.get(phase, []) for run in setting.runs])
            if not steps:
                continue
            style = {"color": CYCLE[number % len(CYCLE)], "linestyle": DASHES[number // len(CYCLE) % len(DASHES)]}
            marker = "o" if len(steps) <= 40 else None
            axes.plot(steps, mean, marker=marker, markersize=3.5, linewidth=1.5, label=labels[number], **style)
            if any(deviation):
                low, high = np.subtract(mean, deviation), np.add(mean, deviation)
                axes.fill_between(steps, low, high, color=style["color"], alpha=0.18, linewidth=0)
        axes.set_title(phase.removeprefix(tag).strip("/"), loc="left", fontsize=11)
        axes.set_xlabel(axis_labels[0])
        # There is nothing between two rounds.
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.locator_params(axis="x", nbins=6)
        axes.grid(True)
        axes.set_ylabel(axis_labels[1])
    named: dict[str, Any] = {}
    for axes in figure.axes:
        handles, names = axes.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    if 1 < len(named) <= MOST_LABELS:
        # Below the panels, so that long names take no width from them.
        columns = max(1, int(14 * figure.get_figwidth() / (6 + max(map(len, named)))))
        figure.set_figheight(figure.get_figheight() + 0.22 * math.ceil(len(named) / columns))
        figure.legend(
            list(named.values()), list(named), loc="outside lower left", ncols=columns, frameon=False, fontsize=9
        )
    return figure


def _points(labelled: Sequence[tuple[Setting, str]], key: str, label: str) -> Any:
    """A point with its range for each setting; bars, which begin at 0, would hide small differences."""
    settings, labels = zip(*labelled, strict=True)
    figure = Figure(figsize=(7.0, 1.2 + 0.38 * len(settings)))
    axes = figure.subplots()
    several = any(len(setting.runs) > 1 for setting in settings)
    values = [spread.mean for setting in settings if (spread := setting.figure(key)) is not None]
    around = [setting.around(key, several) or 0.0 for setting in settings]
    places = range(len(settings))
    axes.errorbar(values, places, xerr=around, fmt="o", color=BLUE, markersize=7, elinewidth=1.5, capsize=4)
    for place, (value, half) in enumerate(zip(values, around, strict=True)):
        shown = f"{value:.2f} ± {half:.2f}" if half else f"{value:.2f}"
        # To the right of the axes, where no range hides it.
        axes.text(1.02, place, shown, va="center", fontsize=9, transform=axes.get_yaxis_transform())
    axes.set_yticks(list(places), labels)
    axes.set_ylim(len(settings) - 0.5, -0.5)
    axes.margins(x=0.08)
    meaning = " with standard deviation over seeds" if several else " with 95 % bootstrap interval"
    axes.set_xlabel(label + (meaning if any(around) else ""))
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0)
    figure.tight_layout()
    return figure
