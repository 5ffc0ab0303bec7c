"""Curves and bars of many runs as PNG and SVG files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.ticker import FuncFormatter

from xlate.report.drawing import BLUE, CYCLE, new_figure, quiet_style, save
from xlate.report.runs import Run, differing_settings

# The tag, the name of the file, and what the vertical axis shows.
CURVES = (
    ("valid/P", "curve-P", "block prediction error P (held out)"),
    ("valid/loss", "curve-valid-loss", "loss (held out, nats a positive)"),
    ("train/loss", "curve-train-loss", "loss (training, nats an instance)"),
)
BARS = (("test_bleu", "bars-test-bleu", "BLEU (test)"), ("dev_bleu", "bars-dev-bleu", "BLEU (dev)"))
DASHES = ("-", "--", ":", "-.")
MOST_LABELS = 14


def plot_runs(runs: Sequence[Run], folder: str | Path) -> list[Path]:
    """Draws learning curves by phase, and bars of BLEU with 95 % intervals, as far as the runs have them.

    Returns:
        The files written into `folder`: a PNG and an SVG for each picture.
    """
    written: list[Path] = []
    labels = run_labels(runs)
    with quiet_style():
        for tag, stem, label in CURVES:
            keys = dict.fromkeys(key for run in runs for key in run.curves)
            phases = [key for key in keys if key == tag or key.startswith(tag + "/")]
            if phases:
                written += save(_curves(runs, labels, tag, phases, label), Path(folder) / stem)
        for key, stem, label in BARS:
            held = [number for number, run in enumerate(runs) if run.figure(key) is not None]
            if held:
                chosen = [runs[number] for number in held]
                written += save(_bars(chosen, [labels[number] for number in held], key, label), Path(folder) / stem)
    return written


def run_labels(runs: Sequence[Run]) -> list[str]:
    """A short label for each run: its name, or the values of the settings when a sweep is over few of them."""
    keys = differing_settings(runs)
    if not 0 < len(keys) <= 3:
        return [run.name for run in runs]
    labels = [", ".join(f"{key.rsplit('.', 1)[-1]}={run.settings.get(key)}" for key in keys) for run in runs]
    return labels if len(set(labels)) == len(labels) and max(map(len, labels)) <= 40 else [run.name for run in runs]


def _curves(runs: Sequence[Run], labels: Sequence[str], tag: str, phases: Sequence[str], label: str) -> Any:
    """One panel for each phase, since phases differ in scale, with one line for each run."""
    figure = new_figure(1.2 + 4.6 * len(phases), 3.8)
    panels = figure.subplots(1, len(phases), squeeze=False)[0]
    for axes, phase in zip(panels, phases, strict=True):
        for number, run in enumerate(runs):
            points = [point for point in run.curves.get(phase, []) if math.isfinite(point[1])]
            steps, values = [step for step, _ in points], [value for _, value in points]
            marker = "o" if len(points) <= 40 else None
            axes.plot(
                steps,
                values,
                color=CYCLE[number % len(CYCLE)],
                linestyle=DASHES[number // len(CYCLE) % len(DASHES)],
                marker=marker,
                markersize=3.5,
                linewidth=1.5,
                label=labels[number],
            )
        axes.set_title(phase.removeprefix(tag).strip("/"), loc="left", fontsize=11)
        axes.set_xlabel("instances seen")
        axes.xaxis.set_major_formatter(FuncFormatter(_short))
        axes.locator_params(axis="x", nbins=6)
        axes.grid(True)
    panels[0].set_ylabel(label)
    handles, names = panels[0].get_legend_handles_labels()
    if 1 < len(names) <= MOST_LABELS * 2:
        panels[-1].legend(handles, names, loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=9)
    figure.tight_layout()
    return figure


def _bars(runs: Sequence[Run], labels: Sequence[str], key: str, label: str) -> Any:
    figure = new_figure(7.0, 1.2 + 0.38 * len(runs))
    axes = figure.subplots()
    values = [run.figure(key) or 0.0 for run in runs]
    around = [run.figure(f"{key}_interval") or 0.0 for run in runs]
    places = range(len(runs))
    axes.barh(places, values, height=0.62, color=BLUE, alpha=0.85)
    axes.errorbar(values, places, xerr=around, fmt="none", ecolor="#222222", elinewidth=1.2, capsize=3)
    room = 0.015 * max([1.0, *(v + a for v, a in zip(values, around, strict=True))])
    for place, (value, half) in enumerate(zip(values, around, strict=True)):
        shown = f"{value:.2f} ± {half:.2f}" if half else f"{value:.2f}"
        axes.text(value + half + room, place, shown, va="center", fontsize=9)
    axes.set_yticks(list(places), labels)
    axes.set_ylim(len(runs) - 0.5, -0.5)
    axes.set_xlim(0, max([1.0, *(v + a for v, a in zip(values, around, strict=True))]) * 1.22)
    axes.set_xlabel(label + (" with 95 % bootstrap interval" if any(around) else ""))
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0)
    figure.tight_layout()
    return figure


def _short(value: float, _: int) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
