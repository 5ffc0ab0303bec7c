"""Curves and bars of many runs: one colour a setting, with a band over its seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from xlate.report.pictures import BLUE, CYCLE, new_figure, quiet_style, save
from xlate.report.runs import Run, Setting, Spread, settings_besides_seed
from xlate.report.tables import LABEL, shown_setting

# The tag, the name of the file, what the vertical axis shows, and the horizontal one.
CURVES = (
    ("valid/P", "curve-P", "block prediction error P (held out)", "instances seen"),
    ("valid/loss", "curve-valid-loss", "loss (held out, nats a positive)", "instances seen"),
    ("train/loss", "curve-train-loss", "loss (training, nats an instance)", "instances seen"),
    ("tune/BLEU", "curve-tune-BLEU", "BLEU (tuning set)", "round"),
    ("tune/objective", "curve-tune-objective", "what is tuned for (tuning set)", "round"),
    ("tune/heldout_BLEU", "curve-tune-heldout-BLEU", "BLEU (held-out sentences of the tuning set)", "round"),
    ("sparse/train_loss", "curve-sparse-train-loss", "loss (lists of the training text)", "epoch"),
    ("sparse/heldout_loss", "curve-sparse-heldout-loss", "loss (held-out lists)", "epoch"),
    ("sparse/heldout_BLEU", "curve-sparse-heldout-BLEU", "BLEU (held-out lists)", "epoch"),
    ("online/BLEU", "curve-online-BLEU", "BLEU (training lists)", "iteration"),
    ("rerank/heldout_loss", "curve-rerank-heldout-loss", "loss (held-out lists)", "epoch"),
    ("rerank/heldout_BLEU", "curve-rerank-heldout-BLEU", "BLEU (held-out lists)", "epoch"),
)
BARS = (("test_bleu", "bars-test-bleu", "BLEU (test)"), ("dev_bleu", "bars-dev-bleu", "BLEU (dev)"))
DASHES = ("-", "--", ":", "-.")
MOST_LABELS = 28

Points = list[tuple[int, float]]


@dataclass(frozen=True)
class Plot:
    """A figure of matplotlib, the name its files have, and what it shows."""

    stem: str
    words: str
    figure: Any


def drawn(settings: Sequence[Setting]) -> Iterator[Plot]:
    """Learning curves by phase, and bars of BLEU, as far as the runs have them; to be drawn under `quiet_style`.

    A curve of several seeds is the mean of those that go on so far, the band one standard deviation to either side. The
    range of a bar is the deviation too, and that of one run the 95 % interval.
    """
    labels = setting_labels(settings)
    for tag, stem, label, across in CURVES:
        keys = dict.fromkeys(key for setting in settings for run in setting.runs for key in run.curves)
        phases = [key for key in keys if key == tag or key.startswith(tag + "/")]
        if phases:
            yield Plot(stem, label, _curves(settings, labels, tag, phases, (across, label)))
    for key, stem, label in BARS:
        held = [number for number, setting in enumerate(settings) if setting.figure(key) is not None]
        if held:
            yield Plot(stem, label, _bars([settings[n] for n in held], [labels[n] for n in held], key, label))


def plot_runs(settings: Sequence[Setting], folder: str | Path) -> list[Path]:
    """Writes what `drawn` gives into a folder, each as PNG and SVG, and returns the names of the files."""
    with quiet_style():
        return [path for plot in drawn(settings) for path in save(plot.figure, Path(folder) / plot.stem)]


def setting_labels(settings: Sequence[Setting]) -> list[str]:
    """A short label for each setting: what a paper calls it, the values of the settings when a sweep is over few of
    them, or its name.
    """
    names = [setting.name for setting in settings]
    firsts: list[Run] = [setting.first for setting in settings]
    titles = [str(run.settings.get(LABEL) or "") for run in firsts]
    keys = [key for key in settings_besides_seed(firsts) if not key.startswith("row.")]
    values = [", ".join(f"{key.rsplit('.', 1)[-1]}={shown_setting(run, key)}" for key in keys) for run in firsts]
    for labels in (titles, values if 0 < len(keys) <= 3 else names):
        if all(labels) and len(set(labels)) == len(labels) and max(map(len, labels)) <= 48:
            return labels
    return names


def mean_curve(curves: Sequence[Points]) -> tuple[list[int], list[float], list[float]]:
    """Steps, the mean of the curves there and the standard deviation (0 of one curve).

    A step counts if every curve that goes on so far has a finite value at it, so the mean goes on as long as one does.
    """
    held = [{step: value for step, value in curve if math.isfinite(value)} for curve in curves]
    held = [points for points in held if points]
    steps, mean, deviation = [], [], []
    for step in sorted({step for points in held for step in points}):
        going_on = [points for points in held if max(points) >= step]
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
    """One panel for each phase, since phases differ in scale, with one line for each setting."""
    figure = new_figure(1.2 + 4.6 * len(phases), 3.8)
    panels = figure.subplots(1, len(phases), squeeze=False)[0]
    for axes, phase in zip(panels, phases, strict=True):
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
        # Nothing is between two rounds.
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(FuncFormatter(_short))
        axes.locator_params(axis="x", nbins=6)
        axes.grid(True)
    panels[0].set_ylabel(axis_labels[1])
    named: dict[str, Any] = {}
    for axes in panels:
        handles, names = axes.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    if 1 < len(named) <= MOST_LABELS:
        panels[-1].legend(
            list(named.values()), list(named), loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=9
        )
    figure.tight_layout()
    return figure


def _bars(settings: Sequence[Setting], labels: Sequence[str], key: str, label: str) -> Any:
    figure = new_figure(7.0, 1.2 + 0.38 * len(settings))
    axes = figure.subplots()
    several = any(len(setting.runs) > 1 for setting in settings)
    values, around = [], []
    for setting in settings:
        spread = setting.figure(key)
        values.append(0.0 if spread is None else spread.mean)
        wide = (spread.deviation if spread else None) if several else setting.first.figure(f"{key}_interval")
        around.append(wide or 0.0)
    places = range(len(settings))
    axes.barh(places, values, height=0.62, color=BLUE, alpha=0.85)
    axes.errorbar(values, places, xerr=around, fmt="none", ecolor="#222222", elinewidth=1.2, capsize=3)
    most = max([1.0, *(v + a for v, a in zip(values, around, strict=True))])
    for place, (value, half) in enumerate(zip(values, around, strict=True)):
        shown = f"{value:.2f} ± {half:.2f}" if half else f"{value:.2f}"
        axes.text(value + half + 0.015 * most, place, shown, va="center", fontsize=9)
    axes.set_yticks(list(places), labels)
    axes.set_ylim(len(settings) - 0.5, -0.5)
    axes.set_xlim(0, most * 1.22)
    meaning = " with standard deviation over seeds" if several else " with 95 % bootstrap interval"
    axes.set_xlabel(label + (meaning if any(around) else ""))
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0)
    figure.tight_layout()
    return figure


def _short(value: float, _: int) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
